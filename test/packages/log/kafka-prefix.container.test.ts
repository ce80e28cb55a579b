import { type Admin, Kafka } from 'kafkajs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { RequiredTrust } from '../../../packages/records/trust/trust.ts';
import { certified, newKey, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { kafkaSettings } from '../../support/kafka/kafka-answer.ts';
import {
  collector,
  outgoing,
  readAll,
  silentContext,
  subscriptionOf,
  uniqueGroup,
  uniqueKey,
  until,
} from './probe.ts';

const PATIENCE_MS = 30_000;
/** Fleets on one Kafka. One has no prefix, and the prefix of another begins as that of a third. */
const PREFIXES = ['', 'acme.', 'acme.eu-'] as const;
const TOPIC = 'gc.node.results';

let broker: Broker;
let admin: Admin;
beforeAll(async () => {
  broker = await startBroker();
  admin = new Kafka(kafkaSettings(broker)).admin();
  await admin.connect();
});
afterAll(async () => {
  await admin?.disconnect();
  await broker?.[Symbol.asyncDispose]();
});

async function open(prefix: string): Promise<EventLog> {
  const options = KafkaOptions.parse({
    kind: 'kafka',
    brokers: [broker.address],
    prefix,
    clientId: 'prefix',
    replicationFactor: 1,
  });
  const log = await openKafkaLog(options, silentContext());
  onTestFinished(() => log[Symbol.asyncDispose]());
  return log;
}

test('each fleet has topics of its own, and names them as the brokers do where they are missing', async () => {
  for (const prefix of PREFIXES) {
    const log = await open(prefix);
    const [first] = await log.checkTopics();
    expect(first).toMatchObject({
      topic: TOPIC_NAMES[0],
      name: `${prefix}${TOPIC_NAMES[0]}`,
      message: expect.stringContaining(`Topic ${prefix}${TOPIC_NAMES[0]} is missing`),
    });
    await expect(log.publish([outgoing()])).rejects.toMatchObject({
      code: 'TOPICS_MISSING',
      message: expect.stringContaining(`Topic ${prefix}${TOPIC} is missing`),
    });
    expect(await log.createTopics()).toEqual(TOPIC_NAMES);
    await until('the topics to be known', async () => (await log.checkTopics()).length === 0);
  }
  const names = PREFIXES.flatMap((prefix) => TOPIC_NAMES.map((name) => `${prefix}${name}`));
  expect((await admin.listTopics()).filter((name) => !name.startsWith('__')).toSorted()).toEqual(
    names.toSorted(),
  );
});

test('no fleet sees what another wrote, also in a group of the same name', async () => {
  const [key, group] = [uniqueKey(), uniqueGroup()];
  const fleets = await Promise.all(
    PREFIXES.map(async (prefix) => {
      const log = await open(prefix);
      const seen = collector(key);
      const member = await log.subscribe(subscriptionOf({ group, topics: [TOPIC] }), seen.handle);
      onTestFinished(() => member.stop());
      return { prefix, log, seen, member };
    }),
  );
  for (const { prefix, log } of fleets)
    await log.publish([outgoing({ topic: TOPIC, key, value: Buffer.from(`of ${prefix}`) })]);
  for (const { prefix, log, seen, member } of fleets) {
    await until('its record', () => seen.records.length > 0, PATIENCE_MS);
    expect(seen.texts()).toEqual([`of ${prefix}`]);
    expect(seen.records).toMatchObject([{ topic: TOPIC }]);
    expect((await readAll(log, key)).map(({ topic, value }) => [topic, String(value)])).toEqual([
      [TOPIC, `of ${prefix}`],
    ]);
    await until(
      'the commit',
      async () => {
        const [progress] = await log.groups([group]);
        return (
          progress?.members === 1 &&
          [...progress.lag].every(([, left]) => left === 0) &&
          progress.lag.size > 0
        );
      },
      PATIENCE_MS,
    );
    expect([...member.state().lag.keys()]).toContain(`${TOPIC}/0`);
  }
  const { groups } = await admin.listGroups();
  expect(
    groups
      .map(({ groupId }) => groupId)
      .filter((name) => name.endsWith(group))
      .toSorted(),
  ).toEqual(PREFIXES.map((prefix) => `${prefix}${group}`).toSorted());
});

test('a record that was signed for one fleet does not count in another, though its key does', async () => {
  const [root, operator] = [newKey(), newKey()];
  const policy = {
    topic: 'gc.policies',
    key: 'web',
    value: Buffer.from('{}'),
    headers: { ce_id: 'one' },
  } as const;
  const [ours, theirs] = [await open('acme.'), await open('acme.eu-')];
  await ours.publish([signRecord(policy, { fleet: 'acme', key: operator, generation: 1 })]);
  const [written] = await readAll(ours, policy.key, { topic: policy.topic });
  if (written === undefined) throw new Error('the record is not on the log');
  // As a mirror would, or somebody who may write to both.
  await theirs.publish([
    { topic: policy.topic, key: policy.key, value: written.value, headers: written.headers },
  ]);
  const [copied] = await readAll(theirs, policy.key, { topic: policy.topic });
  if (copied === undefined) throw new Error('the copy is not on the log');

  const judge = (fleet: string, record: LogRecord) => {
    const ring = new KeyRing({ ...rootsOf(root), fleet });
    ring.add(certified(root, operator, { role: 'operator' }, { fleet }));
    const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
    return trust.authenticate('policies', { ...record, timestampMs: SIGNED_AT_MS });
  };
  expect(judge('acme', written)).toMatchObject({ ok: true });
  expect(judge('acme-eu', copied)).toMatchObject({ ok: false, distrust: { reason: 'changed' } });
});
