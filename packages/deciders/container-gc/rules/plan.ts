import { MAX_COMMAND_ITEMS } from '../../../../schemas/events/command.ts';
import type { Verdict } from '../../../../schemas/events/decision.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { MAX_DECISION_STEPS, Steps } from '../../../../schemas/policy/steps.ts';
import type { Kept } from '../../../decision/conclusion.ts';
import { backingOff, tooLongForCommand } from '../../../decision/inventory-checks.ts';
import {
  type Admission,
  admit,
  type DeadContainer,
  type DeadContainers,
  deadContainers,
  type Listed,
  neededInitContainers,
  type Room,
  type Selected,
  selectAfterDeath,
  selectBeyondLimits,
  untrustedLogPath,
} from './dead-containers.ts';
import { type PodLogPlan, planPodLogs } from './pod-logs.ts';
import { gonePods, removablePods, removablePodsUngated } from './pods.ts';
import { type PodSandbox, selectSandboxes } from './sandboxes.ts';

export interface Pass {
  readonly inventory: CompleteInventory;
  readonly policy: Policy;
  /** False in a periodic pass; true when eviction forces one (G2). */
  readonly evictNonDeletedPods: boolean;
  /** True while a reclaim is at its images: what was selected waits (P7). */
  readonly waits: boolean;
  /**
   * A command holds so many objects (P4) and none that failed lately (M33). `false` plans the whole pass; in profile
   * `kubelet` it then tries failed ones again, as the kubelet does.
   */
  readonly isForCommand: boolean;
}

export interface ContainerPlan {
  /** In the order in which they go. */
  readonly containers: readonly Selected<DeadContainer>[];
  readonly sandboxes: readonly Selected<PodSandbox>[];
  readonly logs: PodLogPlan['items'];
  /** One for every object. */
  readonly verdicts: readonly Verdict[];
}

/**
 * Containers first, then the sandboxes that are inactive once the planned containers are gone, then logs (G1, H1). A
 * part that could not be read keeps nothing else from going. Throws `TooCostly` beyond the steps that it may take.
 */
export function planPass(pass: Pass, steps = new Steps(MAX_DECISION_STEPS)): ContainerPlan {
  const { inventory, policy } = pass;
  const found = deadContainers(inventory, policy);
  const needed = neededInitContainers(inventory, found.dead, policy);
  const containers = admit(
    'container',
    selectContainers(pass, found),
    roomBeside(pass, 0),
    ({ position, container }) =>
      needed.get(position) ??
      failedLately(container, pass) ??
      idTooLong(container.id, pass) ??
      untrustedLogPath(container.logPath),
  );
  const planned = new Set(containers.planned.map(({ item }) => item.id));
  const selection = selectSandboxes(inventory, policy, removablePodsUngated(pass), planned);
  const sandboxes = admit(
    'sandbox',
    selection.selected,
    roomBeside(pass, planned.size),
    ({ sandbox }) => failedLately(sandbox, pass) ?? idTooLong(sandbox.id, pass),
  );
  const logs = planPodLogs({
    inventory,
    policy,
    removable: removablePods({ ...pass, evictNonDeletedPods: false }),
    gone: gonePods(pass),
    plannedContainers: planned,
    room: roomBeside(pass, planned.size + sandboxes.planned.length),
    withhold: (entry) => failedLately(entry, pass) ?? idTooLong(entry.name, pass),
    steps,
  });
  return {
    containers: containers.planned,
    sandboxes: sandboxes.planned,
    logs: logs.items,
    verdicts: [
      ...inOrder(inventory.containers, containers, keptContainers(found, policy)),
      ...inOrder(inventory.sandboxes, sandboxes, selection.kept),
      ...logs.verdicts,
    ],
  };
}

function failedLately(
  { backoff }: Pick<InventoryImage, 'backoff'>,
  { inventory, policy, isForCommand }: Pass,
): Kept | undefined {
  if (policy.profile === 'kubelet' && !isForCommand) return undefined;
  return backingOff(backoff, inventory.takenAt.wallTimeMs);
}

const idTooLong = (id: string, { isForCommand }: Pass): Kept | undefined =>
  isForCommand ? tooLongForCommand(id) : undefined;

/**
 * What a death took is no longer there for the pass (G23, then G6 to G9). The limit of the node is left out while the
 * dead cannot be counted, or one container would pay for a doubt about another (C5).
 */
function selectContainers(pass: Pass, { dead, canBeCounted }: DeadContainers): Selected<DeadContainer>[] {
  const { inventory } = pass;
  const policy = canBeCounted ? pass.policy : { ...pass.policy, maximumDeadContainers: -1 };
  const gone = removablePodsUngated({ ...pass, evictNonDeletedPods: false });
  const afterDeath = selectAfterDeath(inventory, dead, gone, policy);
  const taken = new Set(afterDeath.map(({ item }) => item.position));
  const evictable = dead.filter(({ position, tooYoung }) => !tooYoung && !taken.has(position));
  return [...afterDeath, ...selectBeyondLimits(evictable, removablePods(pass), policy)];
}

function roomBeside({ waits, isForCommand }: Pass, planned: number): Room {
  if (waits) return { objects: 0, waitBy: 'P7' };
  return { objects: isForCommand ? MAX_COMMAND_ITEMS - planned : Number.POSITIVE_INFINITY, waitBy: 'P4' };
}

/** Dead containers that no rule selects are within the limits (G7). */
function keptContainers({ dead, kept }: DeadContainers, policy: Policy): ReadonlyMap<number, Kept> {
  const limit = policy.maximumDeadContainersPerContainer;
  const withinLimits: Kept = { rule: 'G7', facts: { limit } };
  return new Map([
    ...kept,
    ...dead.map(({ position, tooYoung }) => [position, tooYoung ?? withinLimits] as const),
  ]);
}

function inOrder<Item extends Listed>(
  objects: readonly unknown[],
  { kind, verdicts }: Admission<Item>,
  kept: ReadonlyMap<number, Kept>,
): Verdict[] {
  return objects.flatMap((_, position) => {
    const reason = kept.get(position);
    const verdict = verdicts.get(position) ?? (reason && stays(kind, position, reason));
    return verdict ? [verdict] : [];
  });
}

// In the order of canonical JSON, as in image-gc: what is kept is most of what there is.
const stays = (kind: Verdict['kind'], position: number, { rule, facts }: Kept): Verdict => ({
  action: 'keep',
  facts,
  kind,
  position,
  rule,
});
