import { createRequire } from 'node:module';
import { CompressionTypes } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { crc32c } from '../../../../packages/log/kafka/client/checksum.ts';
import { registerCodecs } from '../../../../packages/log/kafka/client/kafkajs-repairs.ts';
import { tolerantWithin, withinBytes } from '../../../../packages/log/kafka/protocol/compression.ts';
import { decodeFetch, toLogRecord } from '../../../../packages/log/kafka/protocol/record-batches.ts';

interface Encoded {
  readonly buffer: Buffer;
}
interface Encoder extends Encoded {
  writeInt8(value: number): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeInt64(value: number): Encoder;
  writeString(value: string): Encoder;
  writeEncoder(value: Encoded): Encoder;
}
interface Written {
  readonly key?: string | null;
  readonly value?: string | null;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

const load = createRequire(import.meta.url);
const KafkaEncoder: new () => Encoder = load('kafkajs/src/protocol/encoder.js');
const Record: (record: object) => Encoded = load('kafkajs/src/protocol/recordBatch/record/v0');
const { RecordBatch }: { RecordBatch(batch: object): Promise<Encoded> } = load(
  'kafkajs/src/protocol/recordBatch/v0',
);
registerCodecs();

const batchOf = (records: readonly Written[], compression = CompressionTypes.ZSTD) =>
  RecordBatch({
    compression,
    firstTimestamp: 1_000,
    maxTimestamp: 2_000,
    lastOffsetDelta: records.length - 1,
    records: records.map(({ key = 'k', value = 'v', headers = {} }, offsetDelta) =>
      Record({ key, value, headers, offsetDelta, timestampDelta: offsetDelta * 5 }),
    ),
  });

/** What a broker answers: one topic and partition, with so many bytes of its record set left out. */
async function answer(batches: readonly Encoded[], { cutBytes = 0 } = {}): Promise<Buffer> {
  const set = Buffer.concat(batches.map(({ buffer }) => buffer));
  const records = set.subarray(0, set.length - cutBytes);
  const header = new KafkaEncoder()
    .writeInt32(7) // throttled
    .writeInt16(0)
    .writeInt32(0) // session
    .writeInt32(1)
    .writeString('gc.node.results')
    .writeInt32(1)
    .writeInt32(3)
    .writeInt16(0)
    .writeInt64(42)
    .writeInt64(41)
    .writeInt64(0)
    .writeInt32(1) // an aborted transaction
    .writeInt64(5)
    .writeInt64(6)
    .writeInt32(-1)
    .writeInt32(records.length);
  return Buffer.concat([header.buffer, records]);
}

async function messagesOf(bytes: Buffer) {
  const { responses } = await decodeFetch(bytes);
  return responses[0]?.partitions[0]?.messages ?? [];
}

/** Writes the checksum anew, as whoever wrote these bytes on purpose would have. */
function sealed(batch: Encoded): Encoded {
  batch.buffer.writeUInt32BE(crc32c(batch.buffer.subarray(21)), 17);
  return batch;
}

const text = (value: Buffer | null): string | null => value?.toString() ?? null;

describe('records of a fetch', () => {
  test('the answer around them', async () => {
    expect(await decodeFetch(await answer([]))).toEqual({
      throttleTime: 0,
      clientSideThrottleTime: 7,
      errorCode: 0,
      responses: [
        {
          topicName: 'gc.node.results',
          partitions: [{ partition: 3, errorCode: 0, highWatermark: '42', messages: [] }],
        },
      ],
    });
  });

  test.each([
    ['zstd', CompressionTypes.ZSTD],
    ['gzip', CompressionTypes.GZIP],
    ['nothing', CompressionTypes.None],
  ])('are as they were written, compressed with %s', async (_, compression) => {
    const batch = await batchOf(
      [
        { key: 'a', value: 'x'.repeat(1_000) },
        { key: null, value: null },
        { headers: { one: '1', two: ['2', '3'] } },
      ],
      compression,
    );
    const found = await messagesOf(await answer([batch, await batchOf([{ key: 'b' }])]));
    expect(found.map(({ key, offset, timestamp }) => [text(key), offset, timestamp])).toEqual([
      ['a', '0', '1000'],
      [null, '1', '1005'],
      ['k', '2', '1010'],
      ['b', '0', '1000'],
    ]);
    expect(found.map(({ value }) => value?.length ?? null)).toEqual([1_000, null, 1, 1]);
    expect(found[2]?.headers).toEqual({ one: Buffer.from('1'), two: Buffer.from('3') });
  });

  test('have the time of the broker where it stamps them, and are its own where it says so', async () => {
    const { buffer } = await batchOf([{}, {}]);
    const attributes = 8 + 4 + 4 + 1 + 4;
    buffer.writeInt16BE(buffer.readInt16BE(attributes) | 0x28, attributes);
    expect(await messagesOf(await answer([sealed({ buffer })]))).toMatchObject([
      { timestamp: '2000', isControlRecord: true },
      { timestamp: '2000', isControlRecord: true },
    ]);
  });

  test('say whether their time is that of the broker or of whoever wrote them', async () => {
    const stamped = await batchOf([{}]);
    const attributes = 8 + 4 + 4 + 1 + 4;
    stamped.buffer.writeInt16BE(stamped.buffer.readInt16BE(attributes) | 0x8, attributes);
    const found = await messagesOf(await answer([sealed(stamped), await batchOf([{}])]));
    const records = found.map((message) => toLogRecord('gc.node.results', 3, message));
    expect(records.map(({ isDatedByWriter }) => isDatedByWriter ?? false)).toEqual([false, true]);
  });

  test('of a batch that was cut off come with the next answer', async () => {
    const batches = [await batchOf([{ key: 'a' }]), await batchOf([{ key: 'b' }])];
    expect(await messagesOf(await answer(batches, { cutBytes: 1 }))).toHaveLength(1);
    expect(
      await messagesOf(await answer(batches, { cutBytes: (batches[1]?.buffer.length ?? 0) - 4 })),
    ).toHaveLength(1);
  });
});

describe('what was made to stop whoever reads it', () => {
  test('thousands of headers: none is read, and the record is no event', async () => {
    const headers = Object.fromEntries(Array.from({ length: 100_000 }, (_, count) => [`h${count}`, '']));
    const found = await messagesOf(await answer([await batchOf([{ headers }, { key: 'next' }])]));
    expect(found.map(({ key, headers: read }) => [text(key), read])).toEqual([
      ['k', {}],
      ['next', {}],
    ]);
  });

  test('so many records that they are no arguments of a call', async () => {
    const many = Array.from({ length: 200_000 }, () => ({ key: null, value: null }));
    expect(await messagesOf(await answer([await batchOf(many)]))).toHaveLength(200_000);
  });

  test('so many that they do not fit into memory', async () => {
    const bytes = await answer([await batchOf(Array.from({ length: 10_000 }, () => ({ value: null })))]);
    await expect(withinBytes(1_000_000, () => decodeFetch(bytes))).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
    });
    const uncompressed = await batchOf(
      Array.from({ length: 10_000 }, () => ({})),
      CompressionTypes.None,
    );
    const answered = await answer([uncompressed]);
    await expect(withinBytes(1_000_000, () => decodeFetch(answered))).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
    });
  });

  test('a number of records that are not there', async () => {
    const { buffer } = await batchOf([{}]);
    buffer.writeInt32BE(1_000, 57);
    const bytes = await answer([sealed({ buffer })]);
    await expect(decodeFetch(bytes)).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  });

  test('a codec that is not known', async () => {
    const { buffer } = await batchOf([{}], CompressionTypes.None);
    buffer.writeInt16BE(3, 8 + 4 + 4 + 1 + 4);
    await expect(decodeFetch(await answer([sealed({ buffer })]))).rejects.toThrow(
      /compressed with LZ4, and only zstd and gzip/,
    );
  });

  test('a format of records that is no longer written', async () => {
    const { buffer } = await batchOf([{}]);
    buffer.writeInt8(1, 16);
    await expect(decodeFetch(await answer([{ buffer }]))).rejects.toThrow(
      /format 1 cannot be read, only of format 2/,
    );
  });
});

