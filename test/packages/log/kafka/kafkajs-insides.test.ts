/**
 * What is used of kafkajs beyond its documentation, beside the queue of requests (`kafkajs-repairs.test.ts`) and records
 * (`fetch-response.test.ts`): another version of it that has changed there fails here.
 */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import kafkajs, { Kafka } from 'kafkajs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../../../packages/log/kafka/client/client.ts';
import type { KafkajsCluster } from '../../../../packages/log/kafka/client/cluster.ts';
import { isGroupChange, toEventLogError } from '../../../../packages/log/kafka/client/errors.ts';
import { repairKafkajs } from '../../../../packages/log/kafka/client/kafkajs-repairs.ts';
import { KafkaOptions } from '../../../../packages/log/kafka/client/options.ts';
import { gzipCodec, zstdCodec } from '../../../../packages/log/kafka/protocol/compression.ts';
import { decodeFetch } from '../../../../packages/log/kafka/protocol/record-batches.ts';
import { clusterOf } from '../../../support/kafka/cluster-of.ts';
import { silentContext } from '../probe.ts';

interface Encoder {
  readonly buffer: Buffer;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeInt64(value: number): Encoder;
  writeString(value: string): Encoder;
}
interface Decoding {
  decode(answer: Buffer): Promise<unknown>;
  parse(decoded: unknown): Promise<unknown>;
}
interface Api {
  readonly versions: readonly string[];
  protocol(of: { readonly version: number }): (request: object) => { readonly response: Decoding };
}

const load = createRequire(import.meta.url);
const KafkaEncoder: new () => Encoder = load('kafkajs/src/protocol/encoder.js');
const { requests }: { readonly requests: Readonly<Record<'Fetch' | 'OffsetFetch', Api>> } = load(
  'kafkajs/src/protocol/requests',
);
const { errorCodes, createErrorFromCode } = load('kafkajs/src/protocol/error.js') as {
  readonly errorCodes: readonly { readonly type: string; readonly code: number }[];
  readonly createErrorFromCode: (code: number) => Error;
};
const errors: Readonly<Record<string, new (of: Error | string, facts: object) => Error>> =
  load('kafkajs/src/errors.js');

repairKafkajs();
const options = KafkaOptions.parse({ kind: 'kafka', brokers: ['127.0.0.1:1'], clientId: 'test' });

/** The newest version that kafkajs speaks, which a broker of today speaks too. */
const newest = ({ versions, protocol }: Api, request: object) =>
  protocol({ version: Math.max(...versions.map(Number)) })(request).response;

describe('a fetch', () => {
  const fetch = newest(requests.Fetch, { topics: [], maxWaitTime: 0 });
  const answer = (errorCode: number): Buffer =>
    new KafkaEncoder()
      .writeInt32(0) // throttled
      .writeInt16(0)
      .writeInt32(0) // session
      .writeInt32(1)
      .writeString('gc.node.results')
      .writeInt32(1)
      .writeInt32(3)
      .writeInt16(errorCode)
      .writeInt64(42)
      .writeInt64(42)
      .writeInt64(0)
      .writeInt32(0) // aborted transactions
      .writeInt32(-1)
      .writeInt32(0).buffer;

  test('is decoded by us, in the newest version that it speaks', () => {
    expect(Math.max(...requests.Fetch.versions.map(Number))).toBe(11);
    expect(fetch.decode).toBe(decodeFetch);
  });

  test('of what is gone fails with the partition by name', async () => {
    const decoded = await fetch.decode(answer(1));
    await expect(fetch.parse(decoded)).rejects.toMatchObject({
      name: 'KafkaJSOffsetOutOfRange',
      topic: 'gc.node.results',
      partition: 3,
    });
  });

  test('passes what we decoded on as it is', async () => {
    const decoded = await fetch.decode(answer(0));
    expect(await fetch.parse(decoded)).toBe(decoded);
  });
});

test('what was committed beside an offset comes back with it', async () => {
  const { buffer } = new KafkaEncoder()
    .writeInt32(0) // throttled
    .writeInt32(1)
    .writeString('gc.node.results')
    .writeInt32(1)
    .writeInt32(3)
    .writeInt64(7)
    .writeString('{"deaths":1}')
    .writeInt16(0)
    .writeInt16(0);
  const decoded = await newest(requests.OffsetFetch, { groupId: 'group', topics: [] }).decode(buffer);
  expect(decoded).toMatchObject({
    responses: [
      { topic: 'gc.node.results', partitions: [{ partition: 3, offset: '7', metadata: '{"deaths":1}' }] },
    ],
  });
});

