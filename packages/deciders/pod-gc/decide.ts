import type { ClusterCommandItem } from '../../../schemas/events/cluster-command.ts';
import type { ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { ClusterObject } from '../../../schemas/events/cluster-objects.ts';
import type { PodCandidate, Pods } from '../../../schemas/events/pods.ts';
import type { ApprovalRecord } from '../../../schemas/policy/approval.ts';
import type { ClusterPolicy, Collector } from '../../../schemas/policy/cluster-policy.ts';
import { type CommandingConclusion, clusterAnswer } from '../../decision/cluster-handler.ts';
import { conclude, excessOf, type PodOutcome, podSettingsOf } from './rules/conclude.ts';

export const DECIDER = { name: 'pod-gc', version: '1' } as const;

/** Whose work this is where FleetGC does not do it. */
const COLLECTOR: Collector = 'pod-garbage-collector-controller';

/** What becomes of the pods of a fact: each by what is said of itself, and of all that have ended as many as are too many. `approvals`: those in force for its cluster. */
export function decide(
  fact: Pick<Pods, 'candidates' | 'totals' | 'wentBack'>,
  policy: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): CommandingConclusion {
  const settings = podSettingsOf(policy, approvals);
  const { wentBack, totals } = fact;
  const excess = new Set(
    excessOf(fact.candidates, totals.terminated, settings).map(({ object }) => object.uid),
  );
  const outcomes = fact.candidates.map((pod) =>
    conclude(pod, settings, {
      isExcess: excess.has(pod.object.uid),
      onMissingNodes: totals.onMissingNodes,
      wentBack,
    }),
  );
  const verdicts = outcomes.map(verdictOf);
  const items = fact.candidates.flatMap((pod, position) => itemOf(pod, outcomes[position]));
  return { ...clusterAnswer(policy, COLLECTOR, verdicts), verdicts, items };
}

const verdictOf = (outcome: PodOutcome, position: number): ClusterVerdict => ({
  position,
  action: outcome.kind === 'remove' ? 'remove-pod' : outcome.kind,
  rule: outcome.rule,
  facts: outcome.kind === 'remove' ? { ...outcome.facts, because: outcome.because } : outcome.facts,
});

function itemOf({ object }: PodCandidate, outcome: PodOutcome | undefined): ClusterCommandItem[] {
  if (outcome?.kind !== 'remove') return [];
  const { rule, because } = outcome;
  return [{ object: ClusterObject.parse(object), rule, act: { action: 'remove-pod', because } }];
}
