import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { EventLogOptions, openEventLog } from '../../../packages/log/open.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { collector, outgoing, silentContext, subscriptionOf, uniqueKey, until, within } from './probe.ts';

/** Some ten kilobytes with zstd, two hundred with gzip. */
const BOMB = Buffer.alloc(200 * 1024 * 1024);

let broker: Broker;
beforeAll(async () => {
  broker = await startBroker();
  await using log = await open('zstd');
  await log.createTopics();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

const open = (compression: 'zstd' | 'gzip'): Promise<EventLog> =>
  openEventLog(
    EventLogOptions.parse({
      kind: 'kafka',
      brokers: [broker.address],
      clientId: 'bombs',
      replicationFactor: 1,
      compression,
    }),
    silentContext(),
  );

describe.each([
  { compression: 'zstd', topic: 'gc.node.results' },
  { compression: 'gzip', topic: 'gc.node.commands' },
] as const)('a message that $compression makes a thousand times smaller', ({ compression, topic }) => {
  test.each(['shared', 'key'] as const)(
    'is not made large again: it is told in its place, and what comes after it is served (%s)',
    async (kind) => {
      const log = await open(compression);
      onTestFinished(() => log[Symbol.asyncDispose]());
      const key = uniqueKey();
      await log.publish([outgoing({ topic, key, value: BOMB })]);
      await log.publish([outgoing({ topic, key, value: Buffer.from('after it') })]);
      const seen: LogRecord[] = [];
      const assignment = kind === 'key' ? ({ kind, key, lookBackMs: 3_600_000 } as const) : { kind };
      const member = await log.subscribe(subscriptionOf({ topics: [topic], assignment }), async (slice) => {
        seen.push(...slice.filter(({ partition }) => partition === partitionOf(topic, key)));
      });
      onTestFinished(() => member.stop());

      await until('the record after it', () => seen.some(({ key: found }) => found === key));
      expect(seen.at(-2)).toMatchObject({
        key: null,
        value: Buffer.alloc(0),
        unreadable: expect.stringMatching(/^a batch of 1 records in \d+ bytes, .*becomes more than/),
      });
      expect(seen.at(-1)?.offset).toBe((seen.at(-2)?.offset ?? 0n) + 1n);
      await until('no problem', () => member.state().problem === null);
    },
  );

  test('as the last of its partition holds up no reader of one key', async () => {
    const log = await open(compression);
    onTestFinished(() => log[Symbol.asyncDispose]());
    const key = uniqueKey();
    await log.publish([outgoing({ topic, key, value: BOMB })]);
    const seen = collector(key);
    const assignment = { kind: 'key', key, lookBackMs: 1000 } as const;
    const member = await log.subscribe(subscriptionOf({ topics: [topic], assignment }), seen.handle);
    onTestFinished(() => member.stop());
    await until('the reader', () => member.state().joined);
    await log.publish([outgoing({ topic, key })]);
    await until('the next record', () => seen.records.length === 1);
  });

  test('ends a reading of its partition with an error', async () => {
    const log = await open(compression);
    onTestFinished(() => log[Symbol.asyncDispose]());
    const key = uniqueKey();
    await log.publish([outgoing({ topic, key, value: BOMB })]);
    const partition = partitionOf(topic, key);
    const reading = async (): Promise<void> => {
      for await (const _ of log.read({ topic, partition, from: 'earliest', to: 'end' }));
    };
    await expect(within('the error', reading())).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  });
});

test('among the policies it is never passed over: nothing is known to hold, so everything does', async () => {
  const log = await open('zstd');
  onTestFinished(() => log[Symbol.asyncDispose]());
  await using policies = startPolicySource({
    seen: new SeenGenerations(),
    trust: TRUST_OFF,
    log,
    logger: silentContext().logger,
    metrics: createMetrics(),
    recheckMs: null,
    sources: {
      now: () => performance.now(),
      random: Math.random,
      wait: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    },
  });
  await until('the policies', () => policies.problem() === null);
  await log.publish([outgoing({ topic: 'gc.policies', key: 'bomb', value: BOMB })]);
  await until('the policies to be unreadable', () => policies.problem() !== null);
  expect(policies.problem()).toMatch(/becomes more than/);
  expect(() => policies.current.node()).toThrow(expect.objectContaining({ code: 'POLICIES_UNREADABLE' }));
});
