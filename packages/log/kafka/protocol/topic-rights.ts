import { FleetGcError } from '../../../process/errors.ts';
import type { Operation } from '../../access/access-rules.ts';
import { ProtocolReader } from './protocol-reader.ts';

/** What a broker lets the login that asks do with a topic. */
export type TopicRights =
  /** Its name may be known, and there is none. */
  | { readonly kind: 'missing' }
  /** Not even whether it is there. */
  | { readonly kind: 'hidden' }
  | { readonly kind: 'known'; readonly operations: ReadonlySet<Operation> };

/** Kafka's numbers of operations: the right to one is a bit. */
const NUMBERS = { Read: 3, Write: 4, Create: 5, Describe: 8, DescribeConfigs: 10 } as const satisfies Record<
  Operation,
  number
>;
const OPERATIONS = [
  'Read',
  'Write',
  'Create',
  'Describe',
  'DescribeConfigs',
] as const satisfies readonly Operation[];

const METADATA = 3;
/** Of Kafka 2.3; the first that tells of rights, and none of its fields has a length of variable size. */
const VERSION = 8;
const UNKNOWN_TOPIC = 3;
const NOT_ALLOWED = 29;

/** As kafkajs takes requests: what it sends is `buffer`. */
export const topicRightsRequest = (topics: readonly string[]) => ({
  apiKey: METADATA,
  apiVersion: VERSION,
  apiName: 'Metadata',
  encode: async () => {
    const buffer = encoded(topics);
    return { buf: buffer, buffer, size: () => buffer.length };
  },
});

function encoded(topics: readonly string[]): Buffer {
  const count = Buffer.alloc(4);
  count.writeInt32BE(topics.length);
  const names = topics.map((topic) => {
    const length = Buffer.alloc(2);
    length.writeInt16BE(Buffer.byteLength(topic));
    return Buffer.concat([length, Buffer.from(topic)]);
  });
  const [createsNone, notOfTheCluster, ofTopics] = [0, 0, 1];
  return Buffer.concat([count, ...names, Buffer.from([createsNone, notOfTheCluster, ofTopics])]);
}

/** Decodes the answer to it. Throws `LOG_CORRUPT`, and `LOG_UNREACHABLE` where the broker cannot tell. */
export async function decodeTopicRights(answer: Buffer): Promise<ReadonlyMap<string, TopicRights>> {
  const reader = new ProtocolReader(answer);
  reader.int32(); // throttled
  await reader.array(() => skipBroker(reader));
  skipText(reader); // id of the cluster
  reader.int32(); // controller
  return new Map(await reader.array(() => decodeTopic(reader)));
}

function skipBroker(reader: ProtocolReader): void {
  reader.int32(); // id
  skipText(reader); // host
  reader.int32(); // port
  skipText(reader); // rack
}

const NO_TEXT = -1;
function skipText(reader: ProtocolReader): void {
  const length = reader.int16();
  if (length !== NO_TEXT) reader.bytes(length);
}

async function decodeTopic(reader: ProtocolReader): Promise<[topic: string, rights: TopicRights]> {
  const errorCode = reader.int16();
  const topic = String(reader.bytes(reader.int16()));
  reader.int8(); // internal
  await reader.array(() => skipPartition(reader));
  return [topic, rightsOf(topic, errorCode, reader.int32())];
}

async function skipPartition(reader: ProtocolReader): Promise<void> {
  reader.bytes(2 + 4 + 4 + 4); // error, partition, leader, and its epoch
  for (const _replicas of ['all', 'in sync', 'offline']) await reader.array(() => reader.int32());
}

function rightsOf(topic: string, errorCode: number, bits: number): TopicRights {
  if (errorCode === NOT_ALLOWED) return { kind: 'hidden' };
  if (errorCode === UNKNOWN_TOPIC) return { kind: 'missing' };
  if (errorCode !== 0)
    throw new FleetGcError('LOG_UNREACHABLE', `a broker answered with error ${errorCode} of ${topic}`);
  const operations = OPERATIONS.filter((operation) => (bits & (1 << NUMBERS[operation])) !== 0);
  return { kind: 'known', operations: new Set(operations) };
}
