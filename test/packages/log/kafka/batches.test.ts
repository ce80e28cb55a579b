import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toBatches } from '../../../../packages/log/kafka/client/producer.ts';
import { recordBytes } from '../../../../packages/log/limits.ts';
import { partitionName, partitionOf } from '../../../../packages/log/partition.ts';
import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import { runs } from '../../../support/property-runs.ts';
import { outgoing, uniqueKey } from '../probe.ts';

const LIMIT = 900_000;
const sized = (key: string, bytes: number): OutgoingRecord => outgoing({ key, value: Buffer.alloc(bytes) });
const lengths = (records: readonly OutgoingRecord[]): (number | undefined)[] =>
  records.map((record) => record.value?.length);

describe('the batches of one partition', () => {
  const key = uniqueKey();
  const overhead = Buffer.byteLength(key);

  test.each([
    { name: 'up to the limit in one', sizes: [450_000 - overhead, 450_000 - overhead], batches: [2] },
    { name: 'a byte above it in two', sizes: [450_000 - overhead, 450_001 - overhead], batches: [1, 1] },
    { name: 'a larger record alone', sizes: [10, 2_000_000, 10], batches: [1, 1, 1] },
    { name: 'nothing', sizes: [], batches: [] },
  ])('$name', ({ sizes, batches }) => {
    const found = toBatches(sizes.map((size) => sized(key, size)));
    expect(found.map(({ records }) => records.length)).toEqual(batches);
    expect(found.flatMap(({ records }) => lengths(records))).toEqual(sizes);
  });
});

test('nothing is lost, none is above the limit unless alone, and each partition keeps its order', () => {
  const key = fc.constantFrom('fleet/a', 'fleet/b', 'fleet/c', 'fleet/d');
  const topic = fc.constantFrom('gc.node.results' as const, 'gc.node.decisions' as const);
  const record = fc.record({ key, topic, size: fc.integer({ min: 0, max: 1_000_000 }) });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), (given) => {
      const records = given.map(({ size, ...rest }) => outgoing({ ...rest, value: Buffer.alloc(size) }));
      const batches = toBatches(records);
      for (const batch of batches) {
        const bytes = batch.records.reduce((sum, each) => sum + recordBytes(each), 0);
        expect(bytes <= LIMIT || batch.records.length === 1).toBe(true);
        expect(new Set(batch.records.map((each) => partitionOf(each.topic, each.key)))).toEqual(
          new Set([batch.partition]),
        );
      }
      for (const name of new Set(batches.map(partitionName))) {
        const sent = batches
          .filter((batch) => partitionName(batch) === name)
          .flatMap((batch) => batch.records);
        const wanted = records.filter(
          (each) =>
            partitionName({ topic: each.topic, partition: partitionOf(each.topic, each.key) }) === name,
        );
        expect(sent).toEqual(wanted);
      }
      expect(batches.flatMap((batch) => batch.records)).toHaveLength(records.length);
    }),
    runs(50),
  );
});
