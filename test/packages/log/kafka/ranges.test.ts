import { KafkaJSProtocolError } from 'kafkajs';
import { expect, test } from 'vitest';
import { createConnection } from '../../../../packages/log/kafka/client/kafka-connection.ts';
import { KafkaOptions } from '../../../../packages/log/kafka/client/options.ts';
import { type OffsetConnections, readRanges } from '../../../../packages/log/kafka/read.ts';
import { silentContext } from '../probe.ts';

const options = KafkaOptions.parse({ kind: 'kafka', brokers: ['broker:9092'], clientId: 'test' });
/** Waits take no time; they are noted. */
function reading() {
  const connection = createConnection(options, silentContext());
  const waits: { readonly ms: number; readonly connected: boolean }[] = [];
  const wait = async (ms: number) => void waits.push({ ms, connected: connection.health().connected });
  return { connection, wait, waits, onAnswer: () => undefined, signal: new AbortController().signal };
}

const REQUEST = { topic: 'gc.policies', from: 'earliest', to: 'end' } as const;
const NOT_LEADER = protocolError('NOT_LEADER_FOR_PARTITION', { code: 6, retriable: true });
const DENIED = protocolError('TOPIC_AUTHORIZATION_FAILED', { code: 29, retriable: false });

function protocolError(type: string, facts: { readonly code: number; readonly retriable: boolean }): Error {
  return new KafkaJSProtocolError(Object.assign(new Error(type), { type, ...facts }));
}

/** Answers the first calls with these errors. */
function cluster(...errors: Error[]): OffsetConnections & { asked: number; refreshed: number } {
  const asking = {
    asked: 0,
    refreshed: 0,
    fetchTopicsOffset: async () => {
      asking.asked += 1;
      const error = errors.shift();
      if (error) throw error;
      return [{ topic: 'gc.policies', partitions: [{ partition: 0, offset: '7' }] }];
    },
    nameOf: (topic: string) => topic,
    refreshMetadata: async () => {
      asking.refreshed += 1;
    },
  };
  return asking;
}

test('a leader that does not know of its office yet is asked again, after learning who leads', async () => {
  const asked = cluster(NOT_LEADER);
  const ranges = await readRanges(asked, REQUEST, reading());
  expect(ranges).toEqual([{ at: { topic: 'gc.policies', partition: 0 }, from: 7n, end: 7n }]);
  expect(asked.refreshed).toBe(1);
});

test('what no retry mends is told at once', async () => {
  const asked = cluster(DENIED);
  await expect(readRanges(asked, REQUEST, reading())).rejects.toBe(DENIED);
  expect(asked.asked).toBe(1);
});

test('a broker that cannot find a time is not said to be out of reach', async () => {
  const unknown = protocolError('UNKNOWN', { code: -1, retriable: false });
  const asked: OffsetConnections = {
    nameOf: (topic) => `acme.${topic}`,
    fetchTopicsOffset: async ([topic]) => {
      if (topic !== undefined && 'fromTimestamp' in topic) throw unknown;
      return [{ topic: 'gc.policies', partitions: [{ partition: 0, offset: '7' }] }];
    },
    refreshMetadata: async () => undefined,
  };
  const request = { ...REQUEST, from: { timestampMs: 1 } };
  const failure = await readRanges(asked, request, reading()).catch((error: unknown) => error);

  expect(failure).toMatchObject({
    code: 'LOG_UNREACHABLE',
    message: expect.stringMatching(
      /^The leader of acme\.gc\.policies\/0 failed to find a record by its time/,
    ),
    cause: unknown,
  });
  expect(failure).not.toMatchObject({ message: expect.stringMatching(/address|port|TLS/) });
});

const manyTimes = (error: Error) => Array.from({ length: 99 }, () => error);

test('a reading that is to end gives up when the leaders are not known for half a minute', async () => {
  const [asked, end] = [cluster(...manyTimes(NOT_LEADER)), reading()];
  await expect(readRanges(asked, REQUEST, end)).rejects.toBe(NOT_LEADER);
  const waitedMs = end.waits.reduce((sum, { ms }) => sum + ms, 0);
  expect(waitedMs).toBeGreaterThan(15_000);
  expect(waitedMs).toBeLessThan(40_000);
});

test('one that is for ever goes on until they are, and the log is not well meanwhile', async () => {
  const [asked, forever] = [cluster(...manyTimes(NOT_LEADER)), reading()];
  await expect(readRanges(asked, { ...REQUEST, to: 'forever' }, forever)).resolves.toHaveLength(1);
  expect(forever.waits).toHaveLength(99);
  expect(forever.waits.every(({ ms, connected }) => ms <= 2000 && !connected)).toBe(true);
  expect(forever.connection.health()).toEqual({ connected: true, problem: null });
});

test('and ends when it is told to', async () => {
  const stop = new AbortController();
  const asked = cluster(...manyTimes(NOT_LEADER));
  const told = { ...reading(), wait: async () => stop.abort(), signal: stop.signal };
  await expect(readRanges(asked, { ...REQUEST, to: 'forever' }, told)).rejects.toBe(NOT_LEADER);
  expect(asked.asked).toBe(2);
});
