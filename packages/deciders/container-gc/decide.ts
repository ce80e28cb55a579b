import type { ContainerRemoval } from '../../../schemas/events/command.ts';
import type { CompleteInventory, Inventory } from '../../../schemas/events/inventory.ts';
import { atNextAction, type Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { MAX_DECISION_STEPS, Steps } from '../../../schemas/policy/steps.ts';
import { type Conclusion, commandOutcome } from '../../decision/conclusion.ts';
import { statusDoubts } from '../../decision/inventory-checks.ts';
import { OWN_RULES } from '../../decision/own-rules.ts';
import { takeForObjects, tooCostlyConclusion, withinSteps } from '../../decision/step-budget.ts';
import { missed, type Wanted, wantedNow } from '../../decision/thresholds/wanted-reclaim.ts';
import { doubts, runningTwice } from './rules/doubts.ts';
import { type ContainerPlan, type Pass, planPass } from './rules/plan.ts';
import { gonePods, unmatchedNamespaces } from './rules/pods.ts';

export const DECIDER = { name: 'container-gc', version: '1' } as const;

type ContainerItem = ContainerRemoval['items'][number];

export interface ContainerConclusion extends Conclusion {
  /** In the order in which they go (G1). They become a command only if the outcome is `commanded`. */
  readonly items: readonly ContainerItem[];
  /** The reclaim at its next action, where it goes on without a command. */
  readonly goesOnAt: Reclaim | null;
  /** What the target's filesystem has available, where a reclaim ends here above its target. */
  readonly unrelievedAt: string | null;
}

/**
 * Which dead containers, inactive sandboxes and log entries of a node go. Any complete inventory will do, except that of a reclaim
 * that is at its images: there image-gc acts, and two commands at once would supersede each other's facts. A reclaim that
 * the policy in force does not want any more is none (J9, M16).
 */
export function decide(
  inventory: Inventory,
  policy: Policy,
  budget = new Steps(MAX_DECISION_STEPS),
): ContainerConclusion {
  if (inventory.status !== 'complete') return notComplete(inventory);
  return withinSteps(
    (steps) => decideComplete(inventory, policy, steps),
    () => tooCostly(inventory),
    budget,
  );
}

function decideComplete(inventory: CompleteInventory, policy: Policy, steps: Steps): ContainerConclusion {
  takeForObjects(inventory, steps);
  const wanted = inventory.reclaim && wantedNow(inventory.reclaim, inventory.filesystems, policy);
  if (wanted === null) return decidePass(inventory, policy, false, steps);
  const reclaim = wanted.unwanted === null ? wanted.reclaim : null;
  const conclusion = decidePass({ ...inventory, reclaim }, policy, wanted.isPressed, steps);
  const because = becauseOf(wanted);
  return because === null ? conclusion : { ...conclusion, reason: `${because}; ${conclusion.reason}` };
}

const becauseOf = ({ shrunk, unwanted }: Wanted): string | null =>
  unwanted === null ? shrunk : `${unwanted.reason}, so the reclaim ends here`;

/** `isPressed`: also of pods that have only ended, which a reclaim for image usage does not touch (G2, J5). */
function decidePass(
  inventory: CompleteInventory,
  policy: Policy,
  isPressed: boolean,
  steps: Steps,
): ContainerConclusion {
  const pass: Pass = {
    inventory,
    policy,
    evictNonDeletedPods: isPressed,
    waits: inventory.reclaim?.step === 'images',
    isForCommand: true,
  };
  const plan = planPass(pass, steps);
  const gone = gonePods(pass);
  const itemOf =
    (kind: 'container' | 'sandbox') =>
    ({ item: { id, podUid }, rule }: PlannedObject): ContainerItem => ({
      kind,
      id,
      rule,
      podGone: gone.has(podUid),
    });
  const items = [
    ...plan.containers.map(itemOf('container')),
    ...plan.sandboxes.map(itemOf('sandbox')),
    ...plan.logs,
  ];
  return {
    ...(items.length > 0 ? removing(inventory, policy, plan) : nothing(inventory)),
    items,
    notBelieved: doubts(inventory, policy),
    notes: [...runningTwice(inventory), ...unmatchedNamespaces(inventory, policy)],
    verdicts: plan.verdicts,
    estimatedBytes: 0,
    reclaim: inventory.reclaim,
  };
}

type PlannedObject = ContainerPlan['containers' | 'sandboxes'][number];

type Answer = Pick<ContainerConclusion, 'outcome' | 'reason' | 'goesOnAt' | 'unrelievedAt'>;

const STAYS = { goesOnAt: null, unrelievedAt: null } as const;

/** In dry-run no executor follows who would order the next step. */
function removing(inventory: CompleteInventory, policy: Policy, plan: ContainerPlan): Answer {
  const logs = plan.logs.length > 0 ? `, with ${plan.logs.length} log entr(ies)` : '';
  const sentence = `${plan.containers.length} container(s) and ${plan.sandboxes.length} sandbox(es) go${logs}`;
  const answer = commandOutcome(inventory, policy, sentence);
  const { reclaim } = inventory;
  const goesOnAt = answer.outcome === 'dry-run' && reclaim !== null ? atNextAction(reclaim) : null;
  return { ...STAYS, ...answer, goesOnAt };
}

function nothing({ reclaim, filesystems }: CompleteInventory): Answer {
  const reason = 'no container or sandbox is to go';
  if (reclaim === null) return { ...STAYS, outcome: 'nothing-to-do', reason };
  if (reclaim.step === 'images') return { ...STAYS, outcome: 'nothing-to-do', reason: OWN_RULES.P7 };
  const next = atNextAction(reclaim);
  if (next !== null)
    return {
      ...STAYS,
      outcome: 'ordered',
      reason: `${reason}: the reclaim goes on to its images`,
      goesOnAt: next,
    };
  const unrelievedAt = missed(reclaim.target, filesystems);
  return {
    ...STAYS,
    outcome: unrelievedAt === null ? 'nothing-to-do' : 'unrelieved',
    reason: `${reason}: the reclaim ends with its containers`,
    unrelievedAt,
  };
}

const tooCostly = (inventory: CompleteInventory): ContainerConclusion => ({
  ...STAYS,
  ...tooCostlyConclusion(inventory, 'container-removal'),
  items: [],
});

const notComplete = (inventory: Exclude<Inventory, CompleteInventory>): ContainerConclusion => ({
  ...STAYS,
  outcome: 'not-believed',
  reason: OWN_RULES.P3,
  notBelieved: statusDoubts(inventory),
  verdicts: [],
  estimatedBytes: 0,
  reclaim: inventory.reclaim,
  items: [],
});
