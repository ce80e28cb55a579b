import type { Verdict } from '../../../../schemas/events/decision.ts';
import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Facts, Kept } from '../../../decision/conclusion.ts';
import { isAmong, listedTwice } from '../../../decision/inventory-checks.ts';
import type { OwnRule } from '../../../decision/own-rules.ts';
import type { KeptRule, RemovedRule } from '../../../decision/rule-text.ts';
import {
  type Age,
  type AgeClock,
  type Aged,
  ageClock,
  agedNs,
  ageOf,
  NS_PER_MS,
  oldestFirst,
} from './age.ts';
import { keptByNamespace, removablePods } from './pods.ts';

/** A dead container that is ours, with what the rules compare of it. */
export interface DeadContainer extends Listed {
  /** Among all dead ones, the oldest first: they are sorted once, since dates and ids take long to compare. */
  readonly place: number;
  readonly podUid: string;
  /** See `unitOf`. */
  readonly unit: string;
  readonly container: InventoryContainer;
  /** How long ago it certainly ended; `null` where that is not known. */
  readonly endedAgoNs: bigint | null;
  /** Why it is too young for a pass; `undefined` when it is evictable (G3). */
  readonly tooYoung: Kept | undefined;
}

/** Every container of the inventory: dead and ours, or kept whatever the limits. */
export interface DeadContainers {
  readonly dead: readonly DeadContainer[];
  /** By position. */
  readonly kept: ReadonlyMap<number, Kept>;
  /** False when a container is listed twice, so that nobody can say how many there are. */
  readonly canBeCounted: boolean;
}

export function deadContainers(inventory: CompleteInventory, policy: Policy): DeadContainers {
  const { containers } = inventory;
  const twice = listedTwice(containers.map(({ id }) => id));
  const uncounted = new Set(containers.filter(({ id }) => isAmong(twice, id)).map(unitOf));
  const clock = ageClock(inventory, policy);
  const kept = new Map<number, Kept>();
  const dead: Unplaced[] = [];
  for (const [position, container] of containers.entries()) {
    const doubt = uncounted.has(unitOf(container)) ? UNIT_UNCOUNTED : undefined;
    const reason = isAmong(twice, container.id)
      ? LISTED_TWICE
      : (untouchable(container, clock.nowNs, policy) ?? doubt);
    if (reason) kept.set(position, reason);
    else dead.push(toDead(position, container, clock, policy));
  }
  return { dead: placed(dead), kept, canBeCounted: twice.size === 0 };
}

type Unplaced = Omit<DeadContainer, 'place'>;

/** In the order of the inventory. */
function placed(dead: readonly Unplaced[]): DeadContainer[] {
  const places = new Map(dead.toSorted(oldestFirst).map((member, place) => [member, place]));
  return dead.map((member) => ({ ...member, place: places.get(member) ?? 0 }));
}

/** As `oldestFirst`. */
const byPlace = (a: DeadContainer, b: DeadContainer): number => a.place - b.place;

const LISTED_TWICE: Kept = { rule: 'C5', facts: { listedTwice: true } };
/** Of a pod and name of which one is listed twice, limits cannot say which one is beyond them. */
const UNIT_UNCOUNTED: Kept = { rule: 'C5', facts: { unitListedTwice: true } };

/** Pod UID and container name: what limits are counted per. */
const unitOf = ({ pod, name }: InventoryContainer): string => JSON.stringify([pod?.uid ?? '', name]);

/**
 * Running (G3, K2), or in a namespace that is kept. In profile `fleetgc` also not ours (A12, M41), or created after the
 * inventory was taken, so that its age is unknown; the kubelet files what has no UID under the empty one.
 */
function untouchable(container: InventoryContainer, nowNs: bigint, policy: Policy): Kept | undefined {
  const { pod, name, state, createdAtNs } = container;
  const isFleetGc = policy.profile === 'fleetgc';
  if (isFleetGc && (!pod?.uid || name === '')) return { rule: 'M41', facts: { kubeletLabels: false } };
  if (state === 'running') return { rule: 'G3', facts: { state } };
  const ageNs = nowNs - BigInt(createdAtNs);
  if (isFleetGc && ageNs < 0n) return { rule: 'G3', facts: { state, ageMs: toMs(ageNs) } };
  return keptByNamespace(pod?.namespace, policy);
}

function toDead(position: number, container: InventoryContainer, clock: AgeClock, policy: Policy): Unplaced {
  const podUid = container.pod?.uid ?? '';
  const createdAtNs = BigInt(container.createdAtNs);
  const age = ageOf(container, createdAtNs, clock);
  return {
    position,
    id: container.id,
    podUid,
    unit: unitOf(container),
    createdAtNs,
    container,
    endedAgoNs: age.from === 'exit' ? age.ns : null,
    tooYoung: tooYoung(container, age, clock, policy),
  };
}

