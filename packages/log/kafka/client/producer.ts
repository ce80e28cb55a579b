import {
  CompressionTypes,
  type ICustomPartitioner,
  type Producer as KafkajsProducer,
  type RecordMetadata,
} from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { FleetGcError } from '../../../process/errors.ts';
import { recordBytes } from '../../limits.ts';
import { partitionName, partitionOf } from '../../partition.ts';
import type { LogPosition, OutgoingRecord } from '../../port.ts';
import { waitAtMost } from '../../stopping.ts';
import { type KafkaClient, openClient } from './client.ts';
import type { KafkaConnection } from './kafka-connection.ts';
import { physicalName } from './names.ts';
import type { KafkaOptions } from './options.ts';
import { timeLimits } from './time-limits.ts';

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

const toMessage = (partition: number) => (record: OutgoingRecord) => ({
  key: record.key,
  value: record.value,
  headers: { ...record.headers },
  partition,
});

function toTopicMessages(batches: readonly Batch[], options: KafkaOptions) {
  return [...Map.groupBy(batches, ({ topic }) => topic)].map(([topic, group]) => ({
    topic: physicalName(options, topic),
    messages: group.flatMap(({ partition, records }) => records.map(toMessage(partition))),
  }));
}

/** What Kafka says of the time where the writer dates records. */
const UNDATED = -1;

/** Of each batch those of its records. kafkajs sends nothing, and says nothing, for a partition that the broker does not have. */
function acknowledgedPositions(
  batches: readonly Batch[],
  acknowledged: readonly RecordMetadata[],
  options: KafkaOptions,
): readonly (readonly LogPosition[])[] {
  const byName = new Map(
    acknowledged.map((each) => [partitionName({ topic: each.topicName, partition: each.partition }), each]),
  );
  return batches.map((batch) => {
    const { topic, partition } = batch;
    const name = partitionName({ topic: physicalName(options, topic), partition });
    const found = byName.get(name);
    if (found === undefined)
      throw new FleetGcError(
        'TOPICS_DIFFER',
        `Kafka has no partition ${name}: the topic has fewer partitions than declared, and the record was not published. Look with "fleetgc topics check".`,
      );
    return positionsFrom(found, batch);
  });
}

/** The records of a batch lie one after the other, and have one time. */
function positionsFrom(
  { baseOffset, logAppendTime }: RecordMetadata,
  { partition, records }: Batch,
): readonly LogPosition[] {
  if (baseOffset === undefined || logAppendTime === undefined)
    throw new TypeError('Kafka acknowledged a batch without its offset: the broker is older than Kafka 0.11');
  const first = BigInt(baseOffset);
  const appendedMs = Number(logAppendTime);
  const timestampMs = appendedMs === UNDATED ? null : appendedMs;
  return records.map((_, index) => ({ partition, offset: first + BigInt(index), timestampMs }));
}

/** One producer per process. Every record is acknowledged by all copies that are in sync. */
export class Producer {
  readonly #connection: KafkaConnection;
  readonly #client: KafkaClient;
  readonly #producer: KafkajsProducer;
  #connecting: Promise<void> | null = null;

  constructor(connection: KafkaConnection) {
    this.#connection = connection;
    this.#client = openClient(connection.options, connection.context);
    connection.clients.add(this.#client);
    this.#producer = this.#client.kafka.producer({
      createPartitioner: givenPartition,
      allowAutoTopicCreation: false,
      idempotent: false,
      maxInFlightRequests: IN_FLIGHT,
      // kafkajs tries a whole request again when one partition of it failed, and doubles the others each time.
      retry: { retries: 0 },
    });
  }

  /** Resolves when connected; a failure is tried again with the next call. */
  connect(): Promise<void> {
    this.#connecting ??= this.#producer.connect().catch((error) => {
      this.#connecting = null;
      throw error;
    });
    return this.#connecting;
  }

  /** Batches of different partitions in one request, once. Resolves when all is acknowledged, to the positions of each batch. */
  async send(batches: readonly Batch[]): Promise<readonly (readonly LogPosition[])[]> {
    await this.connect();
    const { options } = this.#connection;
    const request = {
      acks: ACKS_ALL,
      timeout: timeLimits(options).acknowledgeMs,
      compression: COMPRESSION[options.compression],
      topicMessages: toTopicMessages(batches, options),
    };
    return acknowledgedPositions(batches, await this.#producer.sendBatch(request), options);
  }

  async disconnect(): Promise<void> {
    await waitAtMost(this.#producer.disconnect(), END_MS);
    this.#connection.clients.delete(this.#client);
    this.#client.cutConnections();
  }
}

/**
 * All records of one request for one partition are one batch, and the broker's limit (1 MB, if nobody raised it) is for
 * the batch; it is cut below that before compression. A larger record goes alone.
 * @limit Size of a batch. Keep it below `message.max.bytes` of the brokers.
 */
const MAX_BATCH_BYTES = 900_000;

/** Records for one partition that go out in one request. */
export interface Batch {
  readonly topic: TopicName;
  readonly partition: number;
  readonly records: readonly OutgoingRecord[];
  readonly bytes: number;
}

function cut(topic: TopicName, partition: number, records: readonly OutgoingRecord[]): Batch[] {
  const batches: { records: OutgoingRecord[]; bytes: number }[] = [];
  for (const record of records) {
    const bytes = recordBytes(record);
    const last = batches.at(-1);
    if (last !== undefined && last.bytes + bytes <= MAX_BATCH_BYTES) {
      last.records.push(record);
      last.bytes += bytes;
    } else {
      batches.push({ records: [record], bytes });
    }
  }
  return batches.map((batch) => ({ topic, partition, ...batch }));
}

/** Groups by partition and cuts, keeping the order within each partition. */
export function toBatches(records: readonly OutgoingRecord[]): readonly Batch[] {
  const byPartition = Map.groupBy(records, ({ topic, key }) =>
    partitionName({ topic, partition: partitionOf(topic, key) }),
  );
  return [...byPartition.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : cut(first.topic, partitionOf(first.topic, first.key), group);
  });
}
