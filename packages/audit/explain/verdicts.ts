import type { Decision, Verdict } from '../../../schemas/events/decision.ts';
import { deciderOf } from '../../../schemas/events/object-kinds.ts';
import type { ExplainedKind, ExplainedObject, ExplainedUser } from '../../../schemas/reports/timeline.ts';
import { keptBecause, removedBecause } from '../../decision/rule-text.ts';
import type { Folding, Moment } from './timeline.ts';

/** What an inventory said of the object, for the decisions about it. */
export interface Sighting {
  readonly position: number;
  readonly users: readonly ExplainedUser[];
}

interface Made {
  readonly decision: Decision;
  readonly at: Moment;
}

/** What a decision says of an object that its inventory listed, folded with equal ones before it. */
export function noteVerdict(
  { folding, object }: { readonly folding: Folding; readonly object: ExplainedObject },
  sighting: Sighting,
  { decision, at }: Made,
): void {
  if (!isJudgeOf(decision, object.kind)) return;
  const verdict = decision.verdicts.find(
    ({ kind, position }) => kind === object.kind && position === sighting.position,
  );
  const common = { ...at, object, ...repeatable(at), ...decidedBy(decision) };
  if (verdict === undefined) {
    folding.note(`undecided ${decision.outcome}`, { what: 'undecided', ...common });
    return;
  }
  const { action, rule, facts } = verdict;
  const because = reasonOf(verdict, decision, sighting.users);
  const going = action === 'remove' ? decision.outcome : '';
  folding.note(JSON.stringify([action, rule, because, going, comparable(facts)]), {
    what: 'verdict',
    ...common,
    action,
    rule,
    because,
    facts,
  });
}

/** Ages and counts differ every time; what is said in words or yes and no does not. The user is in the reason. */
const comparable = ({ user: _, ...facts }: Verdict['facts']): readonly unknown[] =>
  Object.entries(facts).filter(([, value]) => typeof value !== 'number');

/** Nobody judges pods and nodes themselves. */
const isJudgeOf = ({ decider }: Decision, kind: ExplainedKind): boolean =>
  kind !== 'pod' && kind !== 'node' && decider.name === deciderOf(kind);

/** Of an entry that may be repeated: this once. */
export const repeatable = ({ loggedAtMs, nodeTimeMs }: Moment) => ({
  times: 1,
  last: { loggedAtMs, nodeTimeMs },
});

/** What an entry says of the decision that it tells. */
export const decidedBy = ({ decider, id, outcome, reason, policy }: Decision) => ({
  decider: decider.name,
  decisionId: id,
  outcome,
  reason,
  policy: policy && { name: policy.name, version: policy.version, hash: policy.hash },
});

/** The rule in words; of an image in use, by whom. */
function reasonOf(
  { action, rule, facts }: Verdict,
  { outcome }: Decision,
  users: readonly ExplainedUser[],
): string {
  if (action === 'remove') return removedBecause(rule);
  const because = keptBecause({ rule, facts }, outcome);
  const wording = NAMING_THE_USER[rule];
  const user = wording && users.find(({ kind, id }) => `${kind} ${id}` === facts.user);
  return user ? `${wording} ${user.kind} ${user.name}` : because;
}

const NAMING_THE_USER: Readonly<Record<string, string>> = { C8: 'used by', M5: 'wanted by' };
