import type {
  CompleteInventory,
  InventoryContainer,
  InventorySandbox,
} from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';

/**
 * Sections G, H and I once more, for both profiles, written down sentence by sentence without a thought for speed or
 * shape, to compare the decider with. It knows nothing of backoff, doubles, log paths, limits of a command or deaths.
 */
export function referencePass(inventory: CompleteInventory, policy: Policy) {
  const containers = referenceContainers(inventory, policy);
  const sandboxes = referenceSandboxes(inventory, policy, containers);
  return { containers, sandboxes, logs: referenceLogs(inventory, policy, containers) };
}

const isKubelet = ({ profile }: Policy): boolean => profile === 'kubelet';
const nowOf = ({ takenAt }: CompleteInventory): bigint => BigInt(takenAt.wallTimeMs) * 1_000_000n;

/** When something was stamped, or the time from which on the clock is known not to have been set, which FleetGC counts from. */
function agedFrom(stampNs: bigint, inventory: CompleteInventory, policy: Policy): bigint {
  const { clockSteadySinceMs, takenAt } = inventory;
  if (isKubelet(policy)) return stampNs;
  const vouchedMs = Math.min(clockSteadySinceMs ?? takenAt.wallTimeMs, takenAt.wallTimeMs);
  return stampNs > BigInt(vouchedMs) * 1_000_000n ? stampNs : BigInt(vouchedMs) * 1_000_000n;
}

const newestFirst = (
  a: { id: string; createdAtNs: string },
  b: { id: string; createdAtNs: string },
): number => {
  const difference = BigInt(b.createdAtNs) - BigInt(a.createdAtNs);
  if (difference !== 0n) return difference > 0n ? 1 : -1;
  return a.id < b.id ? 1 : -1;
};
const oldestFirst = <T extends { id: string; createdAtNs: string }>(objects: readonly T[]): T[] =>
  objects.toSorted(newestFirst).toReversed();

/** A8, per profile: FleetGC believes only that a pod is gone, and nothing before all sources have delivered. */
function contentRemovable(
  { pods, allSourcesReady }: CompleteInventory,
  policy: Policy,
  uid: string,
): boolean {
  const pod = pods.find((one) => one.uid === uid);
  if (pod === undefined) return false;
  if (isKubelet(policy)) return pod.state !== 'unknown' && pod.contentRemovable;
  return allSourcesReady && pod.state === 'gone' && pod.contentRemovable;
}

/** Less than 15 % of the one disk of these nodes are available: the strictest of a policy's defaults. */
const isPressed = ({ filesystems: { imagefs } }: CompleteInventory): boolean =>
  Number(imagefs?.availableBytes) * 100 < 15 * Number(imagefs?.capacityBytes);

/** G2: an eviction signal takes pods in whose containers have all stopped. */
function terminatedIfForced(inventory: CompleteInventory, policy: Policy, uid: string): boolean {
  if (inventory.reclaim?.cause.signal !== 'nodefs.available' || !isPressed(inventory)) return false;
  if (!isKubelet(policy) && !inventory.allSourcesReady) return false;
  return inventory.pods.some((pod) => pod.uid === uid && pod.state !== 'unknown' && pod.runtimeRemovable);
}

const isKept = (namespace: string | undefined, { keep }: Policy): boolean =>
  keep.namespaces.length > 0 && (namespace === undefined || keep.namespaces.includes(namespace));

function isEvictable(container: InventoryContainer, inventory: CompleteInventory, policy: Policy): boolean {
  const now = nowOf(inventory);
  const { state, pod, createdAtNs, finishedAtNs } = container;
  const created = BigInt(createdAtNs);
  if (state === 'running' || isKept(pod?.namespace, policy)) return false;
  const minimum = BigInt(policy.minimumContainerTTLMs) * 1_000_000n;
  if (isKubelet(policy)) return !(created > now - minimum);
  if (pod === null || created > now) return false;
  const createdMinimum = BigInt(policy.minimumCreatedContainerAgeMs) * 1_000_000n;
  const from = (stampNs: bigint): bigint => agedFrom(stampNs, inventory, policy);
  if (state === 'created' && from(created) > now - createdMinimum) return false;
  const hasExit = state === 'exited' && finishedAtNs !== null && BigInt(finishedAtNs) >= created;
  return !(from(hasExit ? BigInt(finishedAtNs) : created) > now - minimum);
}

const unitOf = ({ pod, name }: InventoryContainer): string => JSON.stringify([pod?.uid ?? '', name]);

function referenceContainers(inventory: CompleteInventory, policy: Policy): string[] {
  let left = inventory.containers.filter((container) => isEvictable(container, inventory, policy));
  const gone: string[] = [];
  const take = (taken: InventoryContainer[]): void => {
    gone.push(...oldestFirst(taken).map(({ id }) => id));
    left = left.filter((container) => !taken.includes(container));
  };
  // G6
  const ofRemovedPod = ({ pod }: InventoryContainer): boolean =>
    contentRemovable(inventory, policy, pod?.uid ?? '') ||
    terminatedIfForced(inventory, policy, pod?.uid ?? '');
  if (inventory.allSourcesReady) take(left.filter(ofRemovedPod));
  const units = new Set(left.map(unitOf));
  const beyond = (keep: number): InventoryContainer[] =>
    [...units].flatMap((unit) =>
      left
        .filter((one) => unitOf(one) === unit)
        .toSorted(newestFirst)
        .slice(keep),
    );
  // M27
  const maximum = policy.maximumDeadContainerAgeMs;
  if (maximum !== null)
    take(
      left.filter((one) => {
        const ended = endOf(one);
        return (
          ended !== null &&
          agedFrom(ended, inventory, policy) < nowOf(inventory) - BigInt(maximum) * 1_000_000n
        );
      }),
    );
  // G7
  const perContainer = policy.maximumDeadContainersPerContainer;
  if (perContainer >= 0) take(beyond(perContainer));
  // G8, G9
  const total = policy.maximumDeadContainers;
  if (total >= 0 && left.length > total) take(beyond(Math.max(1, Math.floor(total / units.size))));
  if (total >= 0 && left.length > total) take(left.toSorted(newestFirst).slice(total));
  const spared = isKubelet(policy) ? [] : lastInitContainers(inventory, policy);
  return gone.filter((id) => !spared.includes(id));
}

