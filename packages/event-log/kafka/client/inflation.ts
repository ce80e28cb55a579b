import { AsyncLocalStorage } from 'node:async_hooks';
import { FleetGcError } from '../../../process/errors.ts';

/** What one answer of a broker may still become, decompressed. */
interface Room {
  leftBytes: number;
  /** Whether a batch that cannot be decoded is told as one record, and not as an error. */
  readonly isTolerant: boolean;
}

const rooms = new AsyncLocalStorage<Room>();

/** Of what nobody gave a bound of its own: as much as the largest message may have. */
const LARGEST_BYTES = 64 * 1024 * 1024;

/**
 * Runs `fetch`, in which batches together become `bytes` at most: a few kilobytes can be made to become gigabytes, and what is fetched
 * is held in memory before anybody looks at it.
 */
export const withinBytes = <T>(bytes: number, fetch: () => Promise<T>): Promise<T> =>
  rooms.run({ leftBytes: bytes, isTolerant: false }, fetch);

/** The same, for an answer that has one batch: when that cannot be decoded it comes as one record that says so. */
export const tolerantWithin = <T>(bytes: number, fetch: () => Promise<T>): Promise<T> =>
  rooms.run({ leftBytes: bytes, isTolerant: true }, fetch);

export const isTolerant = (): boolean => rooms.getStore()?.isTolerant ?? false;

/** As `withinBytes`, where nobody gave a bound. */
export const withinSomeBytes = <T>(decode: () => Promise<T>): Promise<T> =>
  rooms.getStore() === undefined ? withinBytes(LARGEST_BYTES, decode) : decode();

/** Takes what records need in memory beside their bytes from the room of their answer. Throws `LOG_CORRUPT` when there is no more. */
export function hold(bytes: number): void {
  const room = rooms.getStore();
  if (room === undefined) return;
  if (bytes > room.leftBytes)
    throw new FleetGcError(
      'LOG_CORRUPT',
      'what lies there has more records than can be held in memory at once',
    );
  room.leftBytes -= bytes;
}

/** Decompresses a batch within the room of its answer. Throws `LOG_CORRUPT` as soon as more comes out. */
export async function inflated(
  decompress: (maxOutputLength: number) => Buffer | Promise<Buffer>,
): Promise<Buffer> {
  const room = rooms.getStore() ?? { leftBytes: LARGEST_BYTES, isTolerant: false };
  try {
    const batch = await decompress(Math.max(room.leftBytes, 1));
    room.leftBytes -= batch.length;
    return batch;
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    throw new FleetGcError(
      'LOG_CORRUPT',
      `what lies there becomes more than ${room.leftBytes} bytes when it is decompressed`,
      { cause: error },
    );
  }
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
