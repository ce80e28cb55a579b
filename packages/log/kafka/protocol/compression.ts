import { AsyncLocalStorage } from 'node:async_hooks';
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
import { FleetGcError } from '../../../process/errors.ts';

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

/** What one answer of a broker may still become, decompressed. */
interface Allowance {
  leftBytes: number;
  /** Whether a batch that cannot be decoded is told as one record, and not as an error. */
  readonly isTolerant: boolean;
}

const allowances = new AsyncLocalStorage<Allowance>();

/** Of what nobody gave a bound of its own: as much as the largest message may have. */
const LARGEST_BYTES = 64 * 1024 * 1024;

/**
 * Runs `fetch`, in which batches together become `bytes` at most: a few kilobytes can be made to become gigabytes, and what is fetched
 * is held in memory before anybody looks at it.
 */
export const withinBytes = <T>(bytes: number, fetch: () => Promise<T>): Promise<T> =>
  allowances.run({ leftBytes: bytes, isTolerant: false }, fetch);

/** The same, for an answer that has one batch: when that cannot be decoded it comes as one record that says so. */
export const tolerantWithin = <T>(bytes: number, fetch: () => Promise<T>): Promise<T> =>
  allowances.run({ leftBytes: bytes, isTolerant: true }, fetch);

export const isTolerant = (): boolean => allowances.getStore()?.isTolerant ?? false;

/** As `withinBytes`, where nobody gave a bound. */
export const withinSomeBytes = <T>(decode: () => Promise<T>): Promise<T> =>
  allowances.getStore() === undefined ? withinBytes(LARGEST_BYTES, decode) : decode();

/** Takes what records need in memory beside their bytes from the allowance of their answer. Throws `LOG_CORRUPT` when there is no more. */
export function hold(bytes: number): void {
  const allowance = allowances.getStore();
  if (allowance === undefined) return;
  if (bytes > allowance.leftBytes)
    throw new FleetGcError(
      'LOG_CORRUPT',
      'what lies there has more records than can be held in memory at once',
    );
  allowance.leftBytes -= bytes;
}

/** Decompresses a batch within the allowance of its answer. Throws `LOG_CORRUPT` as soon as more comes out. */
export async function inflated(
  decompress: (maxOutputLength: number) => Buffer | Promise<Buffer>,
): Promise<Buffer> {
  const allowance = allowances.getStore() ?? { leftBytes: LARGEST_BYTES, isTolerant: false };
  try {
    const batch = await decompress(Math.max(allowance.leftBytes, 1));
    allowance.leftBytes -= batch.length;
    return batch;
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    throw new FleetGcError(
      'LOG_CORRUPT',
      `what lies there becomes more than ${allowance.leftBytes} bytes when it is decompressed`,
      { cause: error },
    );
  }
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
