import { type PauseRecord, type PolicyRecord, type PolicySet, pauseKey } from '../../schemas/policy.ts';
import { contentHash } from './ids.ts';

/** All policies of one moment, in an order of their own: whatever order they came in, equal sets have equal hashes. */
export function policySet(policies: Iterable<PolicyRecord>, pauses: Iterable<PauseRecord>): PolicySet {
  const sortedPolicies = [...policies].toSorted((a, b) => compareText(a.policy.name, b.policy.name));
  const sortedPauses = [...pauses].toSorted((a, b) =>
    compareText(pauseKey(a.selector), pauseKey(b.selector)),
  );
  const hash = contentHash({
    policies: sortedPolicies.map(({ policy, policyVersion, hash }) => [policy.name, policyVersion, hash]),
    pauses: sortedPauses,
  });
  return { policies: sortedPolicies, pauses: sortedPauses, hash };
}

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
