import { createHash } from 'node:crypto';

/**
 * A fixed file is two slots of equal size, each holding one whole value behind a header:
 * magic (8 bytes), sequence (8), length of the value (4), reserved (4), SHA-256 of all that and the value (32).
 * A value is written over the older slot, so a write that is cut off leaves the newer one as it was.
 */
const MAGIC = Buffer.from('fleetgc1');
const CHECKED_HEADER_BYTES = 24;
const HEADER_BYTES = 56;
const BLOCK_BYTES = 4096;

/** What a slot holds whole. An empty value means that nothing was written yet. */
export interface Copy {
  readonly slot: 0 | 1;
  readonly sequence: bigint;
  readonly value: Buffer;
}

/** Size of one slot that has room for a value of `valueBytes`, in whole blocks. */
export const slotBytesFor = (valueBytes: number): number =>
  Math.ceil((HEADER_BYTES + valueBytes) / BLOCK_BYTES) * BLOCK_BYTES;

/** The longest value a slot takes. */
export const roomIn = (slotBytes: number): number => slotBytes - HEADER_BYTES;

export function encodeCopy(sequence: bigint, value: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.writeBigUInt64BE(sequence, 8);
  header.writeUInt32BE(value.length, 16);
  checksum(header, value).copy(header, CHECKED_HEADER_BYTES);
  return Buffer.concat([header, value]);
}

/** The newest copy that is whole, or `null` when neither is. */
export function newestCopy(file: Buffer): Copy | null {
  const middle = file.length / 2;
  const first = decodeCopy(0, file.subarray(0, middle));
  const second = decodeCopy(1, file.subarray(middle));
  if (first === null || second === null) return first ?? second;
  return second.sequence > first.sequence ? second : first;
}

function decodeCopy(slot: 0 | 1, bytes: Buffer): Copy | null {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, 8).equals(MAGIC)) return null;
  const length = bytes.readUInt32BE(16);
  if (length > roomIn(bytes.length)) return null;
  const value = bytes.subarray(HEADER_BYTES, HEADER_BYTES + length);
  const expected = bytes.subarray(CHECKED_HEADER_BYTES, HEADER_BYTES);
  return checksum(bytes, value).equals(expected) ? { slot, sequence: bytes.readBigUInt64BE(8), value } : null;
}

const checksum = (header: Buffer, value: Buffer): Buffer =>
  createHash('sha256').update(header.subarray(0, CHECKED_HEADER_BYTES)).update(value).digest();
