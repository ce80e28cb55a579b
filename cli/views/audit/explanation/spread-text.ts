import type { EntryOf, Said } from '../../../../schemas/reports/timeline.ts';

/** A time, a number with what belongs to it (`60%`, `1.2 GB`, `1m30s`), or what is none. */
const PART = /\d{4}-\d\d-\d\dT[\d:.]+Z|\d[\d.]*(?:(?:ms|[hms])\d*)*(?: ?(?:[kMGTPE]?B|%))?|[^\d]+/g;

/** What a row of several says: `used to 60% to 73%`, where the first said 60 and another 73. */
export function spreadText(
  { spread }: Pick<EntryOf<'verdict'>, 'spread'>,
  said: Said,
  textOf: (said: Said) => string,
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
