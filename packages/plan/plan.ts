import type { Verdict } from '../../schemas/events/decision.ts';
import type { CompleteInventory, Inventory } from '../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../schemas/events/object-kinds.ts';
import { ReclaimAction } from '../../schemas/events/reclaim.ts';
import type { Policy, PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import type { Plan, PlannedObject, PlanTrigger, TriggeredPlan } from '../../schemas/reports/plan.ts';
import { freeing } from '../deciders/image-gc/rules/contents.ts';
import type { Note } from '../decision/conclusion.ts';
import { gateFor } from '../decision/gate.ts';
import { importsLikePulls, statusDoubts } from '../decision/inventory-checks.ts';
import { OWN_RULES } from '../decision/own-rules.ts';
import { withinSteps } from '../decision/step-budget.ts';
import { allKept, type Passed, passThrough, plannedObjects } from './pass.ts';
import { type Ordered, ordered, type SingleTrigger, triggersFor } from './trigger.ts';

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
    return planOf(input, inventory, {
      all: nothingGoes(inventory, { kind: 'nothing', rule, reason, notBelieved }),
      triggers: [],
    });
  }
  const passes = passFor(input, inventory, gate.record.policy);
  return {
    ...planOf(input, inventory, { all: together(passes), triggers: passes.map(triggered) }),
    policy,
  };
}

interface PassBy {
  readonly trigger: SingleTrigger;
  readonly passed: Passed;
}

function passFor({ trigger }: PlanInput, inventory: CompleteInventory, policy: Policy): readonly PassBy[] {
  const triggers = trigger === 'all' ? triggersFor(inventory, policy) : [trigger];
  return triggers.map((one) => {
    const order = ordered(one, inventory, policy);
    if (order.kind === 'nothing') return { trigger: one, passed: nothingGoes(inventory, order) };
    const passed = withinSteps(
      (steps) => passThrough(inventory, policy, order, steps),
      () => nothingGoes(inventory, TOO_COSTLY),
    );
    return { trigger: one, passed };
  });
}

/** What any of them removes, in the order of the first that does. Of an image counts what it frees once all before it are gone. */
function together(passes: readonly PassBy[]): Passed {
  const [first, ...others] = passes;
  if (first === undefined) throw new TypeError('a plan has a trigger');
  if (others.length === 0) return first.passed;
  const all = passes.map(({ passed }) => passed);
  const verdicts = new Map<string, Verdict>();
  const order: Partial<Record<ObjectKind, number[]>> = {};
  for (const { judged } of all) {
    for (const verdict of judged.verdicts) {
      const key = `${verdict.kind} ${verdict.position}`;
      if (verdict.action === 'remove' ? verdicts.get(key)?.action !== 'remove' : !verdicts.has(key))
        verdicts.set(key, verdict);
    }
    for (const kind of ORDERED_KINDS)
      order[kind] = [...new Set([...(order[kind] ?? []), ...(judged.order[kind] ?? [])])];
  }
  const contents = all.find((passed) => passed.contents !== null)?.contents ?? null;
  const free = contents === null ? () => 0n : freeing(contents);
  const freedByImage = new Map((order.image ?? []).map((position) => [position, free(position)]));
  return {
    judged: {
      verdicts: [...verdicts.values()],
      order,
      freedByImage,
      doubtedImages: first.passed.judged.doubtedImages,
    },
    contents,
    actions: ReclaimAction.options.filter((action) => all.some(({ actions }) => actions.includes(action))),
    reason: first.passed.reason,
    target: null,
    estimatedBytes: [...freedByImage.values()].reduce((sum, bytes) => sum + bytes, 0n),
    notBelieved: distinct(all.flatMap(({ notBelieved }) => notBelieved)),
    notes: distinct(all.flatMap(({ notes }) => notes)),
  };
}

const ORDERED_KINDS = ['container', 'sandbox', 'image'] as const satisfies readonly ObjectKind[];

const distinct = <Said extends Note>(said: readonly Said[]): readonly Said[] => [
  ...new Map(said.map((one) => [`${one.rule} ${one.message}`, one])).values(),
];

/** What one trigger does alone. */
function triggered({ trigger, passed }: PassBy): TriggeredPlan {
  const { reason, actions, target, estimatedBytes, judged } = passed;
  const isKnown = target !== null && target.resource === 'availableBytes';
  return {
    trigger,
    reason,
    actions: [...actions],
    target,
    isReached: isKnown ? BigInt(target.available) + estimatedBytes >= BigInt(target.atLeast) : null,
    removals: judged.verdicts.filter(({ action }) => action === 'remove').length,
    estimatedBytes: String(estimatedBytes),
  };
}

const nothingGoes = (
  inventory: CompleteInventory,
  { rule, reason, notBelieved }: Extract<Ordered, { kind: 'nothing' }>,
): Passed => ({
  judged: {
    verdicts: allKept(inventory, { rule, facts: {} }),
    order: {},
    freedByImage: new Map(),
    doubtedImages: new Set(),
  },
  contents: null,
  actions: [],
  reason,
  target: null,
  estimatedBytes: 0n,
  notBelieved,
  notes: [],
});

const TOO_COSTLY = { kind: 'nothing', rule: 'P10', reason: OWN_RULES.P10, notBelieved: [] } as const;

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

interface Planned {
  readonly all: Passed;
  readonly triggers: Plan['triggers'];
}

function planOf(input: PlanInput, inventory: CompleteInventory, { all: passed, triggers }: Planned): Plan {
  const { remove, keep } = plannedObjects(inventory, passed.judged);
  return {
    ...headOf(input),
    status: 'planned',
    reason: passed.reason,
    actions: [...passed.actions],
    target: passed.target,
    triggers,
    remove,
    keep,
    estimatedBytes: String(passed.estimatedBytes),
    notBelieved: [...passed.notBelieved],
    notes: [...(input.notes ?? []), ...importNotes(inventory), ...passed.notes, ...unpullableNotes(keep)],
  };
}

const notPlanned = (input: PlanInput, inventory: Exclude<Inventory, CompleteInventory>): Plan => ({
  ...headOf(input),
  status: 'not-planned',
  reason: OWN_RULES.P3,
  actions: [],
  target: null,
  triggers: [],
  remove: [],
  keep: [],
  estimatedBytes: '0',
  notBelieved: statusDoubts(inventory),
  notes: [...(input.notes ?? [])],
});

/** Of a node of K3s or RKE2, whatever its policy says: what is kept there, and what to do before it is not. */
export const IMPORTS_NOTE: Note = {
  rule: 'M12',
  message:
    'this is the containerd of K3s or RKE2. They import the archives in agent/images and give these images all that a pull leaves, so FleetGC cannot tell imported images from pulled ones, and a pin can be missing after a restart. By default FleetGC keeps all of them. Before you set keep: {unpullable: false}, name the imported images in keep.images',
};

const importNotes = ({ runtime }: CompleteInventory): readonly Note[] =>
  importsLikePulls(runtime.version) ? [IMPORTS_NOTE] : [];

/** Images that stay because they could not be pulled again: why, and what to set, once for all of them. */
function unpullableNotes(keep: readonly PlannedObject[]): readonly Note[] {
  const notPulled = keep.filter(
    ({ kind, rule, facts }) => kind === 'image' && rule === 'M12' && facts.runtimeVersion === undefined,
  ).length;
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
