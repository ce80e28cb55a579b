import type { OwnershipAction } from '../../../schemas/events/cluster-command.ts';
import type { ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { ClusterObject } from '../../../schemas/events/cluster-objects.ts';
import type { Ownership, OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import type { ApprovalRecord } from '../../../schemas/policy/approval.ts';
import type { ClusterPolicy, Collector } from '../../../schemas/policy/cluster-policy.ts';
import {
  type CommandItem,
  type CommandingConclusion,
  clusterAnswer,
} from '../../decision/cluster-handler.ts';
import { conclude } from './rules/conclude.ts';
import type { Confirmation, Outcome } from './rules/outcome.ts';
import { settingsOf } from './rules/settings.ts';

export const DECIDER = { name: 'graph-gc', version: '1' } as const;

/** Whose work this is where FleetGC does not do it. */
const COLLECTOR: Collector = 'garbage-collector-controller';

/** What becomes of the candidates of a fact; `approvals`: those in force for its cluster. Each is judged by what is said of itself alone, and gets a verdict, whatever the outcome. */
export function decide(
  fact: Pick<Ownership, 'candidates' | 'wentBack'>,
  policy: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): CommandingConclusion<OwnershipAction> {
  const settings = settingsOf(policy, approvals);
  const outcomes = fact.candidates.map((candidate) =>
    conclude(candidate, settings, { wentBack: fact.wentBack }),
  );
  const verdicts = outcomes.map(verdictOf);
  const items = fact.candidates.flatMap((candidate, position) => itemOf(candidate, outcomes[position]));
  return { ...clusterAnswer(policy, COLLECTOR, verdicts), verdicts, items };
}

const verdictOf = (outcome: Outcome, position: number): ClusterVerdict =>
  outcome.kind === 'act'
    ? { position, action: outcome.act.action, rule: outcome.rule, facts: factsOf(outcome) }
    : { position, action: outcome.kind, rule: outcome.rule, facts: outcome.facts };

const factsOf = ({ facts, act, confirm }: Extract<Outcome, { kind: 'act' }>): ClusterVerdict['facts'] => ({
  ...facts,
  ...actionFacts(act),
  ...ownerFacts(confirm[0]),
});

/** What the command would say, since a dry run has none. */
function actionFacts(act: OwnershipAction): ClusterVerdict['facts'] {
  switch (act.action) {
    case 'delete':
      return { propagation: act.propagation };
    case 'drop-references':
      return { owners: act.ownerUids.length };
    case 'finish':
      return { finalizer: act.finalizer };
  }
}

/** One of the owners for which it is done. */
const ownerFacts = (confirmation: Confirmation | undefined): ClusterVerdict['facts'] =>
  confirmation === undefined
    ? {}
    : {
        ownerKind: confirmation.owner.kind,
        ownerName: confirmation.owner.name,
        ownerUid: confirmation.owner.uid,
        ownerIs: confirmation.is,
        ...(confirmation.owner.namesakeUid !== undefined && {
          namesakeUid: confirmation.owner.namesakeUid,
        }),
      };

function itemOf(
  { object }: OwnershipCandidate,
  outcome: Outcome | undefined,
): CommandItem<OwnershipAction>[] {
  if (outcome?.kind !== 'act') return [];
  return [{ object: ClusterObject.parse(object), rule: outcome.rule, act: outcome.act }];
}
