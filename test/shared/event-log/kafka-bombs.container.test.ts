import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { EventLogOptions, openEventLog } from '../../../services/shared/event-log/open.ts';
import { partitionOf } from '../../../services/shared/event-log/partition.ts';
import type { EventLog } from '../../../services/shared/event-log/port.ts';
import { type Broker, startBroker } from '../../support/kafka.ts';
import {
  collector,
  keyElsewhere,
  outgoing,
  silentContext,
  subscriptionOf,
  uniqueKey,
  until,
  within,
} from './probe.ts';

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
  test('is not made large again: its partition is named, and the others go on', async () => {
    const log = await open(compression);
    onTestFinished(() => log[Symbol.asyncDispose]());
    const key = uniqueKey();
    const other = keyElsewhere(key, topic, partitionOf);
    await log.publish([outgoing({ topic, key, value: BOMB })]);
    await log.publish([outgoing({ topic, key: other })]);
    const seen = collector(other);
    const member = await log.subscribe(subscriptionOf({ topics: [topic] }), seen.handle);
    onTestFinished(() => member.stop());

    await until('the partition to be named', () => /becomes more than/.test(member.state().problem ?? ''));
    expect(member.state().problem).toContain(`${topic}/${partitionOf(topic, key)}`);
    await until('the record beside it', () => seen.records.length === 1);
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