test('both codecs are ours', () => {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  expect(CompressionCodecs[CompressionTypes.ZSTD]()).toBe(zstdCodec);
  expect(CompressionCodecs[CompressionTypes.GZIP]()).toBe(gzipCodec);
});

describe('connections', () => {
  test('of a consumer are there as soon as it is made, with all that reading needs', () => {
    const cluster = clusterOf(openClient(options, silentContext()).kafka);
    const needed: Readonly<Record<keyof KafkajsCluster, 'function'>> = {
      connect: 'function',
      isConnected: 'function',
      addTargetTopic: 'function',
      refreshMetadata: 'function',
      removeBroker: 'function',
      findTopicPartitionMetadata: 'function',
      findLeaderForPartitions: 'function',
      getNodeIds: 'function',
      findBroker: 'function',
      findGroupCoordinator: 'function',
      fetchTopicsOffset: 'function',
    };
    const found = Object.keys(needed).map((name) => [name, typeof Reflect.get(cluster, name)]);
    expect(Object.fromEntries(found)).toEqual(needed);
  });

  test('a coordinator can be told that a member leaves, which no declaration says', () => {
    const { prototype } = load('kafkajs/src/broker/index.js');
    for (const name of ['fetch', 'offsetFetch', 'leaveGroup']) expect(prototype[name]).toBeTypeOf('function');
  });

  test('a broker sends requests of our own, which no declaration says', () => {
    const { prototype } = load('kafkajs/src/network/connectionPool.js');
    expect(prototype.send).toBeTypeOf('function');
  });

  test('a question that every broker fails has null for its answer, in which kafkajs then reads', async () => {
    const { prototype } = load('kafkajs/src/cluster/brokerPool.js');
    const pool = { brokers: { 1: {} }, findBroker: async () => ({}) };
    const asked = prototype.withBroker.call(pool, () => Promise.reject(new Error('it went away')));
    await expect(asked).resolves.toBeNull();
  });

  test('one over which the first answer does not come is ended', async () => {
    const silent = createServer();
    onTestFinished(() => void silent.close());
    const ended = once(silent, 'connection').then(([socket]) => once(socket.resume(), 'close'));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const impatient = new Kafka({
      brokers: [`127.0.0.1:${port}`],
      connectionTimeout: 2_000,
      // Its own end of the request comes later.
      requestTimeout: 60_000,
      retry: { retries: 0 },
      logLevel: kafkajs.logLevel.NOTHING,
    }).admin();
    await expect(impatient.connect()).rejects.toThrow(/did not answer as a Kafka broker does within 2 s/);
    await ended;
  });

  test('are made by our own sockets, so that they can be cut', async () => {
    const silent = createServer((socket) => void socket.resume());
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const client = openClient({ ...options, brokers: [`127.0.0.1:${port}`] }, silentContext());
    const connecting = client.kafka.admin().connect();
    const [socket] = await once(silent, 'connection');
    const closed = once(socket, 'close');
    client.cutConnections();
    await closed;
    silent.close();
    await expect(connecting).rejects.toThrow();
  });
});

