import { z } from 'zod';
import { Backoff, ObjectKind } from '../events/object-kinds.ts';

/** Name of the file in the node's state directory. Written by the executor alone, read by the agent. */
export const BACKOFF_FILE = 'backoff';
/**
 * How many failing objects are remembered; beyond it those that may be tried again first are forgotten.
 * @limit Failed objects that a node remembers.
 */
export const MAX_BACKOFF_OBJECTS = 1_000;
/** Room for that many, with ids of up to 256 characters. */
export const BACKOFF_BYTES = 400 * MAX_BACKOFF_OBJECTS;

/**
 * No object is left alone longer than this; an entry that says so was written before the clock was set back.
 * @limit Longest wait before a failed removal is tried again.
 */
export const MAX_BACKOFF_MS = 3_600_000;

/** Objects that failed to go, and until when the node does not try them again (M17, M33). */
export const BackoffFile = z.object({
  version: z.literal(1),
  objects: z.array(z.object({ kind: ObjectKind, id: z.string().min(1), ...Backoff.shape })),
});
export type BackoffFile = z.infer<typeof BackoffFile>;
