import type { Kept } from '../../../packages/decision/conclusion.ts';
import { isAmong, listedTwice } from '../../../packages/decision/listing.ts';
import type { CompleteInventory, InventoryContainer } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { type Age, type AgeClock, ageClock, agedNs, ageOf, NS_PER_MS } from './age.ts';
import { keptByNamespace } from './namespaces.ts';
import type { Listed } from './selected.ts';

/** A dead container that is ours, with what the rules compare of it. */
export interface DeadContainer extends Listed {
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
export interface Standing {
  readonly dead: readonly DeadContainer[];
  /** By position. */
  readonly kept: ReadonlyMap<number, Kept>;
  /** False when a container is listed twice, so that nobody can say how many there are. */
  readonly canBeCounted: boolean;
}

export function standing(inventory: CompleteInventory, policy: Policy): Standing {
  const { containers } = inventory;
  const twice = listedTwice(containers.map(({ id }) => id));
  const clock = ageClock(inventory, policy);
  const kept = new Map<number, Kept>();
  const dead: DeadContainer[] = [];
  for (const [position, container] of containers.entries()) {
    const reason = isAmong(twice, container.id) ? LISTED_TWICE : untouchable(container, clock.nowNs, policy);
    if (reason) kept.set(position, reason);
    else dead.push(toDead(position, container, clock, policy));
  }
  return { dead, kept, canBeCounted: twice.size === 0 };
}

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

function toDead(
  position: number,
  container: InventoryContainer,
  clock: AgeClock,
  policy: Policy,
): DeadContainer {
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
  const younger = (rule: string, ageNs: bigint, minimumAgeMs: number): Kept | undefined =>
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
