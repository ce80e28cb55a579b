import { z } from 'zod';
import { EventId } from './event-id.ts';

/** Why a message could not be processed. */
export const DeadLetterCause = z.enum([
  'not-json',
  'wrong-schema',
  'unknown-type',
  'unknown-version',
  'header-mismatch',
  'key-mismatch',
  'unsigned',
  'bad-signature',
  'untrusted-key',
  'too-large',
  'handler-failed',
  'process-died',
  'unreadable-batch',
]);
export type DeadLetterCause = z.infer<typeof DeadLetterCause>;

/** Fact for people: a message that a consumer gave up on, whole, with its position. Keyed by the original key. */
export const DeadLetter = z.object({
  type: z.literal('fleetgc.dead-letter'),
  version: z.literal(1),
  id: EventId,
  cause: DeadLetterCause,
  message: z.string(),
  group: z.string(),
  topic: z.string(),
  partition: z.int().nonnegative(),
  offset: z.string(),
  timestampMs: z.int(),
  /**
   * The original, in base64; `null` where the original had none. Where the message cannot be wrapped otherwise, `sha256:` and the hash
   * of a long key, and no headers: `message` says so.
   */
  key: z.string().nullable(),
  value: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  /** Size of a value that is not repeated here (too large, or the eleventh in a minute); it lies at the position only. Else 0. */
  omittedBytes: z.int().nonnegative(),
  /** Messages of the same key before this one that this dead letter stands for too (10 a minute are kept whole). */
  suppressedBefore: z.int().nonnegative(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** Fact, on the same topic and key as the dead letter: its message was put back on the topic it came from. */
export const DeadLetterRedrive = z.object({
  type: z.literal('fleetgc.dead-letter-redrive'),
  version: z.literal(1),
  id: EventId,
  deadLetterId: EventId,
  /** As in the dead letter. */
  key: z.string().nullable(),
  /** As whoever did it calls themselves, and why. */
  by: z.string().optional(),
  reason: z.string().optional(),
});
export type DeadLetterRedrive = z.infer<typeof DeadLetterRedrive>;
