import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Kept } from '../../../decision/conclusion.ts';
import { isAmong, listedTwice } from '../../../decision/inventory-checks.ts';
import type { KeptRule } from '../../../decision/rule-text.ts';
import type { Listed } from './admission.ts';
import { type Age, type AgeClock, ageClock, agedNs, ageOf, NS_PER_MS, oldestFirst } from './age.ts';
import { keptByNamespace } from './namespaces.ts';
import { removablePods } from './pods.ts';

/** A dead container that is ours, with what the rules compare of it. */
export interface DeadContainer extends Listed {
  /** Among all dead ones, the oldest first: they are sorted once, since dates and ids take long to compare. */
  readonly place: number;
  readonly podUid: string;
  /** Pod UID and container name: what limits are counted per. */
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
  const clock = ageClock(inventory, policy);
  const kept = new Map<number, Kept>();
  const dead: Unplaced[] = [];
  for (const [position, container] of containers.entries()) {
    const reason = isAmong(twice, container.id) ? LISTED_TWICE : untouchable(container, clock.nowNs, policy);
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
export const byPlace = (a: DeadContainer, b: DeadContainer): number => a.place - b.place;

const LISTED_TWICE: Kept = { rule: 'C5', facts: { listedTwice: true } };

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
    unit: JSON.stringify([podUid, container.name]),
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
