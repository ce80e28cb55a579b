import type { ClusterConclusion } from '../../packages/decision/cluster-record.ts';
import type { ClusterAction, ClusterCommandItem } from '../../schemas/events/cluster-command.ts';
import { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { ClusterObject } from '../../schemas/events/cluster-objects.ts';
import type { Ownership, OwnershipCandidate } from '../../schemas/events/ownership.ts';
import type { ApprovalRecord } from '../../schemas/policy/approval.ts';
import type { ClusterPolicy, Collector } from '../../schemas/policy/cluster-policy.ts';
import { conclude } from './rules/conclude.ts';
import type { Confirmation, Outcome } from './rules/outcome.ts';
import { settingsOf } from './rules/settings.ts';

export const DECIDER = { name: 'graph-gc', version: '1' } as const;

/** Whose work this is where FleetGC does not do it. */
const COLLECTOR: Collector = 'garbage-collector-controller';

/** With a verdict on every candidate, whatever the outcome. */
export interface OwnershipConclusion extends ClusterConclusion {
  /** They become a command only if the outcome is `commanded`. */
  readonly items: readonly ClusterCommandItem[];
}

/** What becomes of the candidates of a fact; `approvals`: those in force for its cluster. Each is judged by what is said of itself alone. */
export function decide(
  fact: Ownership,
  policy: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): OwnershipConclusion {
  const settings = settingsOf(policy, approvals);
  const outcomes = fact.candidates.map((candidate) =>
    conclude(candidate, settings, { wentBack: fact.wentBack }),
  );
  const verdicts = outcomes.map(verdictOf);
  const items = fact.candidates.flatMap((candidate, position) => itemOf(candidate, outcomes[position]));
  return { ...answerOf(policy, verdicts), verdicts, items };
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
function actionFacts(act: ClusterAction): ClusterVerdict['facts'] {
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
      };

function itemOf({ object }: OwnershipCandidate, outcome: Outcome | undefined): ClusterCommandItem[] {
  if (outcome?.kind !== 'act') return [];
  return [{ object: ClusterObject.parse(object), rule: outcome.rule, act: outcome.act }];
}

type Answer = Pick<OwnershipConclusion, 'outcome' | 'reason'>;

function answerOf({ collectors, mode }: ClusterPolicy, verdicts: readonly ClusterVerdict[]): Answer {
  const plan = sentence(verdicts);
  if (!collectors.includes(COLLECTOR))
    return { outcome: 'not-ours', reason: `${plan}; the policy does not give ${COLLECTOR} to FleetGC` };
  if (!verdicts.some(({ action }) => action !== 'keep' && action !== 'hold'))
    return { outcome: 'nothing-to-do', reason: plan };
  if (mode === 'dry-run') return { outcome: 'dry-run', reason: `${plan}; dry-run: no command is sent` };
  if (mode === 'rehearse') return { outcome: 'commanded', reason: `${plan}; rehearse: nothing is done` };
  return { outcome: 'commanded', reason: plan };
}

const WORDS: Readonly<Record<ClusterVerdict['action'], string>> = {
  delete: 'to delete',
  'drop-references': 'to lose references',
  finish: 'to lose a finalizer',
  keep: 'kept',
  hold: 'held',
};

/** `3 to delete (D14), 1 held (S1)` */
function sentence(verdicts: readonly ClusterVerdict[]): string {
  const byAction = Map.groupBy(verdicts, ({ action }) => action);
  const groups = ClusterVerdict.shape.action.options.flatMap((action) => {
    const group = byAction.get(action);
    return group === undefined ? [] : [`${group.length} ${WORDS[action]} (${rulesOf(group)})`];
  });
  return groups.length === 0 ? 'no candidates' : groups.join(', ');
}

const rulesOf = (verdicts: readonly ClusterVerdict[]): string =>
  [...new Set(verdicts.map(({ rule }) => rule))].toSorted().join(', ');
