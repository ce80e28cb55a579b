import { compareText } from '../../../packages/decision/listing.ts';

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
