import type { SubjectKind } from '../../schemas/events/identity.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { type ApprovalRecord, approvalKey } from '../../schemas/policy/approval.ts';
import {
  isPolicyFor,
  type PauseRecord,
  type PolicyRecordOf,
  type PolicySetOf,
  pauseKey,
} from '../../schemas/policy/policy.ts';
import type { PolicySetRecord } from '../../schemas/policy/policy-set.ts';
import { contentHash, deriveId } from '../canonical/ids.ts';

/**
 * All policies of one moment for one kind of subject, in an order of their own: whatever order they came in, equal sets have equal
 * hashes.
 */
export function policySet<Kind extends SubjectKind>(
  subject: Kind,
  policies: Iterable<PolicyRecordOf<Kind>>,
  pauses: Iterable<PauseRecord>,
  approvals: Iterable<ApprovalRecord> = [],
): PolicySetOf<Kind> {
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
  const sortedApprovals = [...approvals].toSorted((a, b) => compareText(approvalKey(a), approvalKey(b)));
  const hash = policySetHash(named, sortedPauses, sortedApprovals);
  return { subject, policies: sortedPolicies, pauses: sortedPauses, approvals: sortedApprovals, hash };
}

/** A policy as the hash of a set names it. */
interface NamedPolicy {
  readonly name: string;
  readonly policyVersion: number;
  readonly hash: string;
}

/** The hash of a set of which only the names, versions and hashes of its policies are known, in the order of the set. */
export const policySetHash = (
  policies: readonly NamedPolicy[],
  pauses: readonly PauseRecord[],
  approvals: readonly ApprovalRecord[],
): string =>
  contentHash({
    policies: policies.map(({ name, policyVersion, hash }) => [name, policyVersion, hash]),
    pauses,
    // Without any it is what it was before there were approvals.
    ...(approvals.length > 0 && { approvals }),
  });

/** The fact that tells what a set consisted of. */
export const policySetRecord = ({
  hash,
  policies,
  pauses,
  approvals,
}: PolicySetOf<SubjectKind>): PolicySetRecord => ({
  type: 'fleetgc.policy-set',
  version: 1,
  id: deriveId('policy-set', hash),
  hash,
  policies: policies.map(({ policy: { name }, policyVersion, hash }) => ({ name, policyVersion, hash })),
  pauses: [...pauses],
  ...(approvals.length > 0 && { approvals: [...approvals] }),
});

/**
 * The set that a fact tells of, its policies found by the hashes of their contents. `null` when one of them is not found or is for
 * another kind of subject, or when what is put together has another hash than the fact says. A content that was applied
 * twice has two versions: the fact knows which of them was in force.
 */
export function rebuiltPolicySet<Kind extends SubjectKind>(
  subject: Kind,
  { hash, policies, pauses, approvals }: PolicySetRecord,
  find: (contentHash: string) => PolicyRecordOf<SubjectKind> | undefined,
): PolicySetOf<Kind> | null {
  const records = policies.flatMap(({ hash, policyVersion }) => {
    const record = find(hash);
    return record !== undefined && isPolicyFor(subject, record) ? [{ ...record, policyVersion }] : [];
  });
  const set = policySet(subject, records, pauses, approvals);
  return set.hash === hash ? set : null;
}
