import { randomUUID } from 'node:crypto';
import { CompressionTypes } from 'kafkajs';
import { openClient } from '../../packages/log/kafka/client/client.ts';
import { partitionOf } from '../../packages/log/partition.ts';
import type { OutgoingRecord } from '../../packages/log/port.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { logContext } from './context.ts';
import type { BenchKafka } from './kafka.ts';

/** A record that came out at the other end. */
export interface Arrival {
  readonly topic: string;
  readonly partition: number;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** `performance.now()` when it was seen. */
  readonly seenAtMs: number;
  /** By the broker's clock. */
  readonly appendedAtMs: number;
}

/** Sends to and looks at a broker, the same way for FleetGC and for the baseline. */
export interface Probe extends AsyncDisposable {
  /** Resolves to the broker's time of the record. */
  send(topic: string, record: Pick<OutgoingRecord, 'key' | 'value' | 'headers'>): Promise<number>;
}

export interface ProbeOptions {
  readonly kafka: Pick<BenchKafka, 'options'>;
  readonly topics: readonly string[];
  readonly compression: 'zstd' | 'none';
  readonly onArrival: (arrival: Arrival) => void;
}

const COMPRESSION = { zstd: CompressionTypes.ZSTD, none: CompressionTypes.None } as const;
/** A broker on a busy machine takes its time to lead new topics. */
const PATIENT = { initialRetryTime: 100, maxRetryTime: 1000, retries: 30 };
const SESSION_MS = 30_000;

export async function openProbe({ kafka, topics, compression, onArrival }: ProbeOptions): Promise<Probe> {
  const client = openClient(kafka.options, logContext);
  const producer = client.kafka.producer({ maxInFlightRequests: 5, retry: PATIENT });
  const consumer = client.kafka.consumer({ groupId: `probe-${randomUUID()}`, sessionTimeout: SESSION_MS });
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topics: [...topics], fromBeginning: false });
  const fetched = new Promise((resolve, reject) => {
    consumer.on(consumer.events.FETCH, resolve);
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error));
  });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      const seenAtMs = performance.now();
      for (const { value, headers, timestamp } of batch.messages) {
        if (value === null) continue;
        const texts = Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)]);
        onArrival({
          topic: batch.topic,
          partition: batch.partition,
          value,
          headers: Object.fromEntries(texts),
          seenAtMs,
          appendedAtMs: Number(timestamp),
        });
      }
    },
  });
  await fetched;
  return {
    send: async (topic, { key, value, headers }) => {
      const partition = partitionOf(TOPICS.inventory.name, key);
      const [acknowledged] = await producer.send({
        topic,
        acks: -1,
        compression: COMPRESSION[compression],
        messages: [{ key, value, headers, partition }],
      });
      return Number(acknowledged?.logAppendTime);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([producer.disconnect(), consumer.disconnect()]);
      client.cutConnections();
    },
  };
}
