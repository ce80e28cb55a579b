import { randomBytes } from 'node:crypto';
import kafkajs from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { registerCodecs } from '../../../../packages/log/kafka/client/kafkajs-repairs.ts';
import { gzipCodec, withinBytes, zstdCodec } from '../../../../packages/log/kafka/protocol/compression.ts';

test.each([0, 1, 8191, 8192, 500_000])('%i bytes come back', async (length) => {
  const buffer = randomBytes(length);
  expect(buffer.equals(await zstdCodec.decompress(await zstdCodec.compress({ buffer })))).toBe(true);
});

test('text becomes much smaller', async () => {
  const buffer = Buffer.from('sha256:0123456789'.repeat(10_000));
  expect((await zstdCodec.compress({ buffer })).length).toBeLessThan(buffer.length / 50);
});

test('kafkajs finds the codec', () => {
  registerCodecs();
  expect(kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]()).toBe(zstdCodec);
});

describe.each([
  { name: 'zstd', codec: zstdCodec },
  { name: 'gzip', codec: gzipCodec },
])('$name', ({ codec }) => {
  const batch = codec.compress({ buffer: Buffer.alloc(100_000) });

  test('comes back within its bound', async () => {
    const read = withinBytes(100_000, async () => codec.decompress(await batch));
    expect((await read).length).toBe(100_000);
  });

  test('does not become larger than its bound', async () => {
    const read = withinBytes(99_999, async () => codec.decompress(await batch));
    await expect(read).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  });

  test('batches of one answer share its bound', async () => {
    const read = withinBytes(150_000, async () => {
      await codec.decompress(await batch);
      await codec.decompress(await batch);
    });
    await expect(read).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  });
});
