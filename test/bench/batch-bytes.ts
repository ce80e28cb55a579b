import { createRequire } from 'node:module';
import { CompressionTypes } from 'kafkajs';
import { registerCodecs } from '../../packages/log/kafka/client/kafkajs-repairs.ts';
import { toBatches } from '../../packages/log/kafka/client/producer.ts';
import type { OutgoingRecord } from '../../packages/log/port.ts';

interface Encoded {
  size(): number;
}

/** What of kafkajs makes the batches that lie on the log. */
const load = createRequire(import.meta.url);
const { RecordBatch }: { RecordBatch(batch: object): Promise<Encoded> } = load(
  'kafkajs/src/protocol/recordBatch/v0',
);
const Record: (record: object) => Encoded = load('kafkajs/src/protocol/recordBatch/record/v0');

registerCodecs();

/** Bytes on the log of what one publish appends, one copy: compressed, with keys, headers and the frames of batches. */
export async function bytesOnLog(records: readonly OutgoingRecord[]): Promise<number> {
  let bytes = 0;
  for (const { records: together } of toBatches(records)) {
    const batch = await RecordBatch({
      compression: CompressionTypes.ZSTD,
      records: together.map(({ key, value, headers }, offsetDelta) =>
        Record({ key, value, headers, offsetDelta, timestampDelta: 0 }),
      ),
      firstTimestamp: 0,
      maxTimestamp: 0,
      lastOffsetDelta: together.length - 1,
    });
    bytes += batch.size();
  }
  return bytes;
}
