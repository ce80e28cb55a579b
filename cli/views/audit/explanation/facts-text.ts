import { durationText } from '../../../../packages/policy/value-text.ts';
import { signedSizeText } from '../../../../packages/text/size-text.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import { shortIds } from '../short-id.ts';

type Facts = Readonly<Record<string, string | number | boolean | null>>;

/** Facts that are times, and no durations. */
const TIMES: ReadonlySet<string> = new Set(['lastUsedMs', 'firstDetectedMs', 'untilMs', 'takenAtMs']);
const WORD_BOUNDARY = /(?<=[a-z0-9])(?=[A-Z])/;

/** `age 3m, minimum age 5m` */
export const factsText = (facts: Facts): string =>
  Object.entries(facts)
    .map(([name, value]) => factText(name, value))
    .join(', ');

function factText(name: string, value: Facts[string]): string {
  const words = name
    .replace(/(Ms|Bytes)$/, '')
    .split(WORD_BOUNDARY)
    .join(' ')
    .toLowerCase();
  return `${words} ${valueText(name, value)}`;
}

function valueText(name: string, value: Facts[string]): string {
  if (value === null) return name === 'lastUsedMs' ? 'never' : 'unknown';
  if (typeof value === 'number') return numberText(name, value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return value === '' ? '(none)' : shortIds(value);
}

function numberText(name: string, value: number): string {
  if (name.endsWith('Bytes')) return signedSizeText(BigInt(Math.round(value)));
  if (TIMES.has(name)) return timeText(value);
  return name.endsWith('Ms') ? roughDuration(value) : String(value);
}

/** Nobody asks for milliseconds of what lasted for minutes. */
function roughDuration(ms: number): string {
  return durationText(Math.abs(ms) < 10_000 ? ms : Math.round(ms / 1_000) * 1_000);
}
