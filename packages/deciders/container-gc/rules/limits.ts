import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Facts } from '../../../decision/conclusion.ts';
import type { RemovedRule } from '../../../decision/rule-text.ts';
import type { Selected } from './admission.ts';
import { NS_PER_MS } from './age.ts';
import { byPlace, type DeadContainer } from './dead-containers.ts';

/** The dead containers of one unit, oldest first. */
type Unit = readonly DeadContainer[];

/** What one step leaves over, and what it takes. */
interface Step {
  readonly units: readonly Unit[];
  readonly selected: readonly Selected<DeadContainer>[];
}

/**
 * One pass over the evictable containers (G6 to G9, M27). Each step goes oldest first, across units too, whose order the
 * kubelet leaves open.
 */
export function selectBeyondLimits(
  evictable: readonly DeadContainer[],
  removable: ReadonlySet<string>,
  policy: Policy,
): Selected<DeadContainer>[] {
  const units = [...Map.groupBy(evictable, ({ unit }) => unit).values()].map((members) =>
    members.toSorted(byPlace),
  );
  const ofGonePods = dropUnits(units, removable);
  const young = dropOlder(ofGonePods.units, policy.maximumDeadContainerAgeMs);
  const perUnit = keepNewestOfUnit(young.units, policy.maximumDeadContainersPerContainer);
  const shared = shareOut(perUnit.units, policy.maximumDeadContainers);
  const total = keepNewestOfNode(shared.units, policy.maximumDeadContainers);
  return [ofGonePods, young, perUnit, shared, total].flatMap((step) =>
    step.selected.toSorted((a, b) => byPlace(a.item, b.item)),
  );
}

/** G6. Units of removed pods are dropped, so they take no share in G8. */
function dropUnits(units: readonly Unit[], removable: ReadonlySet<string>): Step {
  const isRemovable = ([first]: Unit) => first !== undefined && removable.has(first.podUid);
  return {
    units: units.filter((unit) => !isRemovable(unit)),
    selected: units.filter(isRemovable).flatMap((unit) => select(unit, 'G6', { podIsRemovable: true })),
  };
}

/** M27. What ended longer ago than this; what does not say when it ended is not among it. */
function dropOlder(units: readonly Unit[], maximumAgeMs: number | null): Step {
  if (maximumAgeMs === null) return { units, selected: [] };
  const isOlder = ({ endedAgoNs }: DeadContainer) =>
    endedAgoNs !== null && endedAgoNs > BigInt(maximumAgeMs) * NS_PER_MS;
  return {
    units: units.map((unit) => unit.filter((member) => !isOlder(member))),
    selected: units.flatMap((unit) => select(unit.filter(isOlder), 'M27', { maximumAgeMs })),
  };
}

/** G7. Units that it empties still count as units in G8 (G11). */
function keepNewestOfUnit(units: readonly Unit[], limit: number): Step {
  return limit < 0 ? { units, selected: [] } : keepNewest(units, limit, 'G7');
}

/** G8, with a share that is not topped up (G10). */
function shareOut(units: readonly Unit[], limit: number): Step {
  if (limit < 0 || count(units) <= limit) return { units, selected: [] };
  return keepNewest(units, Math.max(1, Math.floor(limit / units.length)), 'G8');
}

/** G9. With a limit of 0 it takes every evictable container (G12). */
function keepNewestOfNode(units: readonly Unit[], limit: number): Step {
  const left = count(units);
  if (limit < 0 || left <= limit) return { units, selected: [] };
  const oldest = units
    .flat()
    .toSorted(byPlace)
    .slice(0, left - limit);
  return { units, selected: select(oldest, 'G9', { limit, left }) };
}

const keepNewest = (units: readonly Unit[], limit: number, rule: RemovedRule): Step => ({
  units: units.map((unit) => unit.slice(excess(unit, limit))),
  selected: units.flatMap((unit) => select(unit.slice(0, excess(unit, limit)), rule, { limit })),
});

const excess = (unit: Unit, limit: number): number => Math.max(0, unit.length - limit);

const count = (units: readonly Unit[]): number => units.reduce((sum, { length }) => sum + length, 0);

const select = (
  containers: readonly DeadContainer[],
  rule: RemovedRule,
  facts: Facts,
): Selected<DeadContainer>[] => containers.map((item) => ({ item, rule, facts }));

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
      .flatMap((members) => members.toSorted(byPlace).slice(0, Math.max(0, members.length - keep)))
      .map((member) => selected(member, keep)),
  ].toSorted((a, b) => byPlace(b.item, a.item));
}

const selected = (item: DeadContainer, keep: number): Selected<DeadContainer> => ({
  item,
  rule: 'G23',
  facts: { keep },
});
