import { closeSync, openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { EventLogOptions, openEventLog } from '../../../packages/log/open.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { DATA_FOLDER } from '../../support/kafka/kafka-properties.ts';
import { outgoing, silentContext, subscriptionOf, uniqueKey, until, within } from './probe.ts';

let broker: Broker;
beforeAll(async () => {
  broker = await startBroker();
  await using log = await opened();
  await log.createTopics();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

const opened = (): Promise<EventLog> =>
  openEventLog(
    EventLogOptions.parse({
      kind: 'kafka',
      brokers: [broker.address],
      clientId: 'checksums',
      replicationFactor: 1,
    }),
    silentContext(),
  );

async function open(): Promise<EventLog> {
  const log = await opened();
  onTestFinished(() => log[Symbol.asyncDispose]());
  return log;
}

/** Flips one bit of the last byte that the broker has on its disk for this partition. It serves its files as they are. */
async function damageLastRecord(topic: TopicName, partition: number): Promise<void> {
  const folder = join(`/proc/${await broker.processId()}/root${DATA_FOLDER}`, `${topic}-${partition}`);
  const [segment = ''] = readdirSync(folder).filter((name) => name.endsWith('.log'));
  const file = join(folder, segment);
  const descriptor = openSync(file, 'r+');
  const last = Buffer.alloc(1);
  const at = statSync(file).size - 1;
  readSync(descriptor, last, 0, 1, at);
  writeSync(descriptor, Buffer.from([last.readUInt8(0) ^ 1]), 0, 1, at);
  closeSync(descriptor);
}

test('a bit that flipped on a disk of the broker: the batch is told in its place, and what comes after it is served', async () => {
  const log = await open();
  const key = uniqueKey();
  const topic = 'gc.node.results';
  const partition = partitionOf(topic, key);
  await log.publish([outgoing({ topic, key, value: Buffer.from('{"freedBytes":1000000}') })]);
  await damageLastRecord(topic, partition);
  await log.publish([outgoing({ topic, key, value: Buffer.from('after it') })]);

  const seen: LogRecord[] = [];
  const member = await log.subscribe(subscriptionOf({ topics: [topic] }), async (slice) => {
    seen.push(...slice.filter((record) => record.partition === partition));
  });
  onTestFinished(() => member.stop());
  await until('the record after it', () => seen.some(({ key: found }) => found === key));
  expect(seen.map(({ value, unreadable }) => [value?.toString(), unreadable])).toEqual([
    [
      '',
      expect.stringMatching(/^a batch of 1 records .*the checksum of the batch from offset 0 on is wrong/),
    ],
    ['after it', undefined],
  ]);

  const reading = async (): Promise<void> => {
    for await (const _ of log.read({ topic, partition, from: 'earliest', to: 'end' }));
  };
  await expect(within('the error', reading())).rejects.toMatchObject({
    code: 'LOG_CORRUPT',
    message: expect.stringContaining('checksum'),
  });
});

test('an executor that starts before a damaged order is served nothing of it, and its state says what is wrong', async () => {
  const log = await open();
  const key = uniqueKey();
  const topic = 'gc.node.commands';
  await log.publish([outgoing({ topic, key })]);
  await damageLastRecord(topic, partitionOf(topic, key));
  const seen: LogRecord[] = [];
  const assignment = { kind: 'key', key, lookBackMs: 3_600_000 } as const;
  const member = await log.subscribe(subscriptionOf({ topics: [topic], assignment }), async (slice) => {
    seen.push(...slice.filter((record) => record.unreadable === undefined));
  });
  onTestFinished(() => member.stop());
  await until('the problem', () => member.state().problem !== null);
  // The broker itself cannot look for the time from which the executor wants to read.
  expect(member.state().problem).toContain('failed the validation on broker');
  expect(seen).toEqual([]);
});

test('among the policies it holds everything', async () => {
  const log = await open();
  await log.publish([outgoing({ topic: 'gc.policies', key: 'fleet', value: Buffer.from('{}') })]);
  await damageLastRecord('gc.policies', 0);
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
  await until('the policies to be unreadable', () => /checksum/.test(policies.problem() ?? ''));
  expect(() => policies.current.node()).toThrow(expect.objectContaining({ code: 'POLICIES_UNREADABLE' }));
});
