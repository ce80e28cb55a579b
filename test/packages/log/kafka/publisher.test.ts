import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { Batch } from '../../../../packages/log/kafka/client/producer.ts';
import { Publisher, sendWithRetries } from '../../../../packages/log/kafka/publish.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogPosition } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { deferred, keyElsewhere, outgoing, uniqueKey, until } from '../probe.ts';

/** As the broker of these tests places records: one after the other, from 7. */
const placed = (batches: readonly Batch[]): readonly (readonly LogPosition[])[] =>
  batches.map(({ partition, records }) =>
    records.map((_, index) => ({ partition, offset: BigInt(7 + index), timestampMs: 1 })),
  );

/** A broker that answers when it is told to. */
function slowBroker() {
  const requests: { readonly texts: string[]; readonly answer: PromiseWithResolvers<void> }[] = [];
  const send = async (batches: readonly Batch[]) => {
    const answer = deferred();
    requests.push({
      texts: batches.flatMap(({ records }) => records.map((record) => `${record.value}`)),
      answer,
    });
    await answer.promise;
    return placed(batches);
  };
  return { requests, send, sendWithRetries: async (batch: Batch) => (await send([batch]))[0] ?? [] };
}

const record = (key: string, value: string) => outgoing({ key, value: Buffer.from(value) });

test('of one partition one batch is on its way at a time, in the order of the calls', async () => {
  const broker = slowBroker();
  const { requests } = broker;
  const publisher = new Publisher(broker);
  const key = uniqueKey();
  const publishes = ['1', '2', '3'].map((value) => publisher.publish([record(key, value)]));
  for (const value of ['1', '2', '3']) {
    await until(`request ${value}`, () => requests.at(-1)?.texts.includes(value) === true);
    await setImmediate();
    expect(requests.at(-1)?.texts).toEqual([value]);
    requests.at(-1)?.answer.resolve();
  }
  await Promise.all(publishes);
  expect(requests).toHaveLength(3);
});

test('publishes to different partitions share a request, and do not wait for one another', async () => {
  const broker = slowBroker();
  const { requests } = broker;
  const publisher = new Publisher(broker);
  const [a] = [uniqueKey()];
  const b = keyElsewhere(a, 'gc.node.results', partitionOf);
  const first = Promise.all([publisher.publish([record(a, 'a1')]), publisher.publish([record(b, 'b1')])]);
  await until('the shared request', () => requests.length === 1);
  expect(requests[0]?.texts.toSorted()).toEqual(['a1', 'b1']);
  requests[0]?.answer.resolve();
  await first;

  const slow = publisher.publish([record(a, 'a2')]);
  await until('the slow request', () => requests.length === 2);
  const other = publisher.publish([record(b, 'b2')]);
  await until('the other request', () => requests.length === 3);
  requests[2]?.answer.resolve();
  await other;
  requests[1]?.answer.resolve();
  await slow;
});

test('a publish resolves to the position of each record, in the order in which they were given', async () => {
  const broker = slowBroker();
  const publisher = new Publisher(broker);
  const a = uniqueKey();
  const b = keyElsewhere(a, 'gc.node.results', partitionOf);
  const publishing = publisher.publish([record(a, 'a1'), record(b, 'b1'), record(a, 'a2')]);
  await until('the request', () => broker.requests.length === 1);
  broker.requests[0]?.answer.resolve();
  const partition = (key: string) => partitionOf('gc.node.results', key);
  expect(await publishing).toEqual([
    { partition: partition(a), offset: 7n, timestampMs: 1 },
    { partition: partition(b), offset: 7n, timestampMs: 1 },
    { partition: partition(a), offset: 8n, timestampMs: 1 },
  ]);
});