/** Younger than the minimum, or not begun to age: what is said to have ended after the inventory is not believed. */
function tooYoung(
  { state, createdAtNs }: InventoryContainer,
  { ns, from }: Age,
  clock: AgeClock,
  policy: Policy,
): Kept | undefined {
  const younger = (rule: KeptRule, ageNs: bigint, minimumAgeMs: number): Kept | undefined =>
    ageNs < BigInt(minimumAgeMs) * NS_PER_MS
      ? { rule, facts: { state, ageMs: toMs(ageNs), minimumAgeMs } }
      : undefined;
  const isAwaited = state === 'created' && policy.profile === 'fleetgc';
  const created = isAwaited
    ? younger('M32', agedNs(BigInt(createdAtNs), clock), policy.minimumCreatedContainerAgeMs)
    : undefined;
  return created ?? younger(from === 'exit' ? 'M26' : 'G3', ns, policy.minimumContainerTTLMs);
}

const toMs = (ns: bigint): number => Number(ns / NS_PER_MS);

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
  const namesOf = reportedInitContainers(inventory.pods);
  const finished = dead.filter(({ podUid, container: { name, state } }) => {
    const mayBeInit = namesOf.get(podUid)?.has(name) ?? true;
    return state === 'exited' && mayBeInit && !ended.has(podUid);
  });
  const newest = new Map(finished.toSorted(byPlace).map((member) => [member.unit, member]));
  return new Map(
    [...newest.values()].map(({ position, podUid }) => [
      position,
      { rule: 'M28', facts: { lastOfItsUnit: true, initContainersKnown: namesOf.has(podUid) } },
    ]),
  );
}

/** By pod UID. A pod that is listed twice, or that the kubelet does not know, has told nothing. */
function reportedInitContainers(pods: CompleteInventory['pods']): ReadonlyMap<string, ReadonlySet<string>> {
  const twice = listedTwice(pods.map(({ uid }) => uid));
  return new Map(
    pods.flatMap(({ uid, state, initContainers }) =>
      state === 'known' && initContainers !== null && !isAmong(twice, uid)
        ? [[uid, new Set(initContainers)]]
        : [],
    ),
  );
}

/** What a pattern of log files would take as more than a name (G20). */
const GLOB_CHARACTERS = /[*?[\]{}\\]/;

/**
 * A container goes with its log files. The executor refuses a path that it cannot trust, so a command with such a
 * container would only lose a place to it. A path that the runtime did not tell is left to the executor, who asks again.
 */
export function untrustedLogPath(logPath: string | null): Kept | undefined {
  if (logPath === null || isTrusted(logPath)) return undefined;
  return { rule: 'G20', facts: { logPath } };
}

const isTrusted = (path: string): boolean =>
  path.startsWith('/') && !LEADS_UP.test(path) && !GLOB_CHARACTERS.test(path);

/** Nothing is taken apart, since a path may be long. */
const LEADS_UP = /(?:^|\/)\.\.(?:\/|$)/;

/** A container or sandbox by its position in the inventory's list. */
export interface Listed extends Aged {
  readonly position: number;
}

/** An object that is to go by a rule, before backoff and the size of a command are asked. */
export interface Selected<Item extends Listed> {
  readonly item: Item;
  readonly rule: RemovedRule;
  readonly facts: Facts;
}

/** How many more objects the command takes, and the rule by which the others wait. */
export interface Room {
  readonly objects: number;
  readonly waitBy: OwnRule;
}

export interface Admission<Item extends Listed> {
  readonly kind: Verdict['kind'];
  /** In the order in which they go. */
  readonly planned: readonly Selected<Item>[];
  /** Of all that were selected, by position. */
  readonly verdicts: ReadonlyMap<number, Verdict>;
}

/**
 * Takes what was selected into the command, as far as there is room. What is withheld counts as done for its limits,
 * so that it costs no other object its place (G14).
 */
export function admit<Item extends Listed>(
  kind: Verdict['kind'],
  selected: readonly Selected<Item>[],
  room: Room,
  withhold: (item: Item) => Kept | undefined,
): Admission<Item> {
  const planned: Selected<Item>[] = [];
  const verdicts = new Map<number, Verdict>();
  for (const candidate of selected) {
    const { item, rule, facts } = candidate;
    const isFull = planned.length >= room.objects;
    const kept = withhold(item) ?? (isFull ? { rule: room.waitBy, facts: {} } : undefined);
    if (!kept) planned.push(candidate);
    verdicts.set(item.position, {
      kind,
      position: item.position,
      ...(kept
        ? { action: 'keep', rule: kept.rule, facts: { ...kept.facts, selectedBy: rule } }
        : { action: 'remove', rule, facts }),
    });
  }
  return { kind, planned, verdicts };
}

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
