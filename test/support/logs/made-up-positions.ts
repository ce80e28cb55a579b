import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogPosition, OutgoingRecord } from '../../../packages/log/port.ts';

/** What a publish resolves to, of records that lie on no log. */
export const madeUpPositions = (records: readonly OutgoingRecord[]): readonly LogPosition[] =>
  records.map(({ topic, key }, index) => ({
    partition: partitionOf(topic, key),
    offset: BigInt(index),
    timestampMs: 0,
  }));
