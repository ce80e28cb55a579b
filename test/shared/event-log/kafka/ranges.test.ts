import { KafkaJSProtocolError } from 'kafkajs';
import { expect, test } from 'vitest';
import { KafkaOptions } from '../../../../services/shared/event-log/kafka/options.ts';
import { type OffsetConnections, readRanges } from '../../../../services/shared/event-log/kafka/ranges.ts';
import { silentContext } from '../probe.ts';

const options = KafkaOptions.parse({ kind: 'kafka', brokers: ['broker:9092'], clientId: 'test' });
const core = { options, context: silentContext() };
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
    refreshMetadata: async () => {
      asking.refreshed += 1;
    },
  };
  return asking;
}

test('a leader that does not know of its office yet is asked again, after learning who leads', async () => {
  const asked = cluster(NOT_LEADER);
  const ranges = await readRanges(asked, REQUEST, core, new AbortController().signal);
  expect(ranges).toEqual([{ at: { topic: 'gc.policies', partition: 0 }, from: 7n, end: 7n }]);
  expect(asked.refreshed).toBe(1);
});

test('what no retry mends is told at once', async () => {
  const asked = cluster(DENIED);
  const reading = readRanges(asked, REQUEST, core, new AbortController().signal);
  await expect(reading).rejects.toBe(DENIED);
  expect(asked.asked).toBe(1);
});
