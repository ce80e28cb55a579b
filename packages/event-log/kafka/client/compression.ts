import { promisify } from 'node:util';
import {
  constants,
  gunzip,
  gunzipSync,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';
import kafkajs from 'kafkajs';
import { inflated } from './inflation.ts';

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
const gunzipLarge = promisify(gunzip);

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

/** What a codec is asked to decompress with: in pieces that are as large as what is expected, and no more than may come out. */
interface Room {
  readonly chunkSize: number;
  readonly maxOutputLength: number;
}

interface Decompressor {
  readonly small: (buffer: Buffer, room: Room) => Buffer;
  readonly large: (buffer: Buffer, room: Room) => Promise<Buffer>;
}

const decompressWith =
  ({ small, large }: Decompressor) =>
  (buffer: Buffer): Promise<Buffer> => {
    const expectedBytes = buffer.length * USUAL_RATIO;
    const way = expectedBytes < SYNCHRONOUS_BYTES ? small : large;
    return inflated((maxOutputLength) => way(buffer, { ...roomFor(expectedBytes), maxOutputLength }));
  };

/** kafkajs has no zstd of its own, and a consumer without it cannot read a topic on which somebody used it. */
export const zstdCodec = {
  compress,
  decompress: decompressWith({ small: zstdDecompressSync, large: decompressLarge }),
};

/** In place of kafkajs's own, which decompresses without a bound. */
export const gzipCodec = {
  compress: async ({ buffer }: { readonly buffer: Buffer }): Promise<Buffer> => gzipSync(buffer),
  decompress: decompressWith({ small: gunzipSync, large: gunzipLarge }),
};

export function registerCodecs(): void {
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstdCodec;
  CompressionCodecs[CompressionTypes.GZIP] = () => gzipCodec;
}
