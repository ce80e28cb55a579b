import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Kept } from '../../shared/decision/conclusion.ts';
import { oldestFirst } from './age-order.ts';
import type { DeadContainer } from './standing.ts';

/**
 * The newest finished container of each init container of a pod that may restart, by position: without it the kubelet
 * would run the init container again (M28, G17). The kubelet itself does not spare it.
 */
export function neededInitContainers(
  { pods }: Pick<CompleteInventory, 'pods'>,
  dead: readonly DeadContainer[],
  { profile }: Pick<Policy, 'profile'>,
): ReadonlyMap<number, Kept> {
  if (profile === 'kubelet') return new Map();
  const restarting = pods.filter(({ state, runtimeRemovable }) => state === 'known' && !runtimeRemovable);
  const namesOf = new Map(restarting.map(({ uid, initContainers }) => [uid, initContainers]));
  const finished = dead.filter(
    ({ podUid, container: { name, state } }) =>
      state === 'exited' && namesOf.get(podUid)?.includes(name) === true,
  );
  const newest = new Map(finished.toSorted(oldestFirst).map((member) => [member.unit, member]));
  return new Map(
    [...newest.values()].map(({ position }) => [
      position,
      { rule: 'M28', facts: { lastOfItsInitContainer: true } },
    ]),
  );
}
