import { CompressionTypes, type ICustomPartitioner, type RecordMetadata } from 'kafkajs';
import { FleetGcError } from '../../../process/errors.ts';
import type { OutgoingRecord } from '../../port.ts';
import { waitAtMost } from '../../stopping.ts';
import { openClient } from '../client/client.ts';
import type { KafkaCore } from '../client/core.ts';
import { timeLimits } from '../client/time-limits.ts';
import { type Batch, partitionName } from '../reading/batches.ts';
import type { Sending } from './publisher.ts';

const ACKS_ALL = -1;
const END_MS = 1000;
/** Of requests to one broker; the publisher sees to the order within a partition. */
const IN_FLIGHT = 5;

const COMPRESSION = { zstd: CompressionTypes.ZSTD, gzip: CompressionTypes.GZIP } as const;

/** The partition was computed from our own table; the broker's count is not asked. */
const givenPartition: ICustomPartitioner =
  () =>
  ({ message }) => {
    if (message.partition === undefined) throw new TypeError('a message was sent without its partition');
    return message.partition;
  };

export interface KafkaProducer {
  /** Resolves when connected; a failure is tried again with the next call. */
  connect(): Promise<void>;
  readonly send: Sending['send'];
  disconnect(): Promise<void>;
}

const toMessage = (partition: number) => (record: OutgoingRecord) => ({
  key: record.key,
  value: record.value,
  headers: { ...record.headers },
  partition,
});

function toTopicMessages(batches: readonly Batch[]) {
  return [...Map.groupBy(batches, ({ topic }) => topic)].map(([topic, group]) => ({
    topic,
    messages: group.flatMap(({ partition, records }) => records.map(toMessage(partition))),
  }));
}

/** kafkajs sends nothing, and says nothing, for a partition that the broker does not have. */
function requireAcknowledged(batches: readonly Batch[], acknowledged: readonly RecordMetadata[]): void {
  const names = new Set(acknowledged.map(({ topicName, partition }) => `${topicName}/${partition}`));
  const lost = batches.find((batch) => !names.has(partitionName(batch)));
  if (lost === undefined) return;
  throw new FleetGcError(
    'TOPICS_DIFFER',
    `Kafka has no partition ${partitionName(lost)}: the topic has fewer partitions than declared, and the record was not published. Look with "fleetgc topics check".`,
  );
}

/** One producer per process. Every record is acknowledged by all copies that are in sync. */
export function createProducer({ options, context, clients }: KafkaCore): KafkaProducer {
  const client = openClient(options, context);
  clients.add(client);
  const producer = client.kafka.producer({
    createPartitioner: givenPartition,
    allowAutoTopicCreation: false,
    idempotent: false,
    maxInFlightRequests: IN_FLIGHT,
    // kafkajs tries a whole request again when one partition of it failed, and doubles the others each time.
    retry: { retries: 0 },
  });
  let connecting: Promise<void> | null = null;
  const connect = (): Promise<void> => {
    connecting ??= producer.connect().catch((error) => {
      connecting = null;
      throw error;
    });
    return connecting;
  };
  return {
    connect,
    send: async (batches) => {
      await connect();
      const request = {
        acks: ACKS_ALL,
        timeout: timeLimits(options).acknowledgeMs,
        compression: COMPRESSION[options.compression],
        topicMessages: toTopicMessages(batches),
      };
      requireAcknowledged(batches, await producer.sendBatch(request));
    },
    disconnect: async () => {
      await waitAtMost(producer.disconnect(), END_MS);
      clients.delete(client);
      client.cutConnections();
    },
  };
}
