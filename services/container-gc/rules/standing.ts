import type { CompleteInventory, InventoryContainer } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Kept } from '../../shared/decision/conclusion.ts';
import { listedTwice } from '../../shared/decision/listing.ts';
import type { Listed } from './selected.ts';

export const NS_PER_MS = 1_000_000n;

/** A dead container that is ours, with what the rules compare of it. */
export interface DeadContainer extends Listed {
  readonly podUid: string;
  /** Pod UID and container name: what limits are counted per. */
  readonly unit: string;
  readonly container: InventoryContainer;
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

export function standing({ containers, takenAt }: CompleteInventory, policy: Policy): Standing {
  const twice = listedTwice(containers.map(({ id }) => id));
  const nowNs = BigInt(takenAt.wallTimeMs) * NS_PER_MS;
  const kept = new Map<number, Kept>();
  const dead: DeadContainer[] = [];
  for (const [position, container] of containers.entries()) {
    const ageNs = nowNs - BigInt(container.createdAtNs);
    const reason = twice.has(container.id) ? LISTED_TWICE : untouchable(container, ageNs);
    if (reason) kept.set(position, reason);
    else dead.push(toDead(position, container, tooYoung(container, ageNs, policy)));
  }
  return { dead, kept, canBeCounted: twice.size === 0 };
}

const LISTED_TWICE: Kept = { rule: 'C5', facts: { listedTwice: true } };

/** Not ours (A12, M41), running (G3, K2), or created after the inventory was taken, so that its age is unknown (G3). */
function untouchable({ pod, name, state }: InventoryContainer, ageNs: bigint): Kept | undefined {
  if (!pod?.uid || name === '') return { rule: 'M41', facts: { kubeletLabels: false } };
  if (state === 'running') return { rule: 'G3', facts: { state } };
  return ageNs < 0n ? { rule: 'G3', facts: { state, ageMs: toMs(ageNs) } } : undefined;
}

function tooYoung({ state }: InventoryContainer, ageNs: bigint, policy: Policy): Kept | undefined {
  const younger = (rule: string, minimumAgeMs: number): Kept | undefined =>
    ageNs < BigInt(minimumAgeMs) * NS_PER_MS
      ? { rule, facts: { state, ageMs: toMs(ageNs), minimumAgeMs } }
      : undefined;
  const created = state === 'created' ? younger('M32', policy.minimumCreatedContainerAgeMs) : undefined;
  return created ?? younger('G3', policy.minimumContainerTTLMs);
}

const toDead = (position: number, container: InventoryContainer, young: Kept | undefined): DeadContainer => {
  const podUid = container.pod?.uid ?? '';
  return {
    position,
    id: container.id,
    podUid,
    unit: JSON.stringify([podUid, container.name]),
    createdAtNs: BigInt(container.createdAtNs),
    container,
    tooYoung: young,
  };
};

const toMs = (ns: bigint): number => Number(ns / NS_PER_MS);
