import type { Amount, EvictionSignal, EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import type { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import { durationText, quantityText } from '../value-text.ts';

type EvictionMaps = Pick<
  PolicyFile,
  'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim'
>;

/** Thresholds in the four maps of the kubelet; no hard one is written as `{}`, since leaving it out means defaults. */
export function writtenEviction(thresholds: readonly EvictionThreshold[]): EvictionMaps {
  const soft = thresholds.filter(({ kind }) => kind === 'soft');
  return {
    evictionHard: bySignal(
      thresholds.filter(({ kind }) => kind === 'hard'),
      valueText,
    ),
    ...(soft.length > 0 && {
      evictionSoft: bySignal(soft, valueText),
      evictionSoftGracePeriod: bySignal(soft, ({ gracePeriodMs }) => durationText(gracePeriodMs)),
    }),
    ...minimumReclaims(thresholds),
  };
}

function minimumReclaims(
  thresholds: readonly EvictionThreshold[],
): Pick<EvictionMaps, 'evictionMinimumReclaim'> {
  const entries = thresholds.flatMap(({ signal, minimumReclaim }) =>
    minimumReclaim === null ? [] : [[signal, amountText(minimumReclaim)] as const],
  );
  return entries.length === 0 ? {} : { evictionMinimumReclaim: Object.fromEntries(entries) };
}

const bySignal = (
  thresholds: readonly EvictionThreshold[],
  text: (threshold: EvictionThreshold) => string,
): Partial<Record<EvictionSignal, string>> =>
  Object.fromEntries(thresholds.map((threshold) => [threshold.signal, text(threshold)]));

const valueText = ({ value }: EvictionThreshold): string => thresholdText(value);

/** `0%` and `100%` mean no threshold, and these are ones (B15). */
const thresholdText = (value: Amount): string =>
  'percent' in value && (value.percent === 0 || value.percent === 100)
    ? `${value.percent}.0%`
    : amountText(value);

export const amountText = (amount: Amount): string =>
  'percent' in amount ? `${amount.percent}%` : quantityText(amount.quantity);
