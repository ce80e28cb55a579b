import type { CompleteInventory, InventoryPod } from '../../../schemas/inventory.ts';
import { listedTwice } from '../../shared/decision/listing.ts';

/**
 * UIDs of the pods of which all dead containers and inactive sandboxes may go: those whose content is removable and,
 * with `evictNonDeletedPods`, those whose containers have all stopped for good (G2, G6, H2). A UID that is not listed,
 * listed twice or unknown is not among them, and none is before every pod source has delivered (A8, K1).
 */
export function removablePods(
  { pods, allSourcesReady }: CompleteInventory,
  evictNonDeletedPods: boolean,
): ReadonlySet<string> {
  if (!allSourcesReady) return new Set();
  const twice = listedTwice(pods.map(({ uid }) => uid));
  const removable = pods.filter(
    (pod) => !twice.has(pod.uid) && (isGone(pod) || (evictNonDeletedPods && isTerminated(pod))),
  );
  return new Set(removable.map(({ uid }) => uid));
}

const isGone = ({ state, contentRemovable }: InventoryPod): boolean => state === 'gone' && contentRemovable;

const isTerminated = ({ state, runtimeRemovable }: InventoryPod): boolean =>
  state !== 'unknown' && runtimeRemovable;
