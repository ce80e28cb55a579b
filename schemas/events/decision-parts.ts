import { z } from 'zod';

/** The message that was decided on. `sha256` is over its bytes as they lie on the log. */
export const DecisionInput = z.object({
  topic: z.string(),
  partition: z.int().nonnegative(),
  offset: z.string(),
  id: z.string(),
  sha256: z.string(),
});
export type DecisionInput = z.infer<typeof DecisionInput>;

/** A message by where it lies and what it is called. */
export const MessageReference = DecisionInput.omit({ sha256: true });
export type MessageReference = z.infer<typeof MessageReference>;

/**
 * Names the policy that decided: its name, its version for people to speak of, its content hash, which alone identifies it,
 * and the hash of all policies of that moment.
 */
export const PolicyReference = z.strictObject({
  name: z.string(),
  version: z.int().positive(),
  hash: z.string(),
  setHash: z.string(),
});
export type PolicyReference = z.infer<typeof PolicyReference>;

/** What a rule used. */
export const Fact = z.union([z.string(), z.number(), z.boolean(), z.null()]);
