import type { JournalEntry } from '../journal/journal-state.ts';
import type { Reading } from './measure.ts';

type Kept = NonNullable<JournalEntry['before']>;

/** What was free before the first removal of a command; one that an earlier process began is measured from its beginning. */
export function firstReading({ before }: Pick<JournalEntry, 'before'>, now: Reading | null): Reading | null {
  if (before === null) return now;
  const { availableBytes, inodesFree } = before;
  if (availableBytes === null) return null;
  return {
    availableBytes: BigInt(availableBytes),
    inodesFree: inodesFree === null ? null : BigInt(inodesFree),
  };
}

/** As the journal keeps it. */
export const kept = (reading: Reading | null): Kept => ({
  availableBytes: textOf(reading?.availableBytes ?? null),
  inodesFree: textOf(reading?.inodesFree ?? null),
});

const textOf = (value: bigint | null): string | null => (value === null ? null : String(value));