describe('a batch that is not as it was written', () => {
  /** Offset, length, epoch of the leader and format are not under the checksum. */
  const FIRST_CHECKED = 17;

  test('every single bit of it counts: with one flipped nothing of it is read', async () => {
    const { buffer } = await batchOf(
      [{ key: 'node-1', value: '{"availableBytes":1000000}', headers: { id: '1' } }, {}],
      CompressionTypes.None,
    );
    for (let bit = FIRST_CHECKED * 8; bit < buffer.length * 8; bit++) {
      const flipped = Buffer.from(buffer);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const bytes = await answer([{ buffer: flipped }]);
      await expect(decodeFetch(bytes), `bit ${bit}`).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
    }
  });

  test('a number that became another: 1000000 is never read as 9000000', async () => {
    const { buffer } = await batchOf([{ value: '{"availableBytes":1000000}' }], CompressionTypes.None);
    buffer.write('9', buffer.indexOf('1000000'));
    await expect(decodeFetch(await answer([{ buffer }]))).rejects.toThrow(
      'the checksum of the batch from offset 0 on is wrong, so it is not as it was written',
    );
  });

  test('a batch that says it has none or is longer than what came does not pass for an answer without records', async () => {
    const empty = await batchOf([{}]);
    empty.buffer.writeInt32BE(0, 57);
    const longer = await batchOf([{}]);
    longer.buffer.writeInt32BE(longer.buffer.readInt32BE(8) + 1, 8);
    for (const batch of [empty, longer])
      await expect(decodeFetch(await answer([batch]))).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  });

  test('where it is asked for alone it is one record; unless its end is not sure, which would pass over others', async () => {
    const flippedValue = await batchOf([{ value: 'value' }, {}], CompressionTypes.None);
    flippedValue.buffer.write('V', flippedValue.buffer.indexOf('value'));
    const bytes = await answer([flippedValue]);
    expect(await tolerantWithin(1_000_000, () => messagesOf(bytes))).toEqual([
      expect.objectContaining({ offset: '1', unreadable: expect.stringContaining('checksum') }),
    ]);
    const flippedEnd = await batchOf([{}, {}]);
    flippedEnd.buffer.writeInt32BE(1 + 0x10000, 23);
    const unsure = await answer([flippedEnd]);
    await expect(tolerantWithin(1_000_000, () => messagesOf(unsure))).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
    });
  });
});

