import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { oldestFirst } from './age-order.ts';
import type { Selected } from './selected.ts';
import type { DeadContainer } from './standing.ts';

/**
 * What goes right after containers died, without asking for their age: exited containers of the same pod and name
 * beyond the newest `max(limit, 1)`, or all exited ones of a pod that is gone (G23). Newest of them first (G24).
 * A negative limit means none here as it does in a pass, so that who asks for no limit is not surprised by a removal;
 * the kubelet keeps one, and so does profile `kubelet`.
 */
export function selectAfterDeath(
  { trigger, diedContainerIds }: CompleteInventory,
  dead: readonly DeadContainer[],
  removable: ReadonlySet<string>,
  policy: Policy,
): Selected<DeadContainer>[] {
  if (trigger !== 'container-died') return [];
  const died = new Set(diedContainerIds);
  const trace = dead.filter(({ id, podUid }) => died.has(id) && podUid !== '');
  const units = new Set(trace.map(({ unit }) => unit));
  const goneUids = new Set(trace.map(({ podUid }) => podUid).filter((uid) => removable.has(uid)));
  const exited = dead.filter(({ container }) => container.state === 'exited');
  const limit = policy.maximumDeadContainersPerContainer;
  const keep = limit < 0 && policy.profile === 'fleetgc' ? exited.length : Math.max(limit, 1);
  const ofLivingPods = exited.filter(({ unit, podUid }) => units.has(unit) && !goneUids.has(podUid));
  return [
    ...exited.filter(({ podUid }) => goneUids.has(podUid)).map((member) => selected(member, 0)),
    ...Map.groupBy(ofLivingPods, ({ unit }) => unit)
      .values()
      .flatMap((members) => members.toSorted(oldestFirst).slice(0, Math.max(0, members.length - keep)))
      .map((member) => selected(member, keep)),
  ].toSorted((a, b) => oldestFirst(b.item, a.item));
}

const selected = (item: DeadContainer, keep: number): Selected<DeadContainer> => ({
  item,
  rule: 'G23',
  facts: { keep },
});
