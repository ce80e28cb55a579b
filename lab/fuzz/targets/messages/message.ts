import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { contentHash } from '../../../../packages/canonical/ids.ts';
import { policySetHash } from '../../../../packages/decision/policy-set.ts';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { NodeSelector, pauseKey } from '../../../../schemas/policy/policy.ts';
import { PolicySetRecord } from '../../../../schemas/policy/policy-set.ts';
import { isObject, type Json, type JsonObject, replaced, toJson } from '../../mutate/json.ts';
import { asObject } from '../../mutate/schema.ts';
import { CLAIMS, type Claim, type Signatories, TAKEN_AT_MS } from './claims.ts';

const SIZES = ['own', 'bound', 'over'] as const;
/** Beyond it, to fill a message takes longer than to read it. */
const MOST_PADDED_BYTES = 256 * 1024;
const isPadded = (topic: TopicId): boolean => TOPICS[topic].bounds.bytes <= MOST_PADDED_BYTES;
/** White space takes a hundred times as long to read as what it follows. So one in so many gets it, the same ones each time. */
const PADDED_ONE_IN = 16;

/** What lies around the event of a message as it is made up. */
const Around = z.object({
  claim: z.enum(CLAIMS).catch('good'),
  /** `own`: the one that belongs to the event. */
  key: z.enum(['own', 'other', 'none']).catch('own'),
  /** Hashes in the event are `made` anew, as somebody would who changes the rest. */
  hashes: z.enum(['made', 'as-written']).catch('made'),
  /** In place of what belongs to the event. */
  headers: z.record(z.string(), z.string()).catch({}),
  /** White space behind the value, up to what the topic takes, or one more. */
  size: z.enum(SIZES).catch('own'),
  /** Bytes of the value that are others: where, and which. */
  bytes: z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(255)])).catch([]),
});
type Around = z.infer<typeof Around>;

const HEADERS = [
  'ce_id',
  'ce_type',
  'ce_fleetgckeyid',
  'ce_fleetgcgeneration',
  'ce_fleetgcchain',
  'ce_fleetgcsequence',
  'traceparent',
] as const;

/** What inputs of a topic are like. */
export const messageSchema = (topic: TopicId): z.ZodType =>
  z.object({
    event: z.union([...TOPICS[topic].schemas]),
    claim: z.enum(CLAIMS),
    key: z.enum(['own', 'other', 'none']),
    hashes: z.enum(['made', 'as-written']),
    headers: z.record(z.enum(HEADERS), z.string()),
    size: z.enum(isPadded(topic) ? SIZES : ['own']),
    bytes: z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(255)])),
  });

export const messageOf = (event: unknown, claim: Claim = 'good'): Json => ({
  event: toJson(event),
  claim,
  key: 'own',
  hashes: 'made',
  headers: {},
  size: 'own',
  bytes: [],
});

/** A message on the log, and what is known of it by whoever made it up. */
export interface MadeMessage {
  readonly record: LogRecord;
  readonly claim: Claim;
}

/** `null` for what is no input. */
export function madeMessage(topic: TopicId, input: Json, signatories: Signatories): MadeMessage | null {
  if (!isObject(input)) return null;
  const { event: written = null, ...around } = input;
  const data = Around.parse(around);
  const event = data.hashes === 'made' ? withHashes(written) : written;
  const { claim } = data;
  const record = signatories.sign(topic, unsignedRecord(topic, event, data), claim);
  const { key } = record;
  return {
    claim,
    record: {
      ...record,
      key: data.key === 'none' ? null : key,
      partition: 0,
      offset: 1n,
      timestampMs: TAKEN_AT_MS,
    },
  };
}

