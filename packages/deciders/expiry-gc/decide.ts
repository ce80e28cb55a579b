import type { ExpireAction } from '../../../schemas/events/cluster-command.ts';
import type { ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { ClusterObject } from '../../../schemas/events/cluster-objects.ts';
import type { Expiry, ExpiryCandidate } from '../../../schemas/events/expiry.ts';
import type { ApprovalRecord } from '../../../schemas/policy/approval.ts';
import type { ClusterPolicy, Collector } from '../../../schemas/policy/cluster-policy.ts';
import { Approvals } from '../../decision/approvals.ts';
import {
  type CommandItem,
  type CommandingConclusion,
  clusterAnswer,
} from '../../decision/cluster-handler.ts';
import { conclude, type ExpiryOutcome } from './rules/conclude.ts';
import { EXPIRING, isCollected } from './rules/due.ts';

export const DECIDER = { name: 'expiry-gc', version: '1' } as const;

/** What would go. */
type Leaving = Extract<ExpiryOutcome, { kind: 'act' | 'hold' }>;
interface Concluded {
  readonly candidate: ExpiryCandidate;
  readonly outcome: ExpiryOutcome;
}

/** What becomes of the objects of a fact. Each is judged by what is said of itself alone, and gets a verdict, whatever the outcome. `approvals`: those in force for its cluster. */
export function decide(
  { candidates, takenAt, shares = [] }: Pick<Expiry, 'candidates' | 'takenAt' | 'shares'>,
  policy: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): CommandingConclusion<ExpireAction> {
  const circumstances = {
    nowMs: takenAt.serverMs,
    shareOf: (kind: string) => shares.find((each) => each.kind === kind) ?? null,
  };
  const settings = { ...policy, approved: new Approvals(approvals) };
  const concluded = candidates.map((candidate) => ({
    candidate,
    outcome: conclude(candidate, settings, circumstances),
  }));
  const isGiven = ({ collector }: Leaving): boolean =>
    collector === null || policy.collectors.includes(collector);
  const isOurs = concluded.some(({ outcome }) => outcome.kind !== 'keep' && isGiven(outcome));
  const ours = isOurs
    ? concluded.map((each) => ({ ...each, outcome: oursAlone(each.outcome, isGiven) }))
    : concluded;
  const verdicts = ours.map(({ outcome }, position) => verdictOf(outcome, position));
  const answer = clusterAnswer(policy, isOurs ? null : workOf(ours), verdicts);
  return { ...answer, verdicts, items: ours.flatMap(itemOf) };
}

/** Beside what is done here, what is another's work is kept. */
const oursAlone = (outcome: ExpiryOutcome, isGiven: (leaving: Leaving) => boolean): ExpiryOutcome =>
  outcome.kind === 'keep' || isGiven(outcome)
    ? outcome
    : { kind: 'keep', rule: outcome.rule, facts: { ...outcome.facts, notGiven: outcome.collector } };

/** Whose work it is: that of what would go, else of what is kept; `null` for rules of the policy. */
function workOf(concluded: readonly Concluded[]): Collector | null {
  for (const { outcome } of concluded) if (outcome.kind !== 'keep') return outcome.collector;
  const facts = concluded.map(({ candidate }) => candidate.facts).find(isCollected);
  return facts === undefined ? null : EXPIRING[facts.of].collector;
}

const verdictOf = (outcome: ExpiryOutcome, position: number): ClusterVerdict => ({
  position,
  action: outcome.kind === 'act' ? outcome.act.action : outcome.kind,
  rule: outcome.rule,
  facts: outcome.facts,
});

function itemOf({ candidate: { object }, outcome }: Concluded): CommandItem<ExpireAction>[] {
  if (outcome.kind !== 'act') return [];
  return [{ object: ClusterObject.parse(object), rule: outcome.rule, act: outcome.act }];
}
