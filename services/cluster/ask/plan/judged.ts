import { decide } from '../../../../packages/deciders/graph-gc/decide.ts';
import type { OwnershipAction } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterDecisionOutcome, ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import type { OwnershipCandidate } from '../../../../schemas/events/ownership.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';

/** A candidate with what graph-gc decides about it. */
export interface Judged {
  readonly candidate: OwnershipCandidate;
  readonly verdict: ClusterVerdict;
  /** `null` for what stays. */
  readonly act: OwnershipAction | null;
}

export interface JudgedBatch {
  readonly outcome: ClusterDecisionOutcome;
  readonly judged: readonly Judged[];
}

/** By the decider itself, as if an agent had published these. */
export function judge(candidates: readonly OwnershipCandidate[], policy: ClusterPolicy): JudgedBatch {
  // Policies of files approve nothing: what is held is told as held.
  const { outcome, verdicts, items } = decide({ candidates: [...candidates], wentBack: false }, policy, []);
  const acts = new Map(items.map(({ object, act }) => [object.uid, act]));
  const judged = verdicts.flatMap((verdict) => {
    const candidate = candidates[verdict.position];
    return candidate === undefined
      ? []
      : [{ candidate, verdict, act: acts.get(candidate.object.uid) ?? null }];
  });
  return { outcome, judged };
}
