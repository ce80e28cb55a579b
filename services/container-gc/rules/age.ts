import type { InventoryContainer } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';

/** From when a container's age counts, in nanoseconds since the epoch. */
export interface AgeStart {
  readonly ns: bigint;
  readonly from: 'creation' | 'exit';
}

/**
 * The kubelet counts from creation (G4). FleetGC counts from the exit, and falls back to creation where the runtime
 * does not tell it or tells one before the creation (M26).
 */
export function ageStart(container: InventoryContainer, { profile }: Pick<Policy, 'profile'>): AgeStart {
  const createdAtNs = BigInt(container.createdAtNs);
  const endedAtNs = container.state === 'exited' ? container.finishedAtNs : null;
  if (profile === 'kubelet' || endedAtNs === null || BigInt(endedAtNs) < createdAtNs) {
    return { ns: createdAtNs, from: 'creation' };
  }
  return { ns: BigInt(endedAtNs), from: 'exit' };
}