function unsignedRecord(topic: TopicId, event: Json, { key, headers, size, bytes }: Around): OutgoingRecord {
  const members = isObject(event) ? event : {};
  return {
    topic: TOPICS[topic].name,
    key: key === 'own' ? KEYS[topic](members) : 'elsewhere/other',
    value: changedBytes(Buffer.from(sized(topic, JSON.stringify(event), size)), bytes),
    headers: {
      ce_specversion: '1.0',
      ce_id: textOf(members.id),
      ce_type: `${textOf(members.type)}.v${members.version}`,
      ce_source: '/fleetgc/fuzz',
      ce_time: '2026-01-01T00:00:00.000Z',
      'content-type': 'application/json',
      ...headers,
    },
  };
}

function sized(topic: TopicId, text: string, size: Around['size']): string {
  if (size === 'own' || !isPadded(topic) || crc32(text) % PADDED_ONE_IN !== 0) return text;
  const wanted = TOPICS[topic].bounds.bytes + (size === 'over' ? 1 : 0);
  return `${text}${' '.repeat(Math.max(0, wanted - Buffer.byteLength(text)))}`;
}

function changedBytes(value: Buffer, bytes: Around['bytes']): Buffer {
  for (const [at, byte] of bytes) if (value.length > 0) value[at % value.length] = byte;
  return value;
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const nodeKeyOf = (event: JsonObject): string => `${textOf(event.cluster)}/${textOf(event.node)}`;

const clusterKeyOf = (event: JsonObject): string => textOf(event.cluster);

function policyKeyOf(event: JsonObject): string {
  if (event.type === 'fleetgc.policy') return textOf(asObject(event.policy).name);
  if (event.type === 'fleetgc.cluster-policy') return `cluster/${textOf(asObject(event.policy).name)}`;
  if (event.type === 'fleetgc.policy-deletion') return textOf(event.key);
  const selector = NodeSelector.safeParse(event.selector);
  return selector.success ? pauseKey(selector.data) : '!pause';
}

/** Of an event that may be none. */
const KEYS: Readonly<Record<TopicId, (event: JsonObject) => string>> = {
  diskStats: nodeKeyOf,
  inventory: nodeKeyOf,
  observe: nodeKeyOf,
  commands: nodeKeyOf,
  results: nodeKeyOf,
  decisions: nodeKeyOf,
  clusterOwnership: clusterKeyOf,
  clusterPods: clusterKeyOf,
  clusterExpiry: clusterKeyOf,
  clusterCommands: clusterKeyOf,
  clusterRemoved: clusterKeyOf,
  clusterResults: clusterKeyOf,
  clusterDecisions: clusterKeyOf,
  clusterCensus: clusterKeyOf,
  policies: policyKeyOf,
  policyVersions: (event) => ('hash' in event ? textOf(event.hash) : hashOr(() => contentHash(event))),
  keys: ({ keyId }) => textOf(keyId),
  heads: ({ type, archive, chain }) => textOf(type === 'fleetgc.archive-head' ? archive : chain),
  latestFacts: (event) =>
    `${textOf(event.fact)} ${event.fact === 'diskStats' ? nodeKeyOf(event) : clusterKeyOf(event)}`,
  deadLetters: ({ key }) => Buffer.from(textOf(key), 'base64').toString('utf8'),
};

/** Of policies, and of sets of them. */
function withHashes(event: Json): Json {
  if (!isObject(event)) return event;
  if (event.type === 'fleetgc.policy' || event.type === 'fleetgc.cluster-policy') {
    const { policy = null } = event;
    return replaced(
      event,
      'hash',
      hashOr(() => contentHash(policy)),
    );
  }
  if (event.type !== 'fleetgc.policy-set') return event;
  const { policies, pauses, approvals } = PolicySetRecord.shape;
  const named = policies.safeParse(event.policies);
  const paused = pauses.safeParse(event.pauses);
  const approved = approvals.safeParse(event.approvals);
  if (!named.success || !paused.success || !approved.success) return event;
  return replaced(
    event,
    'hash',
    hashOr(() => policySetHash(named.data, paused.data, approved.data ?? [])),
  );
}

/** What is no whole text has no hash. */
function hashOr(make: () => string): string {
  try {
    return make();
  } catch {
    return '';
  }
}
