import { z } from 'zod';
import {
  type Amount,
  EvictionSignal,
  type EvictionThreshold,
  fractionOf,
  LARGEST_PERCENT,
} from './eviction.ts';
import { parsePercentNumber, parseQuantity } from './quantity.ts';
import { notNegative, truth } from './written-values.ts';

/** Signals that a kubelet knows and on which garbage collection can do nothing. */
const OTHER_SIGNALS = ['memory.available', 'allocatableMemory.available', 'pid.available'] as const;

/** Every signal that may be written (B15). */
export const WRITTEN_SIGNALS: readonly string[] = [...EvictionSignal.options, ...OTHER_SIGNALS];

export const isIgnoredSignal = (signal: string): boolean => OTHER_SIGNALS.some((other) => other === signal);

/** What an omitted `evictionHard` means (B14), without the threshold of memory. */
export const DEFAULT_EVICTION_HARD = {
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
} as const satisfies Partial<Record<EvictionSignal, string>>;

const VALUE_ERROR = 'must be a percentage or a quantity above 0 as text, such as 10% or "1Gi"';
const DROPPED = ['0%', '100%'];

/** `null`: written exactly `0%` or `100%`, which means no threshold (B15). */
const thresholdValue = z.string({ error: VALUE_ERROR }).transform((written, context): Amount | null => {
  if (DROPPED.includes(written)) return null;
  const amount = amountOf(written);
  const problem = thresholdProblem(amount);
  if (amount !== undefined && problem === undefined) return amount;
  context.addIssue({ code: 'custom', message: problem ?? VALUE_ERROR, input: written });
  return z.NEVER;
});

function thresholdProblem(amount: Amount | undefined): string | undefined {
  if (amount === undefined) return VALUE_ERROR;
  if ('quantity' in amount) return amount.quantity === '0' ? 'must be above 0' : undefined;
  if (amount.percent < 0) return 'must be at least 0%';
  return amount.percent > 100 ? 'must be at most 100%' : undefined;
}

/** What becomes 0 in 32 bits is not above it to the kubelet (B15). */
const RECLAIM_ERROR = 'must be a percentage above 0% or a quantity as text, such as 5% or "500Mi"';
const reclaimValue = z.string({ error: RECLAIM_ERROR }).transform((written, context): Amount => {
  const amount = amountOf(written);
  if (amount && ('quantity' in amount || fractionOf(amount.percent) > 0)) return amount;
  context.addIssue({ code: 'custom', message: RECLAIM_ERROR, input: written });
  return z.NEVER;
});

function amountOf(written: string): Amount | undefined {
  if (written.endsWith('%')) {
    const percent = parsePercentNumber(written);
    return percent === undefined || percent > LARGEST_PERCENT ? undefined : { percent };
  }
  const quantity = parseQuantity(written);
  return quantity === undefined ? undefined : { quantity: String(quantity) };
}

const bySignal = <Value extends z.ZodType>(value: Value) => {
  const optional = value.optional();
  return z
    .strictObject(
      {
        'nodefs.available': optional,
        'nodefs.inodesFree': optional,
        'imagefs.available': optional,
        'imagefs.inodesFree': optional,
        'containerfs.available': optional,
        'containerfs.inodesFree': optional,
        'memory.available': optional,
        'allocatableMemory.available': optional,
        'pid.available': optional,
      },
      { error: 'must be a map of signals, as in {nodefs.available: 10%}; {} means none' },
    )
    .optional();
};

/** The settings of the kubelet that have one value per signal. */
export const evictionSettings = {
  evictionHard: bySignal(thresholdValue).describe(
    'Thresholds at which garbage collection is forced at once. {} means none; omitted: those of the kubelet.',
  ),
  evictionSoft: bySignal(thresholdValue).describe(
    'Thresholds that force garbage collection after a grace period.',
  ),
  evictionSoftGracePeriod: bySignal(notNegative).describe('How long a soft threshold must have been met.'),
  evictionMinimumReclaim: bySignal(reclaimValue).describe(
    'How much more than the threshold must be available again before the pressure counts as over.',
  ),
  mergeDefaultEvictionSettings: truth
    .optional()
    .describe(
      'Whether signals that evictionHard does not name keep their defaults. Without it they have none.',
    ),
};

const EvictionSettings = z.object(evictionSettings);
type EvictionSettings = z.output<typeof EvictionSettings>;

/** Names of the settings with one value per signal. */
export const EVICTION_MAPS = [
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMinimumReclaim',
] as const;

/** All thresholds that can force garbage collection, in the order in which they are stored. */
export function toThresholds(settings: EvictionSettings): EvictionThreshold[] {
  const { evictionSoft = {}, evictionSoftGracePeriod = {}, evictionMinimumReclaim = {} } = settings;
  const hard = hardValues(settings);
  const thresholds = (kind: EvictionThreshold['kind'], values: typeof evictionSoft): EvictionThreshold[] =>
    EvictionSignal.options.flatMap((signal) => {
      const value = values[signal] ?? null;
      if (value === null) return [];
      const gracePeriodMs = kind === 'hard' ? 0 : (evictionSoftGracePeriod[signal] ?? 0);
      return [{ signal, kind, value, gracePeriodMs, minimumReclaim: evictionMinimumReclaim[signal] ?? null }];
    });
  return [...thresholds('hard', hard), ...thresholds('soft', evictionSoft)];
}

/** B14: a map that was written, be it empty, drops the defaults it does not name, unless they are merged. */
function hardValues({ evictionHard, mergeDefaultEvictionSettings = false }: EvictionSettings) {
  const defaults = EvictionSettings.parse({ evictionHard: DEFAULT_EVICTION_HARD }).evictionHard;
  if (evictionHard === undefined) return defaults ?? {};
  return mergeDefaultEvictionSettings ? { ...defaults, ...evictionHard } : evictionHard;
}
