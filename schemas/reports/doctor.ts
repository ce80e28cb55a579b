import { z } from 'zod';

/** How a check came out; `skipped`: it could not be made, or there is nothing to check. */
export const CheckOutcome = z.enum(['ok', 'warning', 'problem', 'skipped']);
export type CheckOutcome = z.infer<typeof CheckOutcome>;

export const DoctorCheck = z.object({
  /** Stays the same between releases. */
  id: z.string(),
  /** What the check looks at, for people. */
  looksAt: z.string(),
  outcome: CheckOutcome,
  /** What was seen, or why nothing was looked at; for people. */
  seen: z.string(),
  /** For people; `null` where there is nothing to do. */
  todo: z.string().nullable(),
});
export type DoctorCheck = z.infer<typeof DoctorCheck>;

/** What `fleetgc doctor` answers. */
export const DoctorReport = z.object({
  of: z.enum(['node', 'decider', 'cluster']),
  /** Of a node, as far as its options say it: `cluster/node`; of a cluster its name. */
  name: z.string().nullable(),
  /** The release that looked. */
  version: z.string(),
  checks: z.array(DoctorCheck),
});
export type DoctorReport = z.infer<typeof DoctorReport>;
