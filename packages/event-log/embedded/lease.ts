import { FleetGcError } from '../../process/errors.ts';
import type { Lease, Statements } from './statements.ts';

/** An owner that was not heard of for so long has lost its group. */
export const LEASE_MS = 6000;
export const LEASE_RENEW_MS = 2000;

/** Who asks for a group, and when. */
export interface Claim {
  readonly group: string;
  readonly member: string;
  readonly nowMs: number;
}

/** A lease that ends later than any lease can was written before the clock was set back. */
export const isHeld = ({ expiresAtMs }: Lease, nowMs: number): boolean =>
  expiresAtMs > nowMs && expiresAtMs <= nowMs + LEASE_MS;

function isFree(statements: Statements, { group, member, nowMs }: Claim): boolean {
  const lease = statements.lease(group);
  return lease === null || lease.member === member || !isHeld(lease, nowMs);
}

const take = (statements: Statements, { group, member, nowMs }: Claim): void =>
  statements.putLease(group, member, nowMs + LEASE_MS);

/** Takes the lease when it is free. */
export function acquireLease(statements: Statements, claim: Claim): boolean {
  if (!isFree(statements, claim)) return false;
  take(statements, claim);
  return true;
}

/** To be called in the transaction of every commit. Throws `GROUP_LOST` when another member owns the group. */
export function requireLease(statements: Statements, { group, member }: Omit<Claim, 'nowMs'>): void {
  if (statements.lease(group)?.member === member) return;
  throw new FleetGcError('GROUP_LOST', `Another member took over the group ${group}; this one stands by.`);
}

/** Lengthens the lease. Throws `GROUP_LOST` when another member owns the group. */
export function renewLease(statements: Statements, claim: Claim): void {
  requireLease(statements, claim);
  take(statements, claim);
}
