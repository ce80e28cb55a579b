import { signedSizeText, sizeText } from '../../../../packages/text/size-text.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import { durationText } from '../../../../schemas/policy/value-text.ts';
import type { EntryOf, StatedReason } from '../../../../schemas/reports/timeline.ts';
import { shortIds } from '../short-id.ts';

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

/** A reason as a decider recorded it, whose numbers are for machines: `864000000 ms` is told as `240h`. */
export const reasonText = (reason: string): string =>
  reason
    .replace(/\b(\d{1,15}) ms\b/g, (_, ms: string) => durationText(Number(ms)))
    .replace(/\b(\d+) bytes\b/g, (_, bytes: string) => sizeText(BigInt(bytes)));

/** A time, a number with what belongs to it (`60%`, `1.2 GB`, `1m30s`), or what is none. */
const PART = /\d{4}-\d\d-\d\dT[\d:.]+Z|\d[\d.]*(?:(?:ms|[hms])\d*)*(?: ?(?:[kMGTPE]?B|%))?|[^\d]+/g;

/** What a row of several says: `used to 60% to 73%`, where the first said 60 and another 73. */
export function spreadText(
  { spread }: Pick<EntryOf<'verdict'>, 'spread'>,
  said: StatedReason,
  textOf: (said: StatedReason) => string,
): string {
  if (spread === undefined) return textOf(said);
  const [least, most] = [textOf(spread.least).match(PART) ?? [], textOf(spread.most).match(PART) ?? []];
  const isAlike =
    least.length === most.length && least.every((part, index) => isNumber(part) === isNumber(most[index]));
  if (!isAlike) return textOf(said);
  return least
    .map((part, index) => (part === most[index] ? part : `${part} to ${most[index] ?? ''}`))
    .join('');
}

const isNumber = (part: string | undefined): boolean => /^\d/.test(part ?? '');

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
