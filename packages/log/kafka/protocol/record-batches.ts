import type { TopicName } from '../../../../schemas/events/topics.ts';
import { FleetGcError, toFleetGcError } from '../../../process/errors.ts';
import type { LogRecord } from '../../port.ts';
import { crc32c } from '../client/checksum.ts';
import { gzipCodec, hold, isTolerant, withinSomeBytes, zstdCodec } from './compression.ts';

type HeaderValue = Buffer | string | (Buffer | string)[] | undefined;

/** A record as kafkajs decodes it. */
export interface FetchedMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, HeaderValue>>;
  readonly isControlRecord?: boolean;
  /** Whether the time is that of the writer. */
  readonly isDatedByWriter?: boolean;
  /** Of a batch that could not be decoded, told at its last offset: why. */
  readonly unreadable?: string;
}

/** Of a header that is given several times the last one counts. */
function headerText(value: HeaderValue): string {
  const last = Array.isArray(value) ? value.at(-1) : value;
  return last?.toString() ?? '';
}

export const toLogRecord = (topic: TopicName, partition: number, message: FetchedMessage): LogRecord => ({
  topic,
  partition,
  offset: BigInt(message.offset),
  key: message.key?.toString() ?? null,
  value: message.value,
  headers: Object.fromEntries(
    Object.entries(message.headers ?? {}).map(([name, value]) => [name, headerText(value)]),
  ),
  timestampMs: Number(message.timestamp),
  ...(message.isDatedByWriter && { isDatedByWriter: true }),
  ...(message.unreadable !== undefined && { unreadable: message.unreadable }),
});

/** What a record takes in memory beside its bytes, and a header of it. */
const RECORD_BYTES = 200;
const HEADER_BYTES = 32;
/** No event has as many; of a record with more none is read, so that it is no event. */
const MAX_HEADERS = 100;

/** Before the bytes that the length of a batch counts: its first offset and the length. */
const LENGTH_END = 12;
/** Of what the length counts, the bytes before those that the checksum is of: the leader's epoch, the format, and the checksum. */
const CHECKSUM_END = 4 + 1 + 4;
const MAGIC = 2;
const COMPRESSION = 0x7;
const LOG_APPEND_TIME = 0x8;
const CONTROL = 0x20;
const GZIP = 1;
const ZSTD = 4;
const OTHERS: Readonly<Record<number, string>> = { 2: 'Snappy', 3: 'LZ4' };

interface Batch {
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  /** CRC-32C of all that follows it. */
  readonly checksum: number;
  readonly firstTimestamp: bigint;
  /** Of all records, where the broker stamps them. */
  readonly appendedAt: string | null;
  readonly maxTimestamp: bigint;
  readonly isControlRecord: boolean;
  readonly compression: number;
  /** Records, as it says. */
  readonly count: number;
}

/**
 * The records of all batches that are there as a whole and as they were written. kafkajs looks at no checksum, takes time in the square of the number of headers of a record (a minute for
 * 69 kB of them, in which nothing else happens), and fails on a batch of more than a hundred thousand records.
 */
async function decodeBatches(bytes: Buffer): Promise<FetchedMessage[]> {
  const reader = new ProtocolReader(bytes);
  const messages: FetchedMessage[] = [];
  let wholeBatches = 0;
  while (reader.leftBytes >= LENGTH_END) {
    const firstOffset = reader.int64();
    const length = reader.int32();
    // A broker cuts an answer off where it is full.
    if (length > reader.leftBytes) break;
    await decodeBatch(firstOffset, reader.bytes(length), messages);
    wholeBatches += 1;
  }
  // A broker sends the first batch whole whatever its size. What has none would look like an answer that has nothing to read.
  if (bytes.length > 0 && wholeBatches === 0)
    throw new FleetGcError('LOG_CORRUPT', `${bytes.length} bytes of records do not hold a complete batch`);
  return messages;
}

/**
 * A batch whose checksum is wrong is not as it was written, and nothing in it counts: a byte that changed on a disk or on the way could
 * be any other number. Where such a batch is told as one record, its header must at least agree with itself on where it ends, which
 * only that of another batch does not: else the partition stands still, rather than that records behind it are passed over.
 */
