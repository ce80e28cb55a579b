import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';

export const NS_PER_MS = 1_000_000n;

/** What ages of containers are counted by, in nanoseconds since the epoch. */
export interface AgeClock {
  readonly profile: Policy['profile'];
  readonly nowNs: bigint;
  /**
   * Runtimes stamp by the wall clock, which anybody can set: what was stamped before this may be younger than it says, so
   * ages count from here at the earliest. The kubelet believes every stamp.
   */
  readonly trustedSinceNs: bigint;
}

export function ageClock(
  { takenAt, clockSteadySinceMs }: CompleteInventory,
  { profile }: Pick<Policy, 'profile'>,
): AgeClock {
  const nowNs = BigInt(takenAt.wallTimeMs) * NS_PER_MS;
  const steadySinceNs = clockSteadySinceMs === null ? nowNs : BigInt(clockSteadySinceMs) * NS_PER_MS;
  const trustedSinceNs = steadySinceNs < nowNs ? steadySinceNs : nowNs;
  return { profile, nowNs, trustedSinceNs: profile === 'kubelet' ? 0n : trustedSinceNs };
}

/** How long ago that was stamped, as far as the clock can be believed; negative after the inventory. */
export const agedNs = (stampNs: bigint, { nowNs, trustedSinceNs }: AgeClock): bigint =>
  nowNs - (stampNs > trustedSinceNs ? stampNs : trustedSinceNs);

/** A container's age by the rules. */
export interface Age {
  readonly ns: bigint;
  readonly from: 'creation' | 'exit';
}

/**
 * The kubelet counts from creation (G4). FleetGC counts from the exit, and falls back to creation where the runtime
 * does not tell it or tells one before the creation (M26).
 */
export function ageOf(container: InventoryContainer, createdAtNs: bigint, clock: AgeClock): Age {
  const finishedAtNs = container.state === 'exited' ? container.finishedAtNs : null;
  const endedAtNs = clock.profile === 'kubelet' || finishedAtNs === null ? null : BigInt(finishedAtNs);
  return endedAtNs === null || endedAtNs < createdAtNs
    ? { ns: agedNs(createdAtNs, clock), from: 'creation' }
    : { ns: agedNs(endedAtNs, clock), from: 'exit' };
}

/** Something with an age: nanoseconds since the epoch, and an id for what the age leaves open. */
export interface Aged {
  readonly id: string;
  readonly createdAtNs: bigint;
}

/**
 * Oldest first (G13, H5). Objects created at the same instant, whose order the kubelet leaves to chance, go by id, so
 * that neither the choice nor the order depends on how the runtime happened to list them.
 */
export function oldestFirst(a: Aged, b: Aged): number {
  if (a.createdAtNs !== b.createdAtNs) return a.createdAtNs < b.createdAtNs ? -1 : 1;
  return compareText(a.id, b.id);
}
