import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import {
  POLICY_DOCUMENT_KEY,
  type PolicyDocumentHead,
  PolicyDocumentLine,
} from '../../schemas/policy/policy-document.ts';
import { canonicalJson, sha256Hex } from '../canonical/ids.ts';
import type { LogReader, LogRecord, OutgoingRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { exceededBound } from '../records/parse/json-bounds.ts';
import { readStructuredEvent, structuredEvent } from '../records/structured-event.ts';
import { KeyRing } from '../records/trust/key-ring.ts';
import { SeenGenerations } from '../records/trust/seen-generations.ts';
import { unbelievable } from '../records/trust/state-signer.ts';
import { type Principal, RequiredTrust } from '../records/trust/trust.ts';
import { timeText } from '../text/time-text.ts';
import { createPolicyReading, type PolicySets } from './policy-reading.ts';
import { readPoliciesBy, type SignatureReading, type StoredPolicies } from './stored-policies.ts';

/** The policies in force with the keys that vouch for them, for whoever has no event log. */
export interface PolicyDocument {
  readonly exportedAtMs: number;
  /** In their order on the event log. */
  readonly keys: readonly LogRecord[];
  /** The last one of each key. */
  readonly policies: readonly LogRecord[];
  /** What is signed of it, as the record that its signature is over. */
  readonly head: OutgoingRecord;
}

/**
 * What is larger is neither written nor read.
 * @limit Size of an exported policy document.
 */
export const MAX_POLICY_DOCUMENT_BYTES = 32 * 1024 * 1024;
const MOST_RECORDS = 20_000;
const LARGEST_HEAD_BYTES = 8_192;
const HEAD_BOUNDS = { depth: 3, elements: 64 };
const NEWLINE = 0x0a;

/** The head as it is signed: as if it lay on `gc.policies`, where it would be no policy. */
const headRecord = (
  head: PolicyDocumentHead,
  headers: Readonly<Record<string, string>> = {},
): OutgoingRecord => ({
  topic: TOPICS.policies.name,
  key: POLICY_DOCUMENT_KEY,
  value: Buffer.from(canonicalJson(head)),
  headers,
});

interface ToWrite extends Pick<PolicyDocument, 'exportedAtMs' | 'keys' | 'policies'> {
  /** Signs the head, where somebody does. */
  readonly sign: (head: OutgoingRecord) => OutgoingRecord;
}

type PolicyDocumentWriting =
  | { readonly ok: true; readonly text: string }
  /** Of what there is more than anybody reads, in half a sentence. */
  | { readonly ok: false; readonly tooMuch: string };

export function policyDocumentText({ exportedAtMs, keys, policies, sign }: ToWrite): PolicyDocumentWriting {
  const count = keys.length + policies.length;
  if (count > MOST_RECORDS)
    return {
      ok: false,
      tooMuch: `${policies.length} records of policies and ${keys.length} of keys are more than the ${MOST_RECORDS} records`,
    };
  const lines = [...keys, ...policies].map((record) => `${JSON.stringify(structuredEvent(record))}\n`);
  const body = lines.join('');
  const head: PolicyDocumentHead = {
    type: 'fleetgc.policy-document',
    version: 1,
    exportedAtMs,
    records: lines.length,
    sha256: sha256Hex(body),
  };
  const { headers } = sign(headRecord(head));
  const text = `${JSON.stringify({ head, headers })}\n${body}`;
  const bytes = Buffer.byteLength(text);
  return bytes > MAX_POLICY_DOCUMENT_BYTES
    ? {
        ok: false,
        tooMuch: `policies and keys take ${bytes} bytes, which is more than the ${MAX_POLICY_DOCUMENT_BYTES} bytes`,
      }
    : { ok: true, text };
}

type PolicyDocumentReading =
  | { readonly ok: true; readonly document: PolicyDocument }
  /** Why it is none, in a sentence. */
  | { readonly ok: false; readonly why: string };

/** Nothing of it is believed yet. Never throws. */
export function readPolicyDocument(bytes: Buffer): PolicyDocumentReading {
  const no = (why: string): PolicyDocumentReading => ({ ok: false, why });
  if (bytes.length > MAX_POLICY_DOCUMENT_BYTES)
    return no(`it has more than the ${MAX_POLICY_DOCUMENT_BYTES} bytes that are read`);
  const end = bytes.indexOf(NEWLINE);
  const line = end === -1 || end > LARGEST_HEAD_BYTES ? null : headIn(bytes.toString('utf8', 0, end));
  if (line === null) return no('its first line is no head of a document that "fleetgc policy export" writes');
  const { head, headers } = line;
  const body = bytes.subarray(end + 1);
  if (sha256Hex(body) !== head.sha256)
    return no('it was changed or cut off: its lines have another hash than its head says');
  const records = recordsIn(body, head.records);
  if (typeof records === 'string') return no(records);
  const ofTopic = (name: string): readonly LogRecord[] => records.filter(({ topic }) => topic === name);
  const [keys, policies] = [ofTopic(TOPICS.keys.name), ofTopic(TOPICS.policies.name)];
  if (keys.length + policies.length < records.length)
    return no('it has records of other topics than gc.keys and gc.policies');
  return {
    ok: true,
    document: { exportedAtMs: head.exportedAtMs, keys, policies, head: headRecord(head, headers) },
  };
}

/** Or what is wrong with them, in a sentence. */
function recordsIn(body: Buffer, count: number): readonly LogRecord[] | string {
  if (count > MOST_RECORDS) return `it has more than the ${MOST_RECORDS} records that are read`;
  const records: LogRecord[] = [];
  for (let from = 0; from < body.length; ) {
    const end = body.indexOf(NEWLINE, from);
    if (end === -1 || records.length >= count) return 'it has other lines than its head says';
    const reading = readStructuredEvent(body.subarray(from, end));
    if (!reading.ok) return `line ${records.length + 2}: ${reading.why}`;
    records.push(reading.record);
    from = end + 1;
  }
  return records.length === count ? records : 'it has fewer lines than its head says';
}

function headIn(text: string): ReturnType<typeof PolicyDocumentLine.parse> | null {
  if (exceededBound(text, HEAD_BOUNDS) !== null) return null;
  try {
    return PolicyDocumentLine.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Why nobody believes that a document holds all policies, in a sentence; `null` when one does. What stands in its records is judged one
 * by one beside that.
 */
export function objectionToDocument(
  { head, exportedAtMs }: Pick<PolicyDocument, 'head' | 'exportedAtMs'>,
  ring: KeyRing,
  nowMs: number,
): string | null {
  const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => nowMs });
  const authentication = trust.authenticate('policies', { ...head, timestampMs: nowMs });
  return authentication.ok
    ? objectionToExporter(authentication.principal, exportedAtMs)
    : authentication.distrust.message;
}

function objectionToExporter(principal: Principal, exportedAtMs: number): string | null {
  if (principal.kind !== 'key') return 'no key signed it';
  if (principal.role !== 'operator')
    return `the key of a ${principal.role} signed it, who may not say what all policies are`;
  if (principal.clusters.length > 0) return 'its key is for some clusters alone, and policies are for all';
  return principal.generation === exportedAtMs ? null : 'its signature is of another time than its head';
}

interface Exporting {
  /** `null` where no signatures count. */
  readonly roots: TrustRoots | null;
  readonly sign: (generation: number) => (head: OutgoingRecord) => OutgoingRecord;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** Functions take nothing that is further ahead of their clocks. */
const MOST_BEHIND_MS = 300_000;

interface ExportedPolicies {
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
  log: LogReader,
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
  log: LogReader,
  signal: AbortSignal,
): Promise<readonly LogRecord[]> {
  const records = await recordsOf(TOPICS.keys.name, log, signal);
  return records.filter((record) => ring.add(record).kind === 'changed');
}

async function recordsOf(
  topic: TopicName,
  log: LogReader,
  signal: AbortSignal,
): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const event of log.read({ topic, from: 'earliest', to: 'end' }, signal))
    if (event.kind === 'record') records.push(event.record);
  return records;
}
