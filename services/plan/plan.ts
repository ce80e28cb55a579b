import type { Note } from '../../packages/decision/conclusion.ts';
import { gateFor } from '../../packages/decision/gate.ts';
import { statusDoubts } from '../../packages/decision/inventory-checks.ts';
import { OWN_RULES } from '../../packages/decision/own-rules.ts';
import type { CompleteInventory, Inventory } from '../../schemas/events/inventory.ts';
import type { Policy, PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import type { Plan, PlannedObject, PlanTrigger } from '../../schemas/reports/plan.ts';
import { allKept, plannedObjects } from './objects.ts';
import { type Passed, passThrough } from './pass.ts';
import { type Ordered, ordered } from './trigger.ts';

/** Everything a plan follows from. */
interface PlanInput {
  readonly inventory: Inventory;
  /** The one that holds for the node is chosen as a decision service chooses it. */
  readonly policies: PolicySet;
  readonly trigger: PlanTrigger;
  /** What is to be told of how the inventory came about. */
  readonly notes?: readonly Note[];
}

/**
 * What would be removed from a node, in order, and what would stay, by the functions that decide for real; no limit of a
 * command is applied, and every removal is taken to succeed. Equal input gives equal plans.
 */
export function planFor(input: PlanInput): Plan {
  const { inventory, policies } = input;
  const gate = gateFor(policies, inventory);
  const policy = gate.record && referenceTo(gate.record);
  if (inventory.status !== 'complete') return { ...notPlanned(input, inventory), policy };
  if (gate.kind === 'closed') {
    const { rule, reason, notBelieved } = gate;
    return planOf(input, inventory, nothingGoes(inventory, { kind: 'nothing', rule, reason, notBelieved }));
  }
  return { ...planOf(input, inventory, passFor(input, inventory, gate.record.policy)), policy };
}

function passFor({ trigger }: PlanInput, inventory: CompleteInventory, policy: Policy): Passed {
  const order = ordered(trigger, inventory, policy);
  return order.kind === 'nothing' ? nothingGoes(inventory, order) : passThrough(inventory, policy, order);
}

const nothingGoes = (
  inventory: CompleteInventory,
  { rule, reason, notBelieved }: Extract<Ordered, { kind: 'nothing' }>,
): Passed => ({
  judged: { verdicts: allKept(inventory, { rule, facts: {} }), order: {}, doubtedImages: new Set() },
  actions: [],
  reason,
  target: null,
  estimatedBytes: 0n,
  notBelieved,
  notes: [],
});

const referenceTo = ({ policy: { name, mode, profile }, hash }: PolicyRecord): Plan['policy'] => ({
  name,
  hash,
  mode,
  profile,
});

const headOf = ({ inventory: { id, cluster, node, takenAt }, trigger }: PlanInput) =>
  ({
    type: 'fleetgc.plan',
    version: 1,
    inventory: { id, cluster, node, takenAt },
    policy: null,
    trigger,
  }) as const satisfies Partial<Plan>;

function planOf(input: PlanInput, inventory: CompleteInventory, passed: Passed): Plan {
  const { remove, keep } = plannedObjects(inventory, passed.judged);
  return {
    ...headOf(input),
    status: 'planned',
    reason: passed.reason,
    actions: [...passed.actions],
    target: passed.target,
    remove,
    keep,
    estimatedBytes: String(passed.estimatedBytes),
    notBelieved: [...passed.notBelieved],
    notes: [...(input.notes ?? []), ...passed.notes, ...unpullableNotes(keep)],
  };
}

const notPlanned = (input: PlanInput, inventory: Exclude<Inventory, CompleteInventory>): Plan => ({
  ...headOf(input),
  status: 'not-planned',
  reason: OWN_RULES.P3,
  actions: [],
  target: null,
  remove: [],
  keep: [],
  estimatedBytes: '0',
  notBelieved: statusDoubts(inventory),
  notes: [...(input.notes ?? [])],
});

/** Images that stay because they could not be pulled again: why, and what to set, once for all of them. */
function unpullableNotes(keep: readonly PlannedObject[]): readonly Note[] {
  const notPulled = keep.filter(({ kind, rule }) => kind === 'image' && rule === 'M12').length;
  const noSource = keep.filter(({ rule, facts }) => rule === 'M11' && facts.unpullable !== undefined).length;
  return [
    ...(notPulled === 0
      ? []
      : [
          {
            rule: 'M12',
            message: `${images(notPulled)} not pulled through CRI as far as containerd tells, as those that ctr or nerdctl fetched or imported: nobody knows whether they can be pulled again. With keep: {unpullable: false} in the policy they may go`,
          },
        ]),
    ...(noSource === 0
      ? []
      : [
          {
            rule: 'M11',
            message: `${images(noSource)} without a place to be pulled from again. With keep: {unpullable: false} in the policy they may go`,
          },
        ]),
  ];
}

const images = (count: number): string =>
  count === 1 ? '1 image that stays is' : `${count} images that stay are`;
