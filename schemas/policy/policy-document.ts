import { z } from 'zod';

/** The key under which the head of a document of policies is signed: no record of `gc.policies` has it. */
export const POLICY_DOCUMENT_KEY = 'policy-document';

/**
 * What a document of policies says of itself, on its first line. On each of its other lines stands one record of `gc.keys` or
 * `gc.policies`, as a CloudEvent with its exact bytes, its key, its headers and its place.
 */
export const PolicyDocumentHead = z.strictObject({
  type: z.literal('fleetgc.policy-document'),
  version: z.literal(1),
  /** When the event log was read to its end, in epoch milliseconds: by the clock of whoever did, or by that of the log where it is ahead. */
  exportedAtMs: z.int().nonnegative(),
  /** How many lines follow. */
  records: z.int().nonnegative(),
  /** SHA-256 of all bytes behind this line. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type PolicyDocumentHead = z.infer<typeof PolicyDocumentHead>;

/** The first line: the head, and beside it who signed it, as the headers of a record say it. */
export const PolicyDocumentLine = z.strictObject({
  head: PolicyDocumentHead,
  headers: z.record(z.string(), z.string()),
});
