import type { Decision } from '../../schemas/events/decision.ts';
import type { Inventory } from '../../schemas/events/inventory.ts';
import { kindsOf, type RemovalKind } from '../../schemas/events/object-kinds.ts';
import type { Policy, PolicyRecord } from '../../schemas/policy/policy.ts';
import { type Conclusion, keepAll } from './conclusion.ts';
import { type ClosedGate, gatedHandler } from './gate.ts';
import { type Deciding, decisionOutputs, type FollowUp } from './record.ts';

/** What a service brings that decides on removals; all else is the same for each of them. */
interface RemovalDecider<Decided extends Conclusion> {
  readonly decider: Decision['decider'];
  /** Its kinds of object are the ones it gives a verdict on. */
  readonly removal: RemovalKind;
  readonly decide: (event: Inventory, policy: Policy) => Decided;
  /** At most one, so that a reclaim goes on or ends once. */
  readonly followUpOf: (
    deciding: Deciding<'node', Inventory>,
    record: PolicyRecord,
    decided: Decided,
  ) => FollowUp | null;
}

/** An inventory in; a decision record out, and what follows from it, if anything does. */
export const removalHandler = <Decided extends Conclusion>({
  decider,
  removal,
  decide,
  followUpOf,
}: RemovalDecider<Decided>) =>
  gatedHandler<'node', Inventory>({
    decider,
    closed: (deciding, gate) => decisionOutputs(deciding, keeping(deciding.input.event, removal, gate), null),
    open: (deciding, record) => {
      const decided = decide(deciding.input.event, record.policy);
      return decisionOutputs(deciding, decided, followUpOf(deciding, record, decided));
    },
  });

function keeping(event: Inventory, removal: RemovalKind, { rule, ...gate }: ClosedGate): Conclusion {
  const verdicts = event.status === 'complete' ? keepAll(event, kindsOf(removal), { rule, facts: {} }) : [];
  return { ...gate, verdicts, estimatedBytes: 0, reclaim: event.reclaim };
}