describe('errors', () => {
  const kafkajsError = (name: string, of: Error | string, facts: object): Error => {
    const Thrown = errors[name];
    if (Thrown === undefined) throw new Error(`kafkajs has no ${name}`);
    return new Thrown(of, facts);
  };
  const protocolError = (type: string): Error => {
    const found = errorCodes.find((known) => known.type === type);
    if (found === undefined) throw new Error(`kafkajs knows no ${type}`);
    return createErrorFromCode(found.code);
  };

  test.each([
    ['TOPIC_AUTHORIZATION_FAILED', 'LOG_UNAUTHORIZED'],
    ['GROUP_AUTHORIZATION_FAILED', 'LOG_UNAUTHORIZED'],
    ['CLUSTER_AUTHORIZATION_FAILED', 'LOG_UNAUTHORIZED'],
    ['SASL_AUTHENTICATION_FAILED', 'LOG_UNAUTHORIZED'],
    ['UNSUPPORTED_SASL_MECHANISM', 'LOG_UNAUTHORIZED'],
    ['ILLEGAL_SASL_STATE', 'LOG_UNREACHABLE'],
    ['UNKNOWN_TOPIC_OR_PARTITION', 'TOPICS_MISSING'],
    ['INVALID_REPLICATION_FACTOR', 'TOPICS_MISSING'],
    ['MESSAGE_TOO_LARGE', 'LOG_RECORD_TOO_LARGE'],
    ['RECORD_LIST_TOO_LARGE', 'LOG_RECORD_TOO_LARGE'],
    ['GROUP_LOAD_IN_PROGRESS', 'LOG_UNREACHABLE'],
    ['GROUP_COORDINATOR_NOT_AVAILABLE', 'LOG_UNREACHABLE'],
    ['NOT_COORDINATOR_FOR_GROUP', 'LOG_UNREACHABLE'],
    ['REBALANCE_IN_PROGRESS', 'LOG_UNREACHABLE'],
    ['ILLEGAL_GENERATION', 'LOG_UNREACHABLE'],
    ['UNKNOWN_MEMBER_ID', 'LOG_UNREACHABLE'],
    ['NOT_LEADER_FOR_PARTITION', 'LOG_UNREACHABLE'],
    ['LEADER_NOT_AVAILABLE', 'LOG_UNREACHABLE'],
    ['NOT_ENOUGH_REPLICAS', 'LOG_UNREACHABLE'],
    ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'LOG_UNREACHABLE'],
    ['REQUEST_TIMED_OUT', 'LOG_UNREACHABLE'],
  ])('%s of a broker is known by that name, as %s', (type, code) => {
    expect(toEventLogError(['kafka:9092'], protocolError(type))).toMatchObject({ code });
  });

  test('a change of the group is found in what kafkajs wraps around it', () => {
    const wrapped = kafkajsError('KafkaJSNumberOfRetriesExceeded', protocolError('REBALANCE_IN_PROGRESS'), {
      retryCount: 5,
      retryTime: 1000,
    });
    expect(isGroupChange(wrapped)).toBe(true);
  });

  test.each([
    'KafkaJSAggregateError',
    'KafkaJSConnectionClosedError',
    'KafkaJSGroupCoordinatorNotFound',
    'KafkaJSNotImplemented',
    'KafkaJSOffsetOutOfRange',
    'KafkaJSSASLAuthenticationError',
  ])('%s has its name', (name) => {
    expect(kafkajsError(name, 'text', []).name).toBe(name);
  });

  test('a closed connection names its broker', () => {
    const closed = kafkajsError('KafkaJSConnectionClosedError', 'closed', { host: 'kafka', port: 9092 });
    expect(closed).toMatchObject({ host: 'kafka', port: 9092 });
  });
});

interface Pool {
  seedBroker: unknown;
  brokers: Record<string, unknown>;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  removeBroker(address: { readonly host: string; readonly port: number }): void;
  refreshMetadata(topics: readonly string[]): Promise<void>;
}

describe('a broker that is forgotten while it is asked for metadata is away, which is no fault of ours', () => {
  const BrokerPool: new (of: object) => Pool = load('kafkajs/src/cluster/brokerPool.js');
  const logger = { debug() {}, error() {}, namespace: () => logger };
  const address = { host: 'kafka', port: 9092 };
  const metadata = { brokers: [{ nodeId: 1, ...address, rack: null }], topicMetadata: [] };

  /** A pool of one connected broker; `answer` is what it does when it is asked. */
  function poolOf(answer: (pool: Pool) => Promise<unknown>, building = async (_: Pool) => {}): Pool {
    const connectionPool = { ...address, rack: null, destroy: async () => {} };
    const connectionPoolBuilder = { build: () => building(pool).then(() => connectionPool) };
    const pool = new BrokerPool({ connectionPoolBuilder, logger });
    const broker = {
      nodeId: 1,
      connectionPool,
      isConnected: () => true,
      connect: () => answer(pool),
      disconnect: async () => {},
      metadata: () => answer(pool),
    };
    pool.seedBroker = broker;
    pool.brokers = { 1: broker };
    return pool;
  }

  const unreachable = { name: 'KafkaJSConnectionError', retriable: true, cause: expect.any(TypeError) };

  test('the last one, by a request whose connection ended', async () => {
    const pool = poolOf(async () => metadata);
    const asking = pool.refreshMetadata([]);
    pool.removeBroker(address);
    await expect(asking).rejects.toMatchObject(unreachable);
  });

  test('all of them, by a client that ends', async () => {
    const another = { nodeId: 2, host: 'another', port: 9092, rack: null };
    const answer = { ...metadata, brokers: [...metadata.brokers, another] };
    const pool = poolOf(
      async () => answer,
      (of) => of.disconnect(),
    );
    await expect(pool.refreshMetadata([])).rejects.toMatchObject(unreachable);
  });

  test('the first one, while it is connected', async () => {
    const pool = poolOf(async (of) => {
      of.seedBroker = undefined;
    });
    pool.brokers = {};
    Object.assign(pool, { hasConnectedBrokers: () => false });
    await expect(pool.connect()).rejects.toMatchObject(unreachable);
  });
});
