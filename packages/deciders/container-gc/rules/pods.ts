import type { CompleteInventory, InventoryPod } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { isAmong, listedTwice } from '../../../decision/inventory-checks.ts';

/** What is asked about pods. */
interface PodQuestion {
  readonly inventory: Pick<CompleteInventory, 'pods' | 'allSourcesReady'>;
  readonly policy: Pick<Policy, 'profile'>;
  /** Also pods whose containers have all stopped for good, deleted or not (G2). */
  readonly evictNonDeletedPods: boolean;
}

/**
 * UIDs of the pods of which all dead containers and logs may go: those whose content is removable and, with
 * `evictNonDeletedPods`, those whose containers have all stopped for good (G2, G6, I3). A UID that is not listed, listed
 * twice or unknown is not among them, and none is before every pod source has delivered (A8, K1). In profile `fleetgc`
 * only a pod that is gone counts, in profile `kubelet` the kubelet's word.
 */
export const removablePods = (question: PodQuestion): ReadonlySet<string> =>
  question.inventory.allSourcesReady ? removableByAnswer(question) : new Set();

/** As `removablePods`, where the kubelet does not ask its sources (G23, H4). FleetGC's own profile always does. */
export const removablePodsUngated = (question: PodQuestion): ReadonlySet<string> =>
  question.policy.profile === 'kubelet' ? removableByAnswer(question) : removablePods(question);

/** UIDs of pods that are gone: what goes with one is asked about again before it does. */
export const gonePods = ({ inventory: { pods } }: PodQuestion): ReadonlySet<string> =>
  new Set(pods.filter(({ state }) => state === 'gone').map(({ uid }) => uid));

function removableByAnswer({
  inventory: { pods },
  policy: { profile },
  evictNonDeletedPods,
}: PodQuestion): ReadonlySet<string> {
  const twice = listedTwice(pods.map(({ uid }) => uid));
  const isContentRemovable = profile === 'kubelet' ? saysRemovable : isGone;
  const removable = pods.filter(
    (pod) =>
      !isAmong(twice, pod.uid) && (isContentRemovable(pod) || (evictNonDeletedPods && isTerminated(pod))),
  );
  return new Set(removable.map(({ uid }) => uid));
}

const isGone = ({ state, contentRemovable }: InventoryPod): boolean => state === 'gone' && contentRemovable;

/** Evicted, or deleted and terminated, or gone (A8, A9). */
const saysRemovable = ({ state, contentRemovable }: InventoryPod): boolean =>
  state !== 'unknown' && contentRemovable;

const isTerminated = ({ state, runtimeRemovable }: InventoryPod): boolean =>
  state !== 'unknown' && runtimeRemovable;
