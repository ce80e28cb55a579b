import type { EventLog } from '../../packages/log/port.ts';
import { policyChanges } from '../../packages/policy/policy-changes.ts';
import { readStoredPolicies, type StoredPolicies } from '../../packages/policy/stored-policies.ts';
import { deleteKeys, type PolicyWriter, writePolicies } from '../../packages/policy/write-policies.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import { isPauseKey, type PolicyRecordOf, policyKey } from '../../schemas/policy/policy.ts';

/** What `run` did to the policies of its log. */
export interface Settled {
  /** Names of policies of an earlier run that no longer hold. */
  readonly deleted: readonly string[];
  /** Pauses outlive a restart: only `fleetgc resume` ends one. */
  readonly pauses: StoredPolicies['pauses'];
}

/**
 * Makes the log hold exactly these policies: one that an earlier run left behind must not enforce what nobody asked for
 * this time. To be called before anything decides.
 */
export async function settlePolicies(
  writer: PolicyWriter & { readonly log: Pick<EventLog, 'read'> },
  records: readonly PolicyRecordOf<SubjectKind>[],
  signal: AbortSignal,
): Promise<Settled> {
  const stored = await readStoredPolicies(writer.log, signal);
  const keys = new Set(records.map(policyKey));
  const unreadable = stored.unreadable.map(({ key }) => key).filter((key) => !isPauseKey(key));
  const deleted = [...stored.policies.keys(), ...unreadable].filter((key) => !keys.has(key));
  await deleteKeys(writer, deleted);
  await writePolicies(writer, policyChanges(records, stored.policies, new Set()));
  return { deleted, pauses: stored.pauses };
}
