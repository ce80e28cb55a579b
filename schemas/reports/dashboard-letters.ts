import { z } from 'zod';
import { DeadLetterCause } from '../events/dead-letter.ts';

/*
 * What the JSON API of `fleetgc dashboard` answers about dead letters. Texts are others', and are shortened where they are long.
 */

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

const Letter = z.object({
  id: z.string(),
  cause: DeadLetterCause,
  message: z.string(),
  /** Who gave it up. */
  group: z.string(),
  topic: z.string(),
  /** Of the message; `null` where it had none. */
  key: z.string().nullable(),
  valueBytes: Count,
  /** Further messages of this key before it that were only counted. */
  suppressedBefore: Count,
  diedAtMs: EpochMs,
  /** `null`: it was not put back. */
  redrivenAtMs: EpochMs.nullable(),
});
export type DashboardLetter = z.infer<typeof Letter>;

/** Dead letters as `fleetgc dead-letters list` has them, the newest first; `before` is what to ask on with, `null` at the end. */
export const DashboardLetters = z.object({
  /** Of all that the filter selects. */
  total: Count,
  byCause: z.partialRecord(DeadLetterCause, Count),
  letters: z.array(Letter),
  before: z.string().nullable(),
});
export type DashboardLetters = z.infer<typeof DashboardLetters>;

/** One dead letter, as `fleetgc dead-letters show` tells it. */
export const DashboardLetterShown = z.object({
  letter: Letter,
  /** Where its message lies, as its consumer said. */
  position: z.object({ topic: z.string(), partition: Count, offset: z.string(), timestampMs: z.int() }),
  headers: z.array(z.tuple([z.string(), z.string()])),
  /** What the message held, with what is not printable made visible; a part of it where it is long. */
  content: z.object({
    kind: z.enum(['omitted', 'none', 'empty', 'bytes', 'text']),
    text: z.string(),
    isWhole: z.boolean(),
  }),
  /** Why its message is not put back, in a sentence; `null`: it may be. */
  staysBecause: z.string().nullable(),
});
export type DashboardLetterShown = z.infer<typeof DashboardLetterShown>;