test('a batch that cannot be sent fails its own publish only', async () => {
  const bad = uniqueKey();
  const good = keyElsewhere(bad, 'gc.node.results', partitionOf);
  const sent: string[] = [];
  const send = async (batches: readonly Batch[]) => {
    const texts = batches.flatMap(({ records }) => records.map(({ value }) => `${value}`));
    if (texts.includes('bad')) throw new Error('too large');
    sent.push(...texts);
    return placed(batches);
  };
  const publisher = new Publisher({
    send,
    sendWithRetries: async (batch) => (await send([batch]))[0] ?? [],
  });
  const results = await Promise.allSettled([
    publisher.publish([record(bad, 'bad')]),
    publisher.publish([record(good, 'good')]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(sent).toEqual(['good']);
  await publisher.publish([record(bad, 'later')]);
  expect(sent).toEqual(['good', 'later']);
});

test('after a failure the next publish of the partition is sent', async () => {
  const broker = slowBroker();
  const { requests } = broker;
  const publisher = new Publisher(broker);
  const key = uniqueKey();
  const failing = publisher.publish([record(key, '1')]);
  const following = publisher.publish([record(key, '2')]);
  await until('the first request', () => requests.length === 1);
  requests[0]?.answer.reject(new Error('no'));
  await expect(failing).rejects.toThrow('no');
  await until('the second request', () => requests.length === 2);
  requests[1]?.answer.resolve();
  await following;
  await publisher.idle();
});

const batch: Batch = { topic: 'gc.node.results', partition: 0, records: [], bytes: 0 };
const kafkaError = (name: string, type?: string) => Object.assign(new Error(name), { name, type });

const impatient = { prefix: 'acme.', random: () => 1, wait: async () => undefined, tries: 2 };

/** How often it was tried, when it always fails like this. */
async function triesOf(error: Error): Promise<number> {
  const send = vi.fn(() => Promise.reject(error));
  await expect(sendWithRetries({ ...impatient, send }, batch)).rejects.toBe(error);
  return send.mock.calls.length;
}

test.each([
  ['no leader', kafkaError('KafkaJSProtocolError', 'NOT_LEADER_FOR_PARTITION'), 20],
  ['too few copies', kafkaError('KafkaJSProtocolError', 'NOT_ENOUGH_REPLICAS'), 20],
  ['a lost connection', kafkaError('KafkaJSConnectionClosedError'), 2],
  ['too large', kafkaError('KafkaJSProtocolError', 'MESSAGE_TOO_LARGE'), 1],
  ['not allowed', kafkaError('KafkaJSProtocolError', 'TOPIC_AUTHORIZATION_FAILED'), 1],
  ['our own refusal', new FleetGcError('TOPICS_DIFFER', 'other'), 1],
  ['a fault of ours', new TypeError('x is undefined'), 1],
])('%s', async (_, error, tries) => {
  expect(await triesOf(error)).toBe(tries);
});

test('it goes on when a new leader is there', async () => {
  const send = vi.fn(async () => placed([batch]));
  send.mockRejectedValueOnce(kafkaError('KafkaJSProtocolError', 'LEADER_NOT_AVAILABLE'));
  await sendWithRetries({ ...impatient, send }, batch);
  expect(send).toHaveBeenCalledTimes(2);
});

test('a topic that is gone is named: what stands still meanwhile is of another one', async () => {
  const gone = Object.assign(new Error('This server does not host this topic-partition'), {
    name: 'KafkaJSProtocolError',
    type: 'UNKNOWN_TOPIC_OR_PARTITION',
  });
  const send = async () => {
    throw gone;
  };
  const retries = { send, prefix: 'acme.', random: () => 0, wait: async () => undefined, tries: 3 };
  const publisher = new Publisher({ send, sendWithRetries: (batch) => sendWithRetries(retries, batch) });
  await expect(
    publisher.publish([{ ...record(uniqueKey(), 'v'), topic: 'gc.node.commands' }]),
  ).rejects.toMatchObject({
    code: 'TOPICS_MISSING',
    message: expect.stringMatching(/^Topic acme\.gc\.node\.commands is missing: create it with: /),
  });
});
