import { z } from 'zod';
import { ApprovalRecord } from './approval.ts';
import { PauseRecord } from './policy.ts';

/**
 * Fact: what a set of policies consisted of, published before the first decision under it. With the policies themselves,
 * which lie on the same topic by their hashes, the whole set can be put together again after its policies were changed
 * (`packages/service/decision-service.ts`).
 */
export const PolicySetRecord = z.object({
  type: z.literal('fleetgc.policy-set'),
  version: z.literal(1),
  id: z.string().min(1),
  /** As decisions name it (`policySetHash`). */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** In the order of the set. */
  policies: z.array(z.object({ name: z.string(), policyVersion: z.int().positive(), hash: z.string() })),
  pauses: z.array(PauseRecord),
  /** A release that knew of none wrote none. */
  approvals: z.array(ApprovalRecord).optional(),
});
export type PolicySetRecord = z.infer<typeof PolicySetRecord>;
