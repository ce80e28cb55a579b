import type { Kept } from '../../../packages/decision/conclusion.ts';
import { isAmong, listedTwice } from '../../../packages/decision/listing.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { oldestFirst } from './age-order.ts';
import { removablePods } from './pods.ts';
import type { DeadContainer } from './standing.ts';

/**
 * The newest finished container of each init container of a pod that may restart, by position: without it the kubelet
 * would run the init container again (M28, G17). Where it is not known which containers those are, any can be one. The
 * kubelet itself spares none.
 */
export function neededInitContainers(
  inventory: Pick<CompleteInventory, 'pods' | 'allSourcesReady'>,
  dead: readonly DeadContainer[],
  policy: Pick<Policy, 'profile'>,
): ReadonlyMap<number, Kept> {
  if (policy.profile === 'kubelet') return new Map();
  const ended = removablePods({ inventory, policy, evictNonDeletedPods: true });
  const namesOf = toldInitContainers(inventory.pods);
  const finished = dead.filter(({ podUid, container: { name, state } }) => {
    const mayBeInit = namesOf.get(podUid)?.includes(name) ?? true;
    return state === 'exited' && mayBeInit && !ended.has(podUid);
  });
  const newest = new Map(finished.toSorted(oldestFirst).map((member) => [member.unit, member]));
  return new Map(
    [...newest.values()].map(({ position, podUid }) => [
      position,
      { rule: 'M28', facts: { lastOfItsUnit: true, initContainersKnown: namesOf.has(podUid) } },
    ]),
  );
}

/** By pod UID. A pod that is listed twice, or that the kubelet does not know, has told nothing. */
function toldInitContainers(pods: CompleteInventory['pods']): ReadonlyMap<string, readonly string[]> {
  const twice = listedTwice(pods.map(({ uid }) => uid));
  return new Map(
    pods.flatMap(({ uid, state, initContainers }) =>
      state === 'known' && initContainers !== null && !isAmong(twice, uid) ? [[uid, initContainers]] : [],
    ),
  );
}
