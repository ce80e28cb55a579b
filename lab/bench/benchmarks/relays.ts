import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompressionTypes } from 'kafkajs';
import { openClient } from '../../../packages/log/kafka/client/client.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { startScript } from '../child.ts';
import { logContext } from '../context.ts';
import { type BenchKafka, createPlainTopics } from '../kafka.ts';

/** A broker on a busy machine takes its time to lead new topics. */
const PATIENT = { initialRetryTime: 100, maxRetryTime: 1000, retries: 30 };
const SESSION_MS = 30_000;
const SEEN_MS = 30_000;

/** kafkajs relays in a row, each of which passes on what the one before it sent. */
export interface Relays {
  /**
   * Sends at an even rate without waiting for anything, and then waits until all came out. Resolves to the milliseconds
   * from the call that sends each until it is seen.
   */
  relay(load: { readonly perSecond: number; readonly count: number }): Promise<readonly number[]>;
}

export async function startRelays(
  kafka: BenchKafka,
  stack: AsyncDisposableStack,
  { hops, bytes }: { readonly hops: number; readonly bytes: number },
): Promise<Relays> {
  const topics = Array.from({ length: hops + 1 }, (_, hop) => `bench-hop-${hop}`);
  await createPlainTopics(kafka, topics);
  const [first = '', last = ''] = [topics.at(0), topics.at(-1)];
  const seenAtMs = new Map<string, number>();
  await seeAll(kafka, last, seenAtMs, stack);
  const client = openClient(kafka.options, logContext);
  const producer = client.kafka.producer({ maxInFlightRequests: 5, retry: PATIENT });
  await producer.connect();
  stack.defer(async () => {
    await producer.disconnect();
    client.cutConnections();
  });
  const pairs = topics.slice(1).map((to, hop) => [topics[hop] ?? last, to] as const);
  stack.use(await startScript('relay', { brokers: kafka.options.brokers, hops: pairs }));
  const value = Buffer.alloc(bytes, 'relayed ');
  const send = (id: string) => {
    const message = { key: id, value, headers: { id }, partition: partitionOf(TOPICS.inventory.name, id) };
    return producer.send({ topic: first, acks: -1, compression: CompressionTypes.None, messages: [message] });
  };
  let events = 0;
  return {
    relay: async ({ perSecond, count }) => {
      const startMs = performance.now();
      const sent: { readonly id: string; readonly atMs: number; readonly acknowledged: Promise<unknown> }[] =
        [];
      for (let index = 0; index < count; index += 1) {
        await sleep(Math.max(0, startMs + (index * 1000) / perSecond - performance.now()));
        events += 1;
        const id = `event-${events}`;
        sent.push({ id, atMs: performance.now(), acknowledged: send(id) });
      }
      await Promise.all(sent.map(({ acknowledged }) => acknowledged));
      await waitUntil(`${count} events to come out`, SEEN_MS, () => sent.every(({ id }) => seenAtMs.has(id)));
      return sent.map(({ id, atMs }) => (seenAtMs.get(id) ?? Number.NaN) - atMs);
    },
  };
}

/** Resolves when it sees what comes from now on. */
async function seeAll(
  { options }: BenchKafka,
  topic: string,
  seenAtMs: Map<string, number>,
  stack: AsyncDisposableStack,
): Promise<void> {
  const client = openClient(options, logContext);
  const consumer = client.kafka.consumer({ groupId: `probe-${randomUUID()}`, sessionTimeout: SESSION_MS });
  await consumer.connect();
  stack.defer(async () => {
    await consumer.disconnect();
    client.cutConnections();
  });
  await consumer.subscribe({ topics: [topic], fromBeginning: false });
  const fetched = new Promise((resolve, reject) => {
    consumer.on(consumer.events.FETCH, resolve);
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error));
  });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      const atMs = performance.now();
      for (const { headers } of batch.messages) seenAtMs.set(String(headers?.id), atMs);
    },
  });
  await fetched;
}
