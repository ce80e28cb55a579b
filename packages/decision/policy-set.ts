import {
  type PauseRecord,
  type PolicyRecord,
  type PolicySet,
  pauseKey,
} from '../../schemas/policy/policy.ts';
import { contentHash } from '../canonical/ids.ts';

/** All policies of one moment, in an order of their own: whatever order they came in, equal sets have equal hashes. */
export function policySet(policies: Iterable<PolicyRecord>, pauses: Iterable<PauseRecord>): PolicySet {
  const sortedPolicies = [...policies].toSorted((a, b) => compareText(a.policy.name, b.policy.name));
  // An unreadable record may hold the same nodes as a pause does.
  const sortedPauses = [...pauses].toSorted(
    (a, b) => compareText(pauseKey(a.selector), pauseKey(b.selector)) || compareText(a.id, b.id),
  );
  const named = sortedPolicies.map(({ policy: { name }, policyVersion, hash }) => ({
    name,
    policyVersion,
    hash,
  }));
  const hash = policySetHash(named, sortedPauses);
  return { policies: sortedPolicies, pauses: sortedPauses, hash };
}

/** A policy as the hash of a set names it. */
export interface NamedPolicy {
  readonly name: string;
  readonly policyVersion: number;
  readonly hash: string;
}

/** The hash of a set of which only the names, versions and hashes of its policies are known, in the order of the set. */
export const policySetHash = (policies: readonly NamedPolicy[], pauses: readonly PauseRecord[]): string =>
  contentHash({
    policies: policies.map(({ name, policyVersion, hash }) => [name, policyVersion, hash]),
    pauses,
  });

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
