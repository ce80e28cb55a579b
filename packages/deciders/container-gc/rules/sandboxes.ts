import type { CompleteInventory, InventorySandbox } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Kept } from '../../../decision/conclusion.ts';
import { endOf, isAmong, listedTwice } from '../../../decision/inventory-checks.ts';
import { NS_PER_MS, oldestFirst } from './age.ts';
import type { Listed, Selected } from './dead-containers.ts';
import { keptByNamespace } from './pods.ts';

/** A sandbox that is ours and whose age is believed. */
export interface PodSandbox extends Listed {
  readonly podUid: string;
  readonly sandbox: InventorySandbox;
  /** Ready, or named by a container that stays: never removed (H1, H3). */
  readonly active: Kept | undefined;
}

interface SandboxSelection {
  readonly selected: readonly Selected<PodSandbox>[];
  /** By position. */
  readonly kept: ReadonlyMap<number, Kept>;
}

/** The sandboxes that go once the planned containers are gone, oldest first (H1 to H5). */
export function selectSandboxes(
  inventory: CompleteInventory,
  policy: Policy,
  removable: ReadonlySet<string>,
  plannedContainers: ReadonlySet<string>,
): SandboxSelection {
  const kept = new Map<number, Kept>();
  const ours = sandboxesOfPods(inventory, policy, plannedContainers, kept);
  const newest = newestOfEachPod(ours);
  const selected: Selected<PodSandbox>[] = [];
  for (const item of ours.toSorted(oldestFirst)) {
    const { position, podUid, active } = item;
    const reason = active ?? (removable.has(podUid) ? undefined : notOlder(item, newest.get(podUid)));
    if (reason) kept.set(position, reason);
    else selected.push({ item, rule: 'H2', facts: { podIsRemovable: removable.has(podUid) } });
  }
  return { selected, kept };
}

function sandboxesOfPods(
  { sandboxes, containers, takenAt }: CompleteInventory,
  policy: Policy,
  plannedContainers: ReadonlySet<string>,
  kept: Map<number, Kept>,
): PodSandbox[] {
  const twice = listedTwice(sandboxes.map(({ id }) => id));
  const nowNs = BigInt(takenAt.wallTimeMs) * NS_PER_MS;
  const ends = new Set(sandboxes.filter(({ state }) => state !== 'ready').map(({ id }) => endOf(id)));
  const staying = containers.filter(
    ({ id, sandboxId }) => ends.has(endOf(sandboxId)) && !plannedContainers.has(id),
  );
  const occupied = new Map(staying.map(({ sandboxId, id }) => [sandboxId, id]));
  return sandboxes.flatMap((sandbox, position) => {
    const { id, podUid } = sandbox;
    const createdAtNs = BigInt(sandbox.createdAtNs);
    const reason = isAmong(twice, id) ? LISTED_TWICE : untouchable(sandbox, nowNs, policy);
    if (reason) {
      kept.set(position, reason);
      return [];
    }
    return [{ position, id, podUid, createdAtNs, sandbox, active: activity(sandbox, occupied) }];
  });
}

/** The kubelet asks neither for labels nor for the time (H4). */
function untouchable(sandbox: InventorySandbox, nowNs: bigint, policy: Policy): Kept | undefined {
  const doubt =
    policy.profile === 'fleetgc'
      ? (notOurs(sandbox) ?? createdLater(BigInt(sandbox.createdAtNs), nowNs))
      : undefined;
  return doubt ?? keptByNamespace(sandbox.pod?.namespace, policy);
}

const LISTED_TWICE: Kept = { rule: 'C5', facts: { listedTwice: true } };

/** Without the kubelet's labels, or with labels that contradict the metadata (A12, M41). */
const notOurs = ({ pod, podUid }: InventorySandbox): Kept | undefined =>
  podUid !== '' && pod?.uid === podUid ? undefined : { rule: 'M41', facts: { kubeletLabels: false } };

/** `occupied` tells of a sandbox that is not ready which staying container names it. */
function activity({ id, state }: InventorySandbox, occupied: ReadonlyMap<string, string>): Kept | undefined {
  if (state === 'ready') return { rule: 'H1', facts: { state } };
  const container = occupied.get(id);
  return container === undefined ? undefined : { rule: 'H1', facts: { state, container } };
}

/** Its age is not known, so it is kept, and makes no other sandbox of its pod an older one. */
const createdLater = (createdAtNs: bigint, nowNs: bigint): Kept | undefined =>
  createdAtNs > nowNs ? { rule: 'H7', facts: { createdAfterInventory: true } } : undefined;

/** The newest counts whether it is active or not (H2). */
const newestOfEachPod = (sandboxes: readonly PodSandbox[]): ReadonlyMap<string, PodSandbox> =>
  new Map(sandboxes.toSorted(oldestFirst).map((sandbox) => [sandbox.podUid, sandbox]));

/** A pod that is not gone keeps its newest sandbox, which may be just being created (H7). */
function notOlder(sandbox: PodSandbox, newest: PodSandbox | undefined): Kept | undefined {
  const isOlder = newest !== undefined && oldestFirst(sandbox, newest) < 0;
  return isOlder ? undefined : { rule: 'H2', facts: { newestOfItsPod: true } };
}