async function decodeBatch(firstOffset: bigint, bytes: Buffer, into: FetchedMessage[]): Promise<void> {
  const reader = new ProtocolReader(bytes);
  const batch = decodeHeader(firstOffset, reader);
  const recordBytes = reader.leftBytes;
  const before = into.length;
  const isWhole = crc32c(bytes.subarray(CHECKSUM_END)) === batch.checksum;
  try {
    if (!isWhole) throw damaged(batch);
    await decodeRecords(batch, reader, into);
  } catch (error) {
    if (!isTolerant() || (!isWhole && !hasPlausibleEnd(batch))) throw error;
    into.splice(before, Number.POSITIVE_INFINITY, unreadable(batch, recordBytes, toFleetGcError(error)));
  }
}

const damaged = ({ firstOffset }: Batch): FleetGcError =>
  new FleetGcError(
    'LOG_CORRUPT',
    `the checksum of the batch from offset ${firstOffset} on is wrong, so it is not as it was written`,
  );

/** Two fields that say the same, of which a single fault changes one. */
const hasPlausibleEnd = ({ firstOffset, lastOffset, count }: Batch): boolean =>
  lastOffset === firstOffset + BigInt(count) - 1n;

/** An empty value is no event, and unlike none it deletes nothing. */
const unreadable = (
  { firstOffset, lastOffset, maxTimestamp, count }: Batch,
  bytes: number,
  { message }: FleetGcError,
): FetchedMessage => ({
  timestamp: String(maxTimestamp),
  offset: String(lastOffset),
  key: null,
  value: Buffer.alloc(0),
  headers: {},
  unreadable: `a batch of ${count} records in ${bytes} bytes, from offset ${firstOffset} on, cannot be read: ${message}`,
});

function decodeHeader(firstOffset: bigint, reader: ProtocolReader): Batch {
  reader.int32(); // epoch of the leader
  const magic = reader.int8();
  if (magic !== MAGIC)
    throw new FleetGcError(
      'LOG_CORRUPT',
      `records of format ${magic} cannot be read, only of format ${MAGIC}`,
    );
  const checksum = reader.int32() >>> 0;
  const attributes = reader.int16();
  const lastOffset = firstOffset + BigInt(Math.max(0, reader.int32()));
  const firstTimestamp = reader.int64();
  const maxTimestamp = reader.int64();
  reader.bytes(8 + 2 + 4); // producer, its epoch, and its first sequence
  return {
    firstOffset,
    lastOffset,
    checksum,
    firstTimestamp,
    maxTimestamp,
    appendedAt: (attributes & LOG_APPEND_TIME) === 0 ? null : String(maxTimestamp),
    isControlRecord: (attributes & CONTROL) !== 0,
    compression: attributes & COMPRESSION,
    count: reader.int32(),
  };
}

async function decodeRecords(batch: Batch, reader: ProtocolReader, into: FetchedMessage[]): Promise<void> {
  const { count, compression } = batch;
  if (count <= 0) return;
  hold(count * RECORD_BYTES);
  const records = new ProtocolReader(await decompressed(compression, reader));
  for (let index = 0; index < count; index++)
    into.push(decodeRecord(new ProtocolReader(records.bytes(records.varint())), batch));
}

async function decompressed(compression: number, reader: ProtocolReader): Promise<Buffer> {
  const bytes = reader.bytes(reader.leftBytes);
  switch (compression) {
    case 0:
      return bytes;
    case GZIP:
      return gzipCodec.decompress(bytes);
    case ZSTD:
      return zstdCodec.decompress(bytes);
    default:
      throw new FleetGcError(
        'LOG_CORRUPT',
        `what lies there is compressed with ${OTHERS[compression] ?? `codec ${compression}`}, and only zstd and gzip can be read`,
      );
  }
}

function decodeRecord(reader: ProtocolReader, batch: Batch): FetchedMessage {
  reader.int8(); // attributes, of which there are none yet
  const timestampDelta = reader.varint();
  const offsetDelta = reader.varint();
  const { firstOffset, firstTimestamp, appendedAt, isControlRecord } = batch;
  return {
    timestamp: appendedAt ?? String(firstTimestamp + BigInt(timestampDelta)),
    offset: String(firstOffset + BigInt(offsetDelta)),
    key: reader.varbytes(),
    value: reader.varbytes(),
    headers: decodeHeaders(reader),
    isControlRecord,
    isDatedByWriter: appendedAt === null,
  };
}

