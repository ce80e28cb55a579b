import { type Amount, fractionOf } from '../../../schemas/policy/eviction.ts';

/**
 * A threshold or minimum reclaim in bytes or inodes. A percentage is taken as the kubelet takes it (J9): its fraction
 * has 32 bits, the product 64, and what follows the point is cut off.
 */
export function quantityOf(amount: Amount, capacity: bigint): bigint {
  if ('quantity' in amount) return BigInt(amount.quantity);
  return BigInt(Math.trunc(Number(capacity) * fractionOf(amount.percent)));
}
