import { durationText } from '../../schemas/policy/value-text.ts';
import { shortIds } from '../text/short-hash.ts';
import { signedSizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';

type Facts = Readonly<Record<string, string | number | boolean | null>>;

/** Facts that are times, and no durations, beside those whose names end with AtMs. */
const TIMES: ReadonlySet<string> = new Set(['lastUsedMs', 'firstDetectedMs', 'untilMs']);
const isTime = (name: string): boolean => name.endsWith('AtMs') || TIMES.has(name);
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
  if (isTime(name)) return timeText(value);
  return name.endsWith('Ms') ? roughDuration(value) : String(value);
}

/** Nobody asks for milliseconds of what lasted for minutes. */
function roughDuration(ms: number): string {
  return durationText(Math.abs(ms) < 10_000 ? ms : Math.round(ms / 1_000) * 1_000);
}

/** A word that can be looked for, and a sentence. */
export interface EntryText {
  readonly word: string;
  readonly text: string;
}

interface Repeated {
  readonly times: number;
  readonly last: { readonly loggedAtMs: number };
}

/** Of equal events in a row: how many, and until when. */
export const repeatedText = ({ times, last }: Repeated): string =>
  times === 1 ? '' : `, ${times} times until ${timeText(last.loggedAtMs)}`;
