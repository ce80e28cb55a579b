import { z } from 'zod';
import { MOST_TOPIC_LENGTH } from '../../../packages/log/kafka/client/options.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { firstWrong } from '../../../packages/records/parse/parse-record.ts';
import { TOPICS, type TopicId, type TopicName } from '../../../schemas/events/topics.ts';

/** Of a record with more none is read, as where the log itself is read: it is no event then, and nothing waits for it. */
export const MOST_RECORD_HEADERS = 100;
/** Of names and values together; so many have room in a request too. */
export const MOST_RECORD_HEADER_BYTES = 32 * 1024;

/** Bytes, of which the pollers of AWS write those above 127 as negative numbers. */
const HeaderBytes = z.array(z.int().min(-128).max(255)).nullable();
/** Maps of one name each, in the order of the record. Whoever writes to the log chooses them, and keeps no partition from going on. */
const HeaderList = z.preprocess(
  (given) => (hasTooMany(given) ? [] : given),
  z.array(z.record(z.string(), HeaderBytes)).nullish(),
);

function hasTooMany(list: unknown): boolean {
  let [count, bytes] = [0, 0];
  for (const [name, value] of namedIn(list)) {
    count += 1;
    bytes += name.length + (Array.isArray(value) ? value.length : 0);
    if (count > MOST_RECORD_HEADERS || bytes > MOST_RECORD_HEADER_BYTES) return true;
  }
  return false;
}

function* namedIn(list: unknown): Iterable<readonly [name: string, value: unknown]> {
  if (!Array.isArray(list)) return;
  const headers: readonly unknown[] = list;
  for (const header of headers)
    if (typeof header === 'object' && header !== null) yield* Object.entries(header);
}

/** EventBridge Pipes gives numbers as decimal text too; the bounds are those of the number. */
const DECIMAL_TEXT = /^-?(0|[1-9][0-9]{0,18})$/;
const numeric = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess(
    (given) => (typeof given === 'string' && DECIMAL_TEXT.test(given) ? Number(given) : given),
    schema,
  );

/** A record as AWS Lambda and EventBridge Pipes give it. */
const KafkaRecord = z.object({
  topic: z.string().max(MOST_TOPIC_LENGTH),
  partition: numeric(z.int().nonnegative()),
  offset: numeric(z.int().nonnegative()),
  timestamp: numeric(z.number()),
  timestampType: z.string(),
  key: z.base64().nullish(),
  value: z.base64().nullish(),
  headers: HeaderList,
});
type KafkaRecord = z.infer<typeof KafkaRecord>;

/** What a function takes, and when it was called. */
interface Reading {
  readonly topics: readonly TopicId[];
  /** In front of the names of topics on the brokers, by which callers know them; empty: none. */
  readonly prefix: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** Most records of one call that are looked at; it is what Lambda gives at most. */
export const MOST_KAFKA_RECORDS = 10_000;

/** What Lambda is called with for a Kafka event source: records by `topic-partition`. */
const LambdaEvent = z.object({
  eventSource: z.enum(['aws:kafka', 'SelfManagedKafka']),
  records: z.record(z.string(), z.array(KafkaRecord).max(MOST_KAFKA_RECORDS)),
});

/** The records of one partition, in order. `name`: `topic-partition`, as the caller knows it. */
export interface PartitionRecords {
  readonly name: string;
  readonly records: readonly LogRecord[];
}

/** Or what is wrong with it, in a sentence. */
export function readLambdaEvent(event: unknown, reading: Reading): readonly PartitionRecords[] | string {
  const { data, error } = parsedBy(LambdaEvent, event);
  if (error !== null) return `it is no event of a Kafka event source of AWS Lambda: ${faultOf(error)}`;
  const partitions = Object.entries(data.records).map(([name, records]) => ({ name, records }));
  const misplaced = partitions.find(({ name, records }) =>
    records.some(({ topic, partition }) => name !== `${topic}-${partition}`),
  );
  if (misplaced !== undefined)
    return `records of another partition stand under ${JSON.stringify(misplaced.name)}`;
  const records = partitions.flatMap((each) => each.records);
  return (
    objection(records, reading) ??
    partitions.map(({ name, records }) => ({
      name,
      records: records.flatMap((one) => toRecord(one, reading) ?? []),
    }))
  );
}

/** Why records that somebody sends by themselves are not looked at. */
interface NoRecords {
  readonly kind: 'no-cloud-event' | 'not-taken';
  readonly detail: string;
}

/** What EventBridge Pipes sends: a record, or a list of them. */
export function readPipesRecords(value: unknown, reading: Reading): readonly LogRecord[] | NoRecords {
  const { data, error } = parsedBy(KafkaRecords, Array.isArray(value) ? value : [value]);
  if (error)
    return {
      kind: 'no-cloud-event',
      detail: `it is no CloudEvent, and no record of Kafka as EventBridge Pipes sends it: ${faultOf(error)}`,
    };
  const other = objection(data, reading);
  return other === null
    ? data.flatMap((one) => toRecord(one, reading) ?? [])
    : { kind: 'not-taken', detail: other };
}

function objection(records: readonly KafkaRecord[], reading: Reading): string | null {
  const other = records.find(({ topic }) => takenTopic(topic, reading) === undefined);
  if (other === undefined) return null;
  const names = reading.topics.map((id) => `${reading.prefix}${TOPICS[id].name}`);
  return `this function takes events of ${names.join(' and ')}, not of ${other.topic}`;
}

const takenTopic = (given: string, { topics, prefix }: Reading): TopicName | undefined =>
  topics.map((id) => TOPICS[id].name).find((name) => given === `${prefix}${name}`);

const KafkaRecords = z.array(KafkaRecord).max(MOST_KAFKA_RECORDS);

/** The first fault alone is told: of all that there may be nobody has room for. */
function parsedBy<Value>(schema: z.ZodType<Value>, value: unknown): Parsed<Value> {
  const wrong = firstWrong(schema, value);
  if (wrong !== null) return { data: null, error: wrong };
  const { success, data, error } = schema.safeParse(value);
  return success ? { data, error: null } : { data: null, error };
}

type Parsed<Value> =
  | { readonly data: Value; readonly error: null }
  | { readonly data: null; readonly error: z.ZodError };

/**
 * Who calls may say anything of when the log took a record, also that it did so before a key was revoked. So the record
 * counts as one that its writer dated, at the time of the call.
 */
function toRecord(given: KafkaRecord, reading: Reading): LogRecord | null {
  const topic = takenTopic(given.topic, reading);
  if (topic === undefined) return null;
  return {
    topic,
    partition: given.partition,
    offset: BigInt(given.offset),
    timestampMs: reading.nowMs,
    isDatedByWriter: true,
    key: given.key == null ? null : Buffer.from(given.key, 'base64').toString('utf8'),
    value: given.value == null ? null : Buffer.from(given.value, 'base64'),
    headers: headersOf(given.headers ?? []),
  };
}

/** Of a name that stands there twice the last counts, as where the log itself is read. */
const headersOf = (list: NonNullable<z.infer<typeof HeaderList>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    list.flatMap((header) =>
      Object.entries(header).map(([name, bytes]) => [name, Buffer.from(bytes ?? []).toString('utf8')]),
    ),
  );

function faultOf({ issues }: z.ZodError): string {
  const [first] = issues;
  return first === undefined ? 'nothing of it' : `${z.core.toDotPath(first.path) || 'it'}: ${first.message}`;
}
