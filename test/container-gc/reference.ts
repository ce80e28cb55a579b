import type { CompleteInventory, InventoryContainer, InventorySandbox } from '../../schemas/inventory.ts';
import type { Policy } from '../../schemas/policy.ts';

/**
 * Sections G and H once more, written down sentence by sentence without a thought for speed or shape, to compare the
 * decider with. It knows nothing of back-off, doubles, log paths, limits of a command or deaths.
 */
export function referencePass(inventory: CompleteInventory, policy: Policy) {
  const containers = referenceContainers(inventory, policy);
  return { containers, sandboxes: referenceSandboxes(inventory, containers) };
}

const newestFirst = (
  a: { id: string; createdAtNs: string },
  b: { id: string; createdAtNs: string },
): number => {
  const difference = BigInt(b.createdAtNs) - BigInt(a.createdAtNs);
  if (difference !== 0n) return difference > 0n ? 1 : -1;
  return a.id < b.id ? 1 : -1;
};

const contentRemovable = ({ pods, allSourcesReady }: CompleteInventory, uid: string): boolean =>
  allSourcesReady && pods.some((pod) => pod.uid === uid && pod.state === 'gone' && pod.contentRemovable);

function referenceContainers(inventory: CompleteInventory, policy: Policy): string[] {
  const now = BigInt(inventory.takenAt.wallTimeMs) * 1_000_000n;
  const minimumAge = ({ state }: InventoryContainer): number =>
    state === 'created'
      ? Math.max(policy.minimumContainerTTLMs, policy.minimumCreatedContainerAgeMs)
      : policy.minimumContainerTTLMs;
  let left = inventory.containers.filter((container) => {
    if (container.pod === null || container.state === 'running') return false;
    return !(BigInt(container.createdAtNs) > now - BigInt(minimumAge(container)) * 1_000_000n);
  });
  const gone: string[] = [];
  const unitOf = ({ pod, name }: InventoryContainer): string => JSON.stringify([pod?.uid, name]);
  const take = (taken: InventoryContainer[]): void => {
    gone.push(
      ...taken
        .toSorted(newestFirst)
        .toReversed()
        .map(({ id }) => id),
    );
    left = left.filter((container) => !taken.includes(container));
  };
  // G6
  take(left.filter(({ pod }) => contentRemovable(inventory, pod?.uid ?? '')));
  const units = new Set(left.map(unitOf));
  const beyond = (keep: number): InventoryContainer[] =>
    [...units].flatMap((unit) =>
      left
        .filter((one) => unitOf(one) === unit)
        .toSorted(newestFirst)
        .slice(keep),
    );
  // G7
  const perContainer = policy.maximumDeadContainersPerContainer;
  if (perContainer >= 0) take(beyond(perContainer));
  // G8, G9
  const total = policy.maximumDeadContainers;
  if (total >= 0 && left.length > total) take(beyond(Math.max(1, Math.floor(total / units.size))));
  if (total >= 0 && left.length > total) take(left.toSorted(newestFirst).slice(total));
  return gone;
}

function referenceSandboxes(inventory: CompleteInventory, removedContainers: readonly string[]): string[] {
  const isActive = ({ id, state }: InventorySandbox): boolean =>
    state === 'ready' ||
    inventory.containers.some(
      (container) => container.sandboxId === id && !removedContainers.includes(container.id),
    );
  const ours = inventory.sandboxes.filter(({ pod }) => pod !== null);
  const gone = ours.filter((sandbox) => {
    const ofPod = ours.filter(({ podUid }) => podUid === sandbox.podUid).toSorted(newestFirst);
    const isNewest = ofPod[0] === sandbox;
    return !isActive(sandbox) && (contentRemovable(inventory, sandbox.podUid) || !isNewest);
  });
  return gone
    .toSorted(newestFirst)
    .toReversed()
    .map(({ id }) => id);
}
