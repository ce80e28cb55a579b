import { randomBytes } from 'node:crypto';
import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { registerZstd, zstdCodec } from '../../../../services/shared/event-log/kafka/compression.ts';

test.each([0, 1, 8191, 8192, 500_000])('%i bytes come back', async (length) => {
  const buffer = randomBytes(length);
  expect(buffer.equals(await zstdCodec.decompress(await zstdCodec.compress({ buffer })))).toBe(true);
});

test('text becomes much smaller', async () => {
  const buffer = Buffer.from('sha256:0123456789'.repeat(10_000));
  expect((await zstdCodec.compress({ buffer })).length).toBeLessThan(buffer.length / 50);
});

test('kafkajs finds the codec', () => {
  registerZstd();
  expect(kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]()).toBe(zstdCodec);
});
