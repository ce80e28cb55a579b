import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import type { RetryBackoff } from '../process/backoff.ts';
import { FleetGcError } from '../process/errors.ts';
import type { LogRecord, OutgoingRecord, Subscription } from './port.ts';

/**
 * The product's limit for one record, after compression.
 * @limit Size of a record. Topics and brokers must allow it.
 */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024;
/**
 * Records of one call to a handler, and what they may weigh together (one record may weigh more).
 * @limit Records of one handler call.
 */
export const MAX_SLICE_RECORDS = 500;
/** @limit Bytes of one handler call. */
export const MAX_SLICE_BYTES = 2 * 1024 * 1024;

const compress = promisify(zstdCompress);

const textBytes = (headers: Readonly<Record<string, string>>): number =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);

/** What a record weighs on the log before compression, about. */
export const recordBytes = (record: Pick<OutgoingRecord | LogRecord, 'key' | 'value' | 'headers'>): number =>
  (record.value?.length ?? 0) + Buffer.byteLength(record.key ?? '') + textBytes(record.headers);

/** Refuses records that are too large even when compressed. Only those that might be are compressed for it. Topics are told with `prefix`. */
export async function refuseTooLarge(records: readonly OutgoingRecord[], prefix: string): Promise<void> {
  for (const { topic, key, value } of records) {
    if (value === null || value.length <= MAX_RECORD_BYTES) continue;
    const compressedBytes = (await compress(value)).length;
    if (compressedBytes <= MAX_RECORD_BYTES) continue;
    throw new FleetGcError(
      'LOG_RECORD_TOO_LARGE',
      `A record for ${prefix}${topic} with key ${key} is ${compressedBytes} bytes after compression, more than the ${MAX_RECORD_BYTES} allowed. It was not published.`,
    );
  }
}

/** Records of one slice: what the subscription asks for, at most 500. */
export const sliceRecords = (subscription: Pick<Subscription, 'maxSliceRecords'>): number =>
  Math.min(subscription.maxSliceRecords ?? MAX_SLICE_RECORDS, MAX_SLICE_RECORDS);

/**
 * How soon what failed is tried again, by what failed. The loops around it are ours and not cockatiel's: they serve for ever, and
 * repeat no single call that is to succeed once.
 */
export const RETRY_BACKOFFS = {
  /** A slice, a fetch, a commit or a start position: its partition stands still meanwhile. */
  partition: { firstMs: 100, mostMs: 5000 },
  /** A member of a group, which joins anew. */
  member: { firstMs: 200, mostMs: 5000 },
  /** Where a reading begins and ends: somebody may wait for it. */
  range: { firstMs: 100, mostMs: 2000 },
  /** A batch on its way out: another broker soon leads its partition. */
  batch: { firstMs: 100, mostMs: 1000 },
  /** The producer, which nobody waits for before something is published. */
  producer: { firstMs: 200, mostMs: 10_000 },
} as const satisfies Record<string, RetryBackoff>;
