import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { expect, test } from 'vitest';
import { murmur2, partitionOf } from '../../../packages/log/partition.ts';
import { anyText } from '../../fixtures/any-text.ts';

/** Vectors of Kafka's own tests (`org.apache.kafka.common.utils.UtilsTest`). */
test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])('murmur2 of %s is as in Kafka', (text, expected) => {
  expect(murmur2(Buffer.from(text))).toBe(expected);
});

test("every key lies where Kafka's default partitioner puts it over the declared partitions", () => {
  const partitionMetadata = Array.from({ length: 32 }, (_, partitionId) => ({
    partitionId,
    leader: 1,
    partitionErrorCode: 0,
    replicas: [],
    isr: [],
  }));
  const theirs = Partitioners.DefaultPartitioner();
  fc.assert(
    fc.property(anyText, (key) => {
      const message = { key, value: null };
      expect(partitionOf('gc.node.inventory', key)).toBe(
        theirs({ topic: 'gc.node.inventory', message, partitionMetadata }),
      );
    }),
  );
});

test('a topic of one partition has every key in it', () => {
  expect(partitionOf('gc.policies', 'any')).toBe(0);
});
