import { type NodeSelector, type PauseRecord, pauseKey } from '../../schemas/policy/policy.ts';
import { deriveId } from '../canonical/ids.ts';
import type { EventLog, OutgoingRecord } from '../event-log/port.ts';
import { parseJson } from '../pipeline/parse/parse-record.ts';
import { keyOf } from '../pipeline/parse/record-key.ts';
import { type Publication, toRecord } from '../pipeline/publisher.ts';
import { FleetGcError } from '../process/errors.ts';
import type { StateSigner } from '../trust/state-signer.ts';
import type { PolicyChange } from './policy-changes.ts';

/** What the verbs need to write: the log, and what their envelopes say. */
export interface PolicyWriter {
  readonly log: Pick<EventLog, 'publish'>;
  readonly publication: Publication;
  readonly signer: StateSigner;
}

/**
 * Writes the versions and only then makes them hold, so that every policy a decision names can be found. Unchanged
 * policies are left alone.
 */
export async function writePolicies(
  { log, publication, signer }: PolicyWriter,
  changes: readonly PolicyChange[],
): Promise<void> {
  const records = changes.filter(({ kind }) => kind !== 'unchanged').map(({ record }) => record);
  if (records.length === 0) return;
  const on = (topic: 'policyVersions' | 'policies'): readonly OutgoingRecord[] =>
    records.map((event) => readable(toRecord({ topic, key: keyOf(topic, event), event }, publication)));
  const [versions, policies] = [on('policyVersions'), on('policies')];
  await log.publish(versions);
  await log.publish(policies.map((record) => signer.sign(record)));
}

/** What nobody reads holds every node that it may select. Throws `POLICY_INVALID`. */
function readable(record: OutgoingRecord): OutgoingRecord {
  const json = parseJson(record.topic, record.value);
  if (json.ok) return record;
  throw new FleetGcError(
    'POLICY_INVALID',
    `nobody would read ${record.key}: ${json.rejection.message}. Nothing was written; make it smaller`,
  );
}

/** Deletes what stands under these keys, readable or not. */
export const deleteKeys = (writer: PolicyWriter, keys: readonly string[]): Promise<void> =>
  publishDeletions(writer, keys, true);

/** Deletes what the topic says nothing of, for whoever remembers it of another topic of this name. */
export const deleteUnheld = (writer: PolicyWriter, keys: readonly string[]): Promise<void> =>
  publishDeletions(writer, keys, false);

async function publishDeletions(
  { log, publication, signer }: PolicyWriter,
  keys: readonly string[],
  wasHeld: boolean,
): Promise<void> {
  if (keys.length === 0) return;
  const records = keys.map((key) => {
    const id = deriveId('deletion', key, String(publication.nowMs));
    const event = { type: 'fleetgc.policy-deletion', version: 1, id, key, wasHeld } as const;
    return signer.sign(toRecord({ topic: 'policies', key, event }, publication));
  });
  await log.publish(records);
}

/** A pause of the nodes that the selector selects; pausing them again replaces the reason. */
export async function writePause(
  { log, publication, signer }: PolicyWriter,
  selector: NodeSelector,
  reason: string,
): Promise<void> {
  const key = pauseKey(selector);
  const event: PauseRecord = {
    type: 'fleetgc.pause',
    version: 1,
    id: deriveId('pause', key, reason),
    selector,
    reason,
  };
  await log.publish([signer.sign(readable(toRecord({ topic: 'policies', key, event }, publication)))]);
}
