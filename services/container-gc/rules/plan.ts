import { MAX_COMMAND_ITEMS } from '../../../schemas/command.ts';
import type { Verdict } from '../../../schemas/decision.ts';
import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Kept } from '../../shared/decision/conclusion.ts';
import { backingOff } from '../../shared/decision/listing.ts';
import { type Admission, admit, type Room } from './admission.ts';
import { selectAfterDeath } from './after-death.ts';
import { selectBeyondLimits } from './limits.ts';
import { untrustedLogPath } from './log-path.ts';
import { removablePods } from './pods.ts';
import { type PodSandbox, selectSandboxes } from './sandboxes.ts';
import type { Listed, Selected } from './selected.ts';
import { type DeadContainer, type Standing, standing } from './standing.ts';

export interface Pass {
  readonly inventory: CompleteInventory;
  readonly policy: Policy;
  /** False in a periodic pass; true when eviction forces one (G2). */
  readonly evictNonDeletedPods: boolean;
  /** True while a reclaim is at its images: what was selected waits (P7). */
  readonly waits: boolean;
}

export interface ContainerPlan {
  /** In the order in which they go. */
  readonly containers: readonly Selected<DeadContainer>[];
  readonly sandboxes: readonly Selected<PodSandbox>[];
  /** One for every object, in the order of the inventory. */
  readonly verdicts: { readonly containers: Verdict[]; readonly sandboxes: Verdict[] };
}

/** Containers first, then the sandboxes that are inactive once the planned containers are gone (G1, H1). */
export function planPass(pass: Pass): ContainerPlan {
  const { inventory, policy } = pass;
  const nowMs = inventory.takenAt.wallTimeMs;
  const stand = standing(inventory, policy);
  const containers = admit(
    selectContainers(pass, stand),
    roomBeside(pass, 0),
    ({ container }) => backingOff(container.backoff, nowMs) ?? untrustedLogPath(container.logPath),
  );
  const planned = new Set(containers.planned.map(({ item }) => item.id));
  const selection = selectSandboxes(inventory, removableIn(pass), planned);
  const sandboxes = admit(selection.selected, roomBeside(pass, planned.size), ({ sandbox }) =>
    backingOff(sandbox.backoff, nowMs),
  );
  return {
    containers: containers.planned,
    sandboxes: sandboxes.planned,
    verdicts: {
      containers: inOrder(inventory.containers, containers, keptContainers(stand, policy)),
      sandboxes: inOrder(inventory.sandboxes, sandboxes, selection.kept),
    },
  };
}

/**
 * What a death took is no longer there for the pass (G23, then G6 to G9). The limit of the node is left out while the
 * dead cannot be counted, or one container would pay for a doubt about another (C5).
 */
function selectContainers(pass: Pass, { dead, canBeCounted }: Standing): Selected<DeadContainer>[] {
  const { inventory } = pass;
  const policy = canBeCounted ? pass.policy : { ...pass.policy, maximumDeadContainers: -1 };
  const afterDeath = selectAfterDeath(inventory, dead, removablePods(inventory, false), policy);
  const taken = new Set(afterDeath.map(({ item }) => item.position));
  const evictable = dead.filter(({ position, tooYoung }) => !tooYoung && !taken.has(position));
  return [...afterDeath, ...selectBeyondLimits(evictable, removableIn(pass), policy)];
}

const removableIn = ({ inventory, evictNonDeletedPods }: Pass): ReadonlySet<string> =>
  removablePods(inventory, evictNonDeletedPods);

const roomBeside = ({ waits }: Pass, planned: number): Room =>
  waits ? { objects: 0, waitBy: 'P7' } : { objects: MAX_COMMAND_ITEMS - planned, waitBy: 'P4' };

/** Dead containers that no rule selects are within the limits (G7). */
function keptContainers({ dead, kept }: Standing, policy: Policy): ReadonlyMap<number, Kept> {
  const limit = policy.maximumDeadContainersPerContainer;
  const withinLimits: Kept = { rule: 'G7', facts: { limit } };
  return new Map([
    ...kept,
    ...dead.map(({ position, tooYoung }) => [position, tooYoung ?? withinLimits] as const),
  ]);
}

function inOrder<Item extends Listed>(
  objects: readonly unknown[],
  { verdicts }: Admission<Item>,
  kept: ReadonlyMap<number, Kept>,
): Verdict[] {
  return objects.flatMap((_, position) => {
    const reason = kept.get(position);
    const verdict = verdicts.get(position) ?? (reason && ({ position, action: 'keep', ...reason } as const));
    return verdict ? [verdict] : [];
  });
}
