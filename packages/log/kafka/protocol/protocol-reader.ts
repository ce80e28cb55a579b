import { FleetGcError } from '../../../process/errors.ts';

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
