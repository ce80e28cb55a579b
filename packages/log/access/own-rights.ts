import { FleetGcError } from '../../process/errors.ts';
import { addRules, findMissingRules, withAdmin } from '../kafka/client/admin.ts';
import type { Broker, Cluster } from '../kafka/client/cluster.ts';
import { Consumer } from '../kafka/client/consumer.ts';
import { protocolType, toEventLogError, unanswered } from '../kafka/client/errors.ts';
import { logicalName, physicalName } from '../kafka/client/names.ts';
import type { KafkaOptions } from '../kafka/client/options.ts';
import { timeLimits } from '../kafka/client/time-limits.ts';
import { watchAnswers } from '../kafka/client/watchdog.ts';
import { ProtocolReader } from '../kafka/protocol/record-batches.ts';
import { TOPIC_NAMES } from '../partition.ts';
import type { EventLogContext } from '../port.ts';
import type { AccessRule, Operation } from './access-rules.ts';

const NEVER = new AbortController().signal;

/** By topic. */
export type OwnRights = ReadonlyMap<string, TopicRights>;

/**
 * What the brokers let this login do with each topic, as they say themselves: nothing is tried. Throws `LOG_UNREACHABLE` and
 * `LOG_UNAUTHORIZED`.
 */
export async function ownRights(options: KafkaOptions, context: EventLogContext): Promise<OwnRights> {
  const { silenceMs } = timeLimits(options);
  using watchdog = watchAnswers(silenceMs, () => unanswered(options.brokers, silenceMs));
  const consumer = new Consumer(options, context, { group: 'none', topics: [] });
  try {
    return await watchdog.waitFor(askedOf(consumer, options), NEVER);
  } catch (error) {
    throw toEventLogError(options.brokers, error);
  } finally {
    await consumer.disconnect();
  }
}

async function askedOf(consumer: Consumer, options: KafkaOptions): Promise<OwnRights> {
  await consumer.connect();
  const { connectionPool } = await anyBroker(consumer.cluster);
  if (connectionPool === undefined)
    throw new FleetGcError('INTERNAL', 'the client library shows its connections no more');
  const found = await connectionPool.send({
    request: topicRightsRequest(TOPIC_NAMES.map((name) => physicalName(options, name))),
    response: { decode: decodeTopicRights, parse: async (decoded) => decoded },
  });
  return new Map([...found].map(([name, rights]) => [logicalName(options, name) ?? name, rights]));
}

async function anyBroker(cluster: Cluster): Promise<Broker> {
  await cluster.refreshMetadata();
  const [nodeId] = cluster.getNodeIds();
  return await cluster.findBroker({ nodeId: String(nodeId) });
}

/** What became of the rules that were wanted. */
interface GrantedAccess {
  /** What the brokers had not, and have now unless this only looked. */
  readonly added: readonly AccessRule[];
  /** Rules of other makers for the same principals, which stay as they are. */
  readonly others: number;
}

interface Granting {
  readonly options: KafkaOptions;
  readonly context: EventLogContext;
  /** `look` changes nothing. */
  readonly work: 'look' | 'add';
}

/** Adds the rules that the brokers have not; needs the rights to describe and to alter the cluster. */
export async function grantAccess(
  { options, context, work }: Granting,
  wanted: readonly AccessRule[],
): Promise<GrantedAccess> {
  try {
    return await withAdmin(options, context, async (admin, inTime) => {
      const { missing, others } = await inTime(findMissingRules(admin, wanted));
      if (work === 'add') await inTime(addRules(admin, missing));
      return { added: missing, others };
    });
  } catch (error) {
    throw refusal(options, error);
  }
}

const NO_AUTHORIZER =
  'these brokers keep no access rules, so whoever reaches them may do anything: set authorizer.class.name (org.apache.kafka.metadata.authorizer.StandardAuthorizer) and allow.everyone.if.no.acl.found=false, and restart them.';
const NOT_ALLOWED =
  'this login may not read or add access rules. That takes Describe and Alter on the cluster: use the login of an administrator of Kafka.';

function refusal({ brokers }: KafkaOptions, error: unknown): FleetGcError {
  const at = `Kafka at ${brokers.join(', ')}`;
  const type = protocolType(error);
  if (type === 'SECURITY_DISABLED')
    return new FleetGcError('NOT_FOUND', `${at}: ${NO_AUTHORIZER}`, { cause: error });
  if (type === 'CLUSTER_AUTHORIZATION_FAILED')
    return new FleetGcError('LOG_UNAUTHORIZED', `${at}: ${NOT_ALLOWED}`, { cause: error });
  return toEventLogError(brokers, error);
}

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
const AUTHORIZATION_FAILED = 29;

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
  if (errorCode === AUTHORIZATION_FAILED) return { kind: 'hidden' };
  if (errorCode === UNKNOWN_TOPIC) return { kind: 'missing' };
  if (errorCode !== 0)
    throw new FleetGcError('LOG_UNREACHABLE', `a broker answered with error ${errorCode} of ${topic}`);
  const operations = OPERATIONS.filter((operation) => (bits & (1 << NUMBERS[operation])) !== 0);
  return { kind: 'known', operations: new Set(operations) };
}
