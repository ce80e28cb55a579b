import type { TopicName } from '../../../../schemas/events/topics.ts';
import { recordBytes } from '../../limits.ts';
import { partitionName, partitionOf } from '../../partition.ts';
import type { OutgoingRecord } from '../../port.ts';

/**
 * All records of one request for one partition are one batch, and the broker's limit (1 MB, if nobody raised it) is for
 * the batch; it is cut below that before compression. A larger record goes alone.
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
