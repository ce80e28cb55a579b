import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** Below this the work takes less than a millisecond, and a trip to the thread pool costs more than it saves. */
const SYNCHRONOUS_BYTES = 256 * 1024;
const LEAST_CHUNK_BYTES = 1024;
/** Of our events. */
const USUAL_RATIO = 6;

/**
 * The quickest, and of our events also the smallest: inventories are ids that do not compress, and the default level loses
 * a tenth on them. Only levels that take a hundred times as long give less.
 */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const compressLarge = promisify(zstdCompress);
const decompressLarge = promisify(zstdDecompress);

/** Room for what is expected at once: small for small events, and one piece instead of many for large ones. */
const roomFor = (bytes: number): { readonly chunkSize: number } => ({
  chunkSize: Math.min(Math.max(bytes, LEAST_CHUNK_BYTES), SYNCHRONOUS_BYTES),
});

async function compress({ buffer }: { readonly buffer: Buffer }): Promise<Buffer> {
  const options = { ...roomFor(buffer.length), ...LEVEL };
  return buffer.length < SYNCHRONOUS_BYTES
    ? zstdCompressSync(buffer, options)
    : compressLarge(buffer, options);
}

async function decompress(buffer: Buffer): Promise<Buffer> {
  const expectedBytes = buffer.length * USUAL_RATIO;
  const options = roomFor(expectedBytes);
  return expectedBytes < SYNCHRONOUS_BYTES
    ? zstdDecompressSync(buffer, options)
    : decompressLarge(buffer, options);
}

/** kafkajs has no zstd of its own, and a consumer without it cannot read a topic on which somebody used it. */
export const zstdCodec = { compress, decompress };

export function registerZstd(): void {
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstdCodec;
}
