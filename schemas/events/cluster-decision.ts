import { z } from 'zod';
import { Fact } from './decision-parts.ts';
import { ABOUT, decisionHeader } from './subject-headers.ts';

/** What was decided for one candidate, by its position in the fact, with the rule and what it used. */
export const ClusterVerdict = z.object({
  position: z.int().nonnegative(),
  /** `hold`: it would go, and somebody has to approve it first. */
  action: z.enum(['delete', 'expire', 'drop-references', 'finish', 'remove-pod', 'keep', 'hold']),
  /** Number of the rule (docs/reference/cluster-rules.md), e.g. `D14`. */
  rule: z.string(),
  facts: z.record(z.string(), Fact),
});
export type ClusterVerdict = z.infer<typeof ClusterVerdict>;

export const ClusterDecisionOutcome = z.enum([
  'commanded',
  /** The same plan, but the policy says `dry-run`. */
  'dry-run',
  'nothing-to-do',
  'no-policy',
  /** The policy does not give this collector to FleetGC. */
  'not-ours',
  'paused',
  /** More elementary steps would be needed than a decision may take: everything is kept. */
  'too-costly',
]);
export type ClusterDecisionOutcome = z.infer<typeof ClusterDecisionOutcome>;

/** Fact: one decision about one message of a cluster, acknowledged before its command is sent. */
export const ClusterDecision = z.object({
  type: z.literal('fleetgc.cluster.decision'),
  ...decisionHeader(ABOUT.cluster),
  outcome: ClusterDecisionOutcome,
  /** For people: why, where the outcome alone does not say it. */
  reason: z.string(),
  verdicts: z.array(ClusterVerdict),
  /** Ids of the commands that follow from this decision. */
  outputIds: z.array(z.string()),
  /** As of decisions about nodes. */
  outputSha256: z.string(),
});
export type ClusterDecision = z.infer<typeof ClusterDecision>;
