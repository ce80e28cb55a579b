import { z } from 'zod';

/** What a group commits beside an offset: how many processes ended while they had the record there in hand. */
const CommitNote = z.object({ deaths: z.int().positive() });

/** `null` where there is nothing to tell. */
export const noteOf = (deaths: number): string | null => (deaths === 0 ? null : JSON.stringify({ deaths }));

/** None where nothing is told, or by another tool. */
export function deathsIn(metadata: string | null | undefined): number {
  try {
    return CommitNote.parse(JSON.parse(metadata ?? '')).deaths;
  } catch {
    return 0;
  }
}