describe('a batch that cannot be decoded, where it is asked for alone', () => {
  const tolerantly = async (batches: readonly Encoded[]) => {
    const bytes = await answer(batches);
    return await tolerantWithin(1_000_000, () => messagesOf(bytes));
  };

  test.each([
    { name: 'becomes too large', batch: () => batchOf([{ value: 'x'.repeat(2_000_000) }, {}, {}]) },
    {
      name: 'has other records than it says',
      batch: async () => {
        const { buffer } = await batchOf([{}, {}, {}]);
        buffer.writeInt32BE(1_000, 57);
        return sealed({ buffer });
      },
    },
    {
      name: 'is damaged',
      batch: async () => {
        const { buffer } = await batchOf([{ value: 'value' }, {}, {}]);
        buffer.fill(0xff, 65);
        return { buffer };
      },
    },
  ])('comes as one record at its last offset, with why: $name', async ({ batch }) => {
    const [only, ...others] = await tolerantly([await batch()]);
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      offset: '2',
      timestamp: '2000',
      key: null,
      value: Buffer.alloc(0),
      unreadable: expect.stringMatching(
        /^a batch of \d+ records in \d+ bytes, from offset 0 on, cannot be read: ./,
      ),
    });
  });

  test('leaves the records of those before it as they are', async () => {
    const bad = await batchOf([{}]);
    bad.buffer.fill(0xff, 61);
    const found = await tolerantly([await batchOf([{ value: 'well' }]), bad]);
    expect(found.map(({ unreadable }) => unreadable === undefined)).toEqual([true, false]);
  });
});
