import { TOPICS } from '../../schemas/events/topics.ts';
import { type ApprovalRecord, approvalKey } from '../../schemas/policy/approval.ts';
import {
  type NodeSelector,
  type PauseRecord,
  type PolicyTopicRecord,
  pauseKey,
  policyKey,
} from '../../schemas/policy/policy.ts';
import { deriveId, sha256Hex } from '../canonical/ids.ts';
import type { LogPublisher, LogReader, LogRecord, OutgoingRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { type Doing, NOBODY_SAYS, said } from '../records/doing.ts';
import { parseJson, parseRecord } from '../records/parse/parse-record.ts';
import { keyOf } from '../records/parse/record-key.ts';
import { type Publication, toRecord } from '../records/publisher.ts';
import { type StateSigner, unbelievable, type WrittenState } from '../records/trust/state-signer.ts';
import { objectionToStating } from './may-state.ts';
import type { PolicyChange } from './policy-changes.ts';

/** What the verbs need to write: the log, and what their envelopes say. */
export interface PolicyWriter {
  readonly log: LogPublisher;
  readonly publication: Publication;
  readonly signer: StateSigner;
}

/** What is to hold under a record key of `gc.policies`. */
interface StateToWrite {
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

/** What lies on `gc.policies` and does not count as it is. */
export interface UnsignedState {
  readonly record: LogRecord;
  /** The record key. */
  readonly key: string;
  readonly kind: 'policy' | 'pause' | 'approval' | 'deletion';
  /** Of its bytes. */
  readonly sha256: string;
}

const KINDS = {
  'fleetgc.policy': 'policy',
  'fleetgc.cluster-policy': 'policy',
  'fleetgc.pause': 'pause',
  'fleetgc.approval': 'approval',
  'fleetgc.policy-deletion': 'deletion',
} as const;

/** The last record of each key, where nobody believes it. What cannot be read is left alone: nobody knows what it says. */
export async function unsignedStates(
  log: LogReader,
  counts: (record: LogRecord) => boolean,
  signal: AbortSignal,
): Promise<readonly UnsignedState[]> {
  const last = new Map<string, LogRecord>();
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal))
    if (event.kind === 'record' && event.record.key !== null) last.set(event.record.key, event.record);
  return [...last].flatMap(([key, record]) => {
    const parsed = counts(record) ? null : parseRecord('policies', record);
    return parsed?.ok
      ? [{ key, record, kind: KINDS[parsed.event.type], sha256: sha256Hex(record.value ?? '') }]
      : [];
  });
}

/** Stands for what was looked at: it changes with any byte of it. */
export const digestOf = (states: readonly UnsignedState[]): string =>
  sha256Hex(JSON.stringify(states.map(({ key, sha256 }) => [key, sha256]).toSorted()));

/** Writes them once more as they are, signed. Throws `KEY_UNUSABLE` before anything is written. */
export const signAgain = (writer: PolicyWriter, states: readonly UnsignedState[]): Promise<void> =>
  writeStates(
    writer,
    states.flatMap(({ record, key }) => {
      const parsed = parseRecord('policies', record);
      return parsed.ok ? [{ key, event: parsed.event }] : [];
    }),
  );