/** Of a header that is given several times the last one counts. */
function decodeHeaders(reader: ProtocolReader): Readonly<Record<string, Buffer>> {
  const count = reader.varint();
  if (count > MAX_HEADERS) return {};
  hold(count * HEADER_BYTES);
  const headers = new Map<string, Buffer>();
  for (let index = 0; index < count; index++)
    headers.set(String(reader.varbytes() ?? ''), reader.varbytes() ?? Buffer.alloc(0));
  return Object.fromEntries(headers);
}

const CONTINUES = 0x80;
const SEVEN_BITS = 0x7f;
/** Of a number of 64 bits. */
const MOST_VARINT_BYTES = 10;

/** Reads the fields of Kafka's protocol one after another. Throws `LOG_CORRUPT` where one is not there or can not be. */
export class ProtocolReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get leftBytes(): number {
    return this.#bytes.length - this.#at;
  }

  int8(): number {
    return this.#bytes.readInt8(this.#advance(1));
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#advance(4));
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#advance(8));
  }

  bytes(length: number): Buffer {
    const from = this.#advance(length);
    return this.#bytes.subarray(from, from + length);
  }

  /** Of 53 bits at most, which no length, offset within a batch or time of ours goes beyond. */
  varint(): number {
    let coded = 0;
    for (let count = 0; count < MOST_VARINT_BYTES; count++) {
      const byte = this.int8();
      coded += (byte & SEVEN_BITS) * 2 ** (7 * count);
      if ((byte & CONTINUES) === 0) return coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2;
    }
    throw corrupt('a number without an end');
  }

  /** `null` where the length says so. */
  varbytes(): Buffer | null {
    const length = this.varint();
    return length === -1 ? null : this.bytes(length);
  }

  /** As many as a number of 32 bits before them says; none where that is -1. */
  async array<T>(read: () => T | Promise<T>): Promise<T[]> {
    const length = this.int32();
    const found: T[] = [];
    for (let count = 0; count < length; count++) found.push(await read());
    return found;
  }

  #advance(length: number): number {
    if (!(length >= 0 && length <= this.leftBytes)) throw corrupt(`a field of ${length} bytes`);
    this.#at += length;
    return this.#at - length;
  }
}

const corrupt = (what: string): FleetGcError =>
  new FleetGcError('LOG_CORRUPT', `what a broker answered cannot be read: it has ${what}`);

interface DecodedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedMessage[];
}

/** As much as kafkajs and we look at. */
interface DecodedFetch {
  readonly throttleTime: number;
  readonly clientSideThrottleTime: number;
  readonly errorCode: number;
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly DecodedPartition[];
  }[];
}

export type DecodeFetch = (answer: Buffer) => Promise<DecodedFetch>;

/** Decodes what a broker of Kafka 2.3 or later answers to a fetch (version 11). */
export const decodeFetch: DecodeFetch = (answer) =>
  withinSomeBytes(async () => {
    const reader = new ProtocolReader(answer);
    const clientSideThrottleTime = reader.int32();
    const errorCode = reader.int16();
    reader.int32(); // session
    const responses = await reader.array(async () => ({
      topicName: String(reader.bytes(reader.int16())),
      partitions: await reader.array(() => decodePartition(reader)),
    }));
    // It has not throttled: it asks us to wait.
    return { throttleTime: 0, clientSideThrottleTime, errorCode, responses };
  });

async function decodePartition(reader: ProtocolReader): Promise<DecodedPartition> {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = String(reader.int64());
  reader.bytes(8 + 8); // last stable offset, and where the log starts
  await reader.array(() => reader.bytes(8 + 8)); // transactions that were aborted
  reader.int32(); // which replica to read from
  const length = reader.int32();
  const messages = length > 0 ? await decodeBatches(reader.bytes(length)) : [];
  return { partition, errorCode, highWatermark, messages };
}
