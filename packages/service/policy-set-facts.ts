import type { PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import type { PolicySetRecord } from '../../schemas/policy/policy-set.ts';
import { deriveId } from '../canonical/ids.ts';
import type { Output } from '../decision/handler.ts';
import { policySet } from '../decision/policy-set.ts';
import type { Publisher } from '../pipeline/publisher.ts';
import { createQueue } from '../process/turns.ts';

/** Tells the log what each set of policies consisted of under which something was decided. */
export interface PolicySetFacts {
  /** All policies of this moment, for a decision; throws as the source does. */
  readonly policies: () => PolicySet;
  /** Resolves when every set that was given out is on the log: to be awaited before a decision leaves. */
  tell(): Promise<void>;
}

/** Each set is told once per process: a set changes only when somebody changes a policy or a pause. */
export function createPolicySetFacts(
  policies: () => PolicySet,
  publisher: Pick<Publisher, 'publish'>,
): PolicySetFacts {
  const told = new Set<string>();
  const untold = new Map<string, PolicySet>();
  const inTurn = createQueue();
  const tellAll = async (): Promise<void> => {
    const sets = [...untold.values()];
    if (sets.length === 0) return;
    await publisher.publish(sets.map(policySetOutput));
    for (const { hash } of sets) {
      told.add(hash);
      untold.delete(hash);
    }
  };
  return {
    policies: () => {
      const set = policies();
      if (!told.has(set.hash)) untold.set(set.hash, set);
      return set;
    },
    tell: () => inTurn(tellAll),
  };
}

/** The fact that tells what a set consisted of. */
export const policySetOutput = (set: PolicySet): Output<'policyVersions'> => ({
  topic: 'policyVersions',
  key: set.hash,
  event: policySetRecord(set),
});

const policySetRecord = ({ hash, policies, pauses }: PolicySet): PolicySetRecord => ({
  type: 'fleetgc.policy-set',
  version: 1,
  id: deriveId('policy-set', hash),
  hash,
  policies: policies.map(({ policy: { name }, policyVersion, hash }) => ({ name, policyVersion, hash })),
  pauses: [...pauses],
});

/**
 * The set that a fact tells of, its policies found by the hashes of their contents. `null` when one of them is not found, or when
 * what is put together has another hash than the fact says. A content that was applied twice has two versions: the fact knows
 * which of them was in force.
 */
export function rebuiltPolicySet(
  { hash, policies, pauses }: PolicySetRecord,
  find: (contentHash: string) => PolicyRecord | undefined,
): PolicySet | null {
  const records = policies.flatMap(({ hash, policyVersion }) => {
    const record = find(hash);
    return record === undefined ? [] : [{ ...record, policyVersion }];
  });
  const set = policySet(records, pauses);
  return set.hash === hash ? set : null;
}
