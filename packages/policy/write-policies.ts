import {
  type NodeSelector,
  type PauseRecord,
  type PolicyTopicRecord,
  pauseKey,
} from '../../schemas/policy/policy.ts';
import { deriveId } from '../canonical/ids.ts';
import type { EventLog, OutgoingRecord } from '../event-log/port.ts';
import { parseJson } from '../pipeline/parse/parse-record.ts';
import { type Publication, toRecord } from '../pipeline/publisher.ts';
import { FleetGcError } from '../process/errors.ts';
import type { StateSigner } from '../trust/state-signer.ts';
import { objectionToStating } from './may-state.ts';
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
export async function writePolicies(writer: PolicyWriter, changes: readonly PolicyChange[]): Promise<void> {
  const { log, publication } = writer;
  const records = changes.filter(({ kind }) => kind !== 'unchanged').map(({ record }) => record);
  if (records.length === 0) return;
  const versions = records.map((event) =>
    readable(toRecord({ topic: 'policyVersions', key: event.hash, event }, publication)),
  );
  const policies = records.map((event) => signedState(writer, event.policy.name, event));
  await log.publish(versions);
  await log.publish(policies);
}

/** A record of `gc.policies`. Throws `POLICY_INVALID` and `KEY_UNUSABLE` for what nobody would read, or believe. */
export function signedState(
  { publication, signer }: Omit<PolicyWriter, 'log'>,
  key: string,
  event: PolicyTopicRecord,
): OutgoingRecord {
  const { record, principal } = signer.sign(
    readable(toRecord({ topic: 'policies', key, event }, publication)),
  );
  const objection = objectionToStating(principal, event);
  if (objection === null) return record;
  throw new FleetGcError('KEY_UNUSABLE', `nobody would believe this: ${objection}. Nothing was written`);
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
  writer: PolicyWriter,
  keys: readonly string[],
  wasHeld: boolean,
): Promise<void> {
  if (keys.length === 0) return;
  const records = keys.map((key) => {
    const id = deriveId('deletion', key, String(writer.publication.nowMs));
    return signedState(writer, key, { type: 'fleetgc.policy-deletion', version: 1, id, key, wasHeld });
  });
  await writer.log.publish(records);
}

/** A pause of the nodes that the selector selects; pausing them again replaces the reason. */
export async function writePause(
  writer: PolicyWriter,
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
  await writer.log.publish([signedState(writer, key, event)]);
}
