import { promisify } from 'node:util';
import { zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** Below this a trip to the thread pool costs more than the work. */
const SYNCHRONOUS_BYTES = 8 * 1024;

const compressLarge = promisify(zstdCompress);
const decompressLarge = promisify(zstdDecompress);

/** kafkajs has no zstd of its own, and a consumer without it cannot read a topic on which somebody used it. */
export const zstdCodec = {
  compress: async ({ buffer }: { readonly buffer: Buffer }): Promise<Buffer> =>
    buffer.length < SYNCHRONOUS_BYTES ? zstdCompressSync(buffer) : compressLarge(buffer),
  decompress: async (buffer: Buffer): Promise<Buffer> =>
    buffer.length < SYNCHRONOUS_BYTES ? zstdDecompressSync(buffer) : decompressLarge(buffer),
};

export function registerZstd(): void {
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstdCodec;
}