const endOf = ({ state, finishedAtNs, createdAtNs }: InventoryContainer): bigint | null =>
  state === 'exited' && finishedAtNs !== null && BigInt(finishedAtNs) >= BigInt(createdAtNs)
    ? BigInt(finishedAtNs)
    : null;

/** M28. Of each container that may be an init container of a pod that may restart, the newest that has finished. */
function lastInitContainers(inventory: CompleteInventory, policy: Policy): string[] {
  const mayRun = ({ pod, name }: InventoryContainer): boolean => {
    const told = inventory.pods.find(({ uid }) => uid === pod?.uid);
    const isGone = told?.state === 'gone' && told.contentRemovable;
    const hasEnded = told !== undefined && told.state !== 'unknown' && told.runtimeRemovable;
    if (inventory.allSourcesReady && (isGone || hasEnded)) return false;
    return told?.state !== 'known' || told.initContainers === null || told.initContainers.includes(name);
  };
  const finished = inventory.containers
    .filter((one) => one.pod !== null && one.state === 'exited' && mayRun(one))
    .filter((one) => BigInt(one.createdAtNs) <= nowOf(inventory) && !isKept(one.pod?.namespace, policy));
  return [...Map.groupBy(finished, unitOf).values()].flatMap((members) =>
    members
      .toSorted(newestFirst)
      .slice(0, 1)
      .map(({ id }) => id),
  );
}

function referenceSandboxes(
  inventory: CompleteInventory,
  policy: Policy,
  removedContainers: readonly string[],
): string[] {
  const isActive = ({ id, state }: InventorySandbox): boolean =>
    state === 'ready' ||
    inventory.containers.some(
      (container) => container.sandboxId === id && !removedContainers.includes(container.id),
    );
  const isOurs = ({ pod, createdAtNs }: InventorySandbox): boolean =>
    isKubelet(policy) || (pod !== null && BigInt(createdAtNs) <= nowOf(inventory));
  const ours = inventory.sandboxes.filter((one) => isOurs(one) && !isKept(one.pod?.namespace, policy));
  const gone = ours.filter((sandbox) => {
    const { podUid } = sandbox;
    const newest = ours.filter((other) => other.podUid === podUid).toSorted(newestFirst)[0];
    const isRemovable =
      contentRemovable(inventory, policy, podUid) || terminatedIfForced(inventory, policy, podUid);
    return !isActive(sandbox) && (isRemovable || newest !== sandbox);
  });
  return oldestFirst(gone).map(({ id }) => id);
}

/** I2, M41: FleetGC takes an entry for a pod's only where it ends in what a UID looks like. */
const isOfAPod = (name: string): boolean => {
  const fields = name.split('_');
  return (
    [1, 3].includes(fields.length) && /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(fields.at(-1) ?? '')
  );
};

function referenceLogs(
  inventory: CompleteInventory,
  policy: Policy,
  removedContainers: readonly string[],
): string[] {
  const { podLogDirectories, logSymlinks, allSourcesReady, containers, sandboxes } = inventory;
  const runs = (uid: string): boolean =>
    containers.some(({ state, pod }) => state === 'running' && pod?.uid === uid) ||
    sandboxes.some(({ state, pod, podUid }) => state === 'ready' && [podUid, pod?.uid].includes(uid));
  // I1 to I3; what ends in `_` names no pod, and is kept in both profiles.
  const directories = (podLogDirectories ?? []).filter(({ name }) => {
    const fields = name.split('_');
    const uid = fields.at(-1) ?? '';
    if (!allSourcesReady || uid === '' || !contentRemovable(inventory, policy, uid)) return false;
    if (!isKubelet(policy) && (!isOfAPod(name) || runs(uid))) return false;
    return !isKept(fields.length === 3 ? fields[0] : undefined, policy);
  });
  // I4 to I8
  const skipped = podLogDirectories === null && (allSourcesReady || !isKubelet(policy));
  const links = (skipped ? [] : (logSymlinks ?? [])).filter(({ name, container }) => {
    const id = /-([^-]{6,})\.log$/.exec(name)?.[1];
    const exact = containers.filter((one) => one.id === id);
    const meant =
      exact.length > 0 || id === undefined ? exact : containers.filter((one) => one.id.startsWith(id));
    const saysGone = isKubelet(policy)
      ? ['unreadable', 'no-answer', 'exited'].includes(container)
      : ['no-answer', 'exited'].includes(container) &&
        id !== undefined &&
        meant.every(({ state }) => state === 'exited');
    const goesWithContainer = meant[0] !== undefined && removedContainers.includes(meant[0].id);
    const fields = name.split('_');
    return saysGone && !goesWithContainer && !isKept(fields.length === 3 ? fields[1] : undefined, policy);
  });
  return [...directories, ...links].map(({ name }) => name);
}
