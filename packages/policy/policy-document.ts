import { TOPICS } from '../../schemas/events/topics.ts';
import {
  POLICY_DOCUMENT_KEY,
  type PolicyDocumentHead,
  PolicyDocumentLine,
} from '../../schemas/policy/policy-document.ts';
import { canonicalJson, sha256Hex } from '../canonical/ids.ts';
import type { LogRecord, OutgoingRecord } from '../log/port.ts';
import { exceededBound } from '../records/parse/json-bounds.ts';
import { readStructuredEvent, structuredEvent } from '../records/structured-event.ts';

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

/** What is larger is neither written nor read. */
export const MAX_POLICY_DOCUMENT_BYTES = 32 * 1024 * 1024;
const MOST_RECORDS = 20_000;
const LARGEST_HEAD_BYTES = 8_192;
const HEAD_BOUNDS = { depth: 3, elements: 64 };
const NEWLINE = 0x0a;

/** The head as it is signed: as if it lay on `gc.policies`, where it would be no policy. */
export const headRecord = (
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

export type PolicyDocumentWriting =
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

export type PolicyDocumentReading =
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
