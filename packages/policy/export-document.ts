import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { EventLog, LogRecord, OutgoingRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { KeyRing } from '../records/trust/key-ring.ts';
import { SeenGenerations } from '../records/trust/seen-generations.ts';
import { unbelievable } from '../records/trust/state-signer.ts';
import { RequiredTrust } from '../records/trust/trust.ts';
import { timeText } from '../text/time-text.ts';
import { objectionToDocument } from './document-trust.ts';
import { policyDocumentText, readPolicyDocument } from './policy-document.ts';
import { createPolicyReading, type PolicySets } from './policy-reading.ts';
import { readPoliciesBy, type SignatureReading, type StoredPolicies } from './stored-policies.ts';

interface Exporting {
  /** `null` where no signatures count. */
  readonly roots: TrustRoots | null;
  readonly sign: (generation: number) => (head: OutgoingRecord) => OutgoingRecord;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** Functions take nothing that is further ahead of their clocks. */
const MOST_BEHIND_MS = 300_000;

export interface ExportedPolicies {
  readonly text: string;
  /** What stands in it, as deciders see it. */
  readonly sets: PolicySets;
  readonly keys: number;
  readonly policies: number;
  readonly signatures: SignatureReading;
}

/**
 * Throws `POLICIES_UNREADABLE` where something is missing on the topic, `POLICY_INVALID` for
 * more than anybody reads, and `KEY_UNUSABLE` for what nobody would believe.
 */
export async function exportDocument(
  log: Pick<EventLog, 'read'>,
  { roots, sign, nowMs }: Exporting,
  signal: AbortSignal,
): Promise<ExportedPolicies> {
  const stored = await readPoliciesBy(roots, log, signal);
  const { sets, lost, records } = stored;
  if (lost.length > 0)
    throw new FleetGcError(
      'POLICIES_UNREADABLE',
      `gc.policies no longer holds ${lost.slice(0, 5).join(', ')}, which nobody has deleted: apply or delete it again, and export then`,
    );
  const ring = roots && new KeyRing(roots);
  const keys = ring === null ? [] : await statementsFor(ring, log, signal);
  const policies = [...records.values()].toSorted((a, b) => Number(a.offset - b.offset));
  if (ring !== null) requireNonePutBack(stored, policies, ring, nowMs);
  const exportedAtMs = exportTime([...keys, ...policies], nowMs);
  const writing = policyDocumentText({ exportedAtMs, keys, policies, sign: sign(exportedAtMs) });
  if (!writing.ok)
    throw new FleetGcError(
      'POLICY_INVALID',
      `${writing.tooMuch} of a document that anybody reads; nothing was written. Delete policies that nobody needs and export again, or let the function follow the event log with "--policy topic"`,
    );
  const { text } = writing;
  if (ring !== null) requireBelieved(text, ring, nowMs);
  return { text, sets, keys: keys.length, policies: policies.length, signatures: stored.signatures };
}

/**
 * By the clock that is ahead, ours or the event log's: where ours is behind, a document with a pause in it would pass for an older one
 * than what somebody else exported before. Throws `POLICIES_UNREADABLE`.
 */
function exportTime(records: readonly LogRecord[], nowMs: number): number {
  const dated = records.filter(({ isDatedByWriter }) => isDatedByWriter !== true);
  const newestMs = dated.reduce((newest, { timestampMs }) => Math.max(newest, timestampMs), nowMs);
  if (newestMs <= nowMs + MOST_BEHIND_MS) return newestMs;
  throw new FleetGcError(
    'POLICIES_UNREADABLE',
    `the event log took a record at ${timeText(newestMs)}, and by the clock of this machine it is ${timeText(nowMs)}; nothing was written. Set the clock right that is wrong, this one or a broker's. Where it was a broker's, apply that policy or pause once more, and export then`,
  );
}

/**
 * A function that starts has seen nothing before: of what was put back it would believe what the event log holds for. Throws
 * `POLICIES_UNREADABLE`.
 */
function requireNonePutBack(
  { generations }: StoredPolicies,
  policies: readonly LogRecord[],
  ring: KeyRing,
  nowMs: number,
): void {
  const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => nowMs });
  const started = createPolicyReading(trust, new SeenGenerations());
  for (const record of policies) started.add(record);
  const putBack = [...started.generations]
    .filter(([key, generation]) => generation < (generations.get(key) ?? 0))
    .map(([key]) => JSON.stringify(key));
  if (putBack.length === 0) return;
  throw new FleetGcError(
    'POLICIES_UNREADABLE',
    `what gc.policies holds of ${putBack.slice(0, 5).join(', ')} is older than what it replaces: somebody put an old record back, or a newer one was signed and did not come here. Apply, pause or delete it again, and export then; nothing was written`,
  );
}

/** Throws `KEY_UNUSABLE` for what no function would take. */
function requireBelieved(text: string, ring: KeyRing, nowMs: number): void {
  const reading = readPolicyDocument(Buffer.from(text));
  const objection = reading.ok ? objectionToDocument(reading.document, ring, nowMs) : reading.why;
  if (objection !== null) throw unbelievable(objection);
}

/** What roots said; anybody can write anything else there. */
async function statementsFor(
  ring: KeyRing,
  log: Pick<EventLog, 'read'>,
  signal: AbortSignal,
): Promise<readonly LogRecord[]> {
  const records = await recordsOf(TOPICS.keys.name, log, signal);
  return records.filter((record) => ring.add(record).kind === 'changed');
}

async function recordsOf(
  topic: TopicName,
  log: Pick<EventLog, 'read'>,
  signal: AbortSignal,
): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const event of log.read({ topic, from: 'earliest', to: 'end' }, signal))
    if (event.kind === 'record') records.push(event.record);
  return records;
}
