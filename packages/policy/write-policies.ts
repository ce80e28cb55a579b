import { type ApprovalRecord, approvalKey } from '../../schemas/policy/approval.ts';
import {
  type NodeSelector,
  type PauseRecord,
  type PolicyTopicRecord,
  pauseKey,
  policyKey,
} from '../../schemas/policy/policy.ts';
import { deriveId } from '../canonical/ids.ts';
import type { EventLog, OutgoingRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { type Doing, NOBODY_SAYS, said } from '../records/doing.ts';
import { parseJson } from '../records/parse/parse-record.ts';
import { keyOf } from '../records/parse/record-key.ts';
import { type Publication, toRecord } from '../records/publisher.ts';
import { type StateSigner, unbelievable, type WrittenState } from '../records/trust/state-signer.ts';
import { objectionToStating } from './may-state.ts';
import type { PolicyChange } from './policy-changes.ts';

/** What the verbs need to write: the log, and what their envelopes say. */
export interface PolicyWriter {
  readonly log: Pick<EventLog, 'publish'>;
  readonly publication: Publication;
  readonly signer: StateSigner;
}

/** What is to hold under a record key of `gc.policies`. */
export interface StateToWrite {
  readonly key: string;
  readonly event: PolicyTopicRecord;
}

/**
 * Writes the versions and only then makes them hold: so every policy that a decision names can be found, and whoever knows the
 * versions misses what does not come. Throws `POLICY_INVALID` and `KEY_UNUSABLE` before anything is written.
 */
export async function writeStates(writer: PolicyWriter, states: readonly StateToWrite[]): Promise<void> {
  if (states.length === 0) return;
  const signed = states.map((state) => signedState(writer, state));
  await writer.log.publish(signed.map(({ version }) => version));
  await writer.log.publish(signed.map(({ state }) => state));
}

/** Unchanged policies are left alone. */
export const writePolicies = (writer: PolicyWriter, changes: readonly PolicyChange[]): Promise<void> =>
  writeStates(
    writer,
    changes
      .filter(({ kind }) => kind !== 'unchanged')
      .map(({ record }) => ({ key: policyKey(record), event: record })),
  );

function signedState({ publication, signer }: PolicyWriter, { key, event }: StateToWrite): WrittenState {
  const version = toRecord(
    { topic: 'policyVersions', key: keyOf('policyVersions', event), event },
    publication,
  );
  const { principal, ...signed } = signer.sign({
    state: readable(toRecord({ topic: 'policies', key, event }, publication)),
    version: readable(version),
  });
  const objection = objectionToStating(principal, event);
  if (objection !== null) throw unbelievable(objection);
  return signed;
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
export const deleteKeys = (
  writer: PolicyWriter,
  keys: readonly string[],
  doing: Doing = NOBODY_SAYS,
): Promise<void> => publishDeletions(writer, keys, { wasHeld: true, doing });

/** Deletes what the topic says nothing of, for whoever remembers it of another topic of this name. */
export const deleteUnheld = (
  writer: PolicyWriter,
  keys: readonly string[],
  doing: Doing = NOBODY_SAYS,
): Promise<void> => publishDeletions(writer, keys, { wasHeld: false, doing });

interface Deleting {
  readonly wasHeld: boolean;
  readonly doing: Doing;
}

function publishDeletions(
  writer: PolicyWriter,
  keys: readonly string[],
  { wasHeld, doing }: Deleting,
): Promise<void> {
  const states = keys.map((key): StateToWrite => {
    const id = deriveId('deletion', key, String(writer.publication.nowMs));
    return { key, event: { type: 'fleetgc.policy-deletion', version: 1, id, key, wasHeld, ...said(doing) } };
  });
  return writeStates(writer, states);
}

/** Approving the same again replaces the width, the end and the reason. */
export const writeApproval = (writer: PolicyWriter, event: ApprovalRecord): Promise<void> =>
  writeStates(writer, [{ key: approvalKey(event), event }]);

/** A pause of the nodes that the selector selects; pausing them again replaces the reason. */
export function writePause(writer: PolicyWriter, selector: NodeSelector, doing: Doing): Promise<void> {
  const { reason } = doing;
  const key = pauseKey(selector);
  const event: PauseRecord = {
    type: 'fleetgc.pause',
    version: 1,
    id: deriveId('pause', key, reason),
    selector,
    ...said(doing),
    reason,
  };
  return writeStates(writer, [{ key, event }]);
}
