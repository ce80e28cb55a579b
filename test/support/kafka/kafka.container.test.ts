import { Kafka } from 'kafkajs';
import { expect, test } from 'vitest';
import { startBroker, startSecureBroker } from './kafka.ts';
import { kafkaSettings } from './kafka-answer.ts';

async function send(kafka: Kafka, value: string): Promise<void> {
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic: 'letters', acks: -1, messages: [{ key: 'k', value }] });
  await producer.disconnect();
}

async function endOffset(kafka: Kafka): Promise<string | undefined> {
  const admin = kafka.admin();
  await admin.connect();
  const [partition] = await admin.fetchTopicOffsets('letters');
  await admin.disconnect();
  return partition?.high;
}

async function createTopic(kafka: Kafka): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: 'letters', numPartitions: 1, replicationFactor: 1 }] });
  await admin.disconnect();
}

test('a broker keeps its address and its data when it is stopped, and when it is killed', async () => {
  await using broker = await startBroker();
  const kafka = new Kafka(kafkaSettings(broker));
  await createTopic(kafka);
  await send(kafka, 'one');

  await broker.restart();
  await send(kafka, 'two');
  await broker.kill();
  await broker.start();
  await send(kafka, 'three');

  expect(await endOffset(kafka)).toBe('3');
});

test('a secure broker lets both users in, and nobody with a wrong password or authority', async () => {
  await using broker = await startSecureBroker();
  const { address, tls, users } = broker;
  const as = (change: object): Kafka =>
    new Kafka({ ...kafkaSettings({ address, caFile: tls.authority, user: users.scram }), ...change });

  await createTopic(as({}));
  await send(as({}), 'scram');
  await send(as({ sasl: { mechanism: 'plain', ...users.plain } }), 'plain');

  const once = { retry: { retries: 0 } };
  const wrongPassword = as({ ...once, sasl: { mechanism: 'plain', ...users.scram } });
  await expect(endOffset(wrongPassword)).rejects.toThrow(/authentication/i);
  const wrongAuthority = {
    ...kafkaSettings({ address, caFile: tls.otherAuthority, user: users.scram }),
    ...once,
  };
  await expect(endOffset(new Kafka(wrongAuthority))).rejects.toThrow(/certificate/i);
  expect(await endOffset(as({}))).toBe('2');
});
