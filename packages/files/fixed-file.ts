import { createHash, randomUUID } from 'node:crypto';
import { fdatasyncSync, linkSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import { systemCode, systemProblem } from '../process/system-problem.ts';
import { RefusedFile, syncDirectory, withOwnFile, writeAll, writeNewFile } from './open-file.ts';

/** A file that another process writes. */
export interface ReadOnlyFile<T> {
  /** The last value written whole; `null` when there is none. Throws `STATE_UNREADABLE` when damaged. */
  read(): T | null;
}

/** One value in a file that keeps its full size for ever, so that changing it needs no new block on the disk. */
export interface FixedFile<T> extends ReadOnlyFile<T> {
  /**
   * Replaces the value: in place, synced when it returns. Throws `STATE_UNWRITABLE`; the former value is then still
   * what `read` gives.
   */
  write(value: T): void;
}

type Position = Pick<Copy, 'slot' | 'sequence'>;

const NOTHING = Buffer.alloc(0);
/** A reader can meet the writer in both copies, one after the other; a writer cannot keep that up. */
const READ_ATTEMPTS = 5;

/**
 * Opens `path` for its one writer, with room for `valueBytes` of JSON. The file is made at its full size if missing,
 * and made anew with its value if an older release made it smaller.
 */
export function openFixedFile<T>(path: string, valueBytes: number, schema: z.ZodType<T>): FixedFile<T> {
  createFixedFile(path, valueBytes, null);
  growFixedFile(path, valueBytes);
  const slotBytes = statSync(path).size / 2;
  const { read } = openReadOnlyFile(path, schema);
  let newest = newestPosition(readIfPresent(path) ?? NOTHING);
  const write = (value: T): void => {
    const next: Position = { slot: newest.slot === 0 ? 1 : 0, sequence: newest.sequence + 1n };
    writeCopy(path, next.slot * slotBytes, encodeCopy(next.sequence, jsonThatFits(path, value, slotBytes)));
    newest = next;
  };
  return { read, write };
}

/** Without the value, which would keep the whole file in memory until the next write. */
function newestPosition(file: Buffer): Position {
  const { slot, sequence } = newestCopy(file) ?? { slot: 1, sequence: 0n };
  return { slot, sequence };
}

/** Each read opens the file anew, so it need not exist yet and may be replaced meanwhile. */
export function openReadOnlyFile<T>(path: string, schema: z.ZodType<T>): ReadOnlyFile<T> {
  const read = (): T | null => {
    const value = readNewest(path);
    return value === null || value.length === 0 ? null : parse(path, value, schema);
  };
  return { read };
}

/** The bytes of the newest whole copy; `null` when there is no file. */
function readNewest(path: string): Buffer | null {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const file = readIfPresent(path);
    if (file === null) return null;
    const copy = newestCopy(file);
    if (copy !== null) return copy.value;
  }
  throw unreadable(path, 'both copies in it are damaged');
}

/**
 * Makes the file at its full size, holding `value` (`null`: nothing yet). Whole or not at all, and never over an
 * existing one: of two processes that start together, one makes the file and both use it.
 */
export function createFixedFile(path: string, valueBytes: number, value: unknown): void {
  if (readSize(path) !== null) return;
  const content = value === null ? NOTHING : Buffer.from(JSON.stringify(value));
  const first = encodeCopy(0n, content);
  placeFile(path, slotBytesFor(Math.max(valueBytes, content.length)), first, (temporary) => {
    try {
      linkSync(temporary, path);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  });
}

/** A damaged file stays damaged, so that its reader learns of it. */
function growFixedFile(path: string, valueBytes: number): void {
  const slotBytes = slotBytesFor(valueBytes);
  if ((readSize(path) ?? 0) >= 2 * slotBytes) return;
  const copy = newestCopy(readIfPresent(path) ?? NOTHING);
  const first = copy ? encodeCopy(copy.sequence, copy.value) : NOTHING;
  placeFile(path, slotBytes, first, (temporary) => renameSync(temporary, path));
}

function placeFile(path: string, slotBytes: number, first: Buffer, place: (temporary: string) => void): void {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.new`);
  const content = Buffer.alloc(2 * slotBytes);
  first.copy(content);
  try {
    writeNewFile(temporary, content);
    place(temporary);
    rmSync(temporary, { force: true });
    syncDirectory(dirname(path));
  } catch (cause) {
    throw unwritable(path, cause);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeCopy(path: string, position: number, copy: Buffer): void {
  try {
    withOwnFile(path, 'read-write', (fd) => {
      writeAll(fd, copy, position);
      fdatasyncSync(fd);
    });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

function jsonThatFits(path: string, value: unknown, slotBytes: number): Buffer {
  const json = Buffer.from(JSON.stringify(value));
  if (json.length <= roomIn(slotBytes)) return json;
  throw unwritable(
    path,
    new Error(`the value has ${json.length} bytes, there is room for ${roomIn(slotBytes)}`),
  );
}

function parse<T>(path: string, json: Buffer, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(jsonIn(path, json));
  if (parsed.success) return parsed.data;
  throw unreadable(
    path,
    `its content is of another form: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`,
  );
}

/** The parser's own message quotes what it read. */
function jsonIn(path: string, json: Buffer): unknown {
  try {
    return JSON.parse(json.toString('utf8'));
  } catch (cause) {
    throw unreadable(path, 'its content is not JSON', cause);
  }
}

function readIfPresent(path: string): Buffer | null {
  try {
    return withOwnFile(path, 'read', (fd) => readFileSync(fd));
  } catch (cause) {
    if (systemCode(cause) === 'ENOENT') return null;
    throw unreadable(path, problemOf(cause), cause);
  }
}

function readSize(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

const problemOf = (error: unknown): string =>
  systemCode(error) === 'ELOOP'
    ? 'it is a symbolic link, which no state file is'
    : (systemProblem(error) ?? messageOf(error));

/** Of a file that is made: what is missing is its directory. */
const unwritableProblem = (path: string, error: unknown): string =>
  systemCode(error) === 'ENOENT' ? `there is no directory ${dirname(path)}` : problemOf(error);

function messageOf(error: unknown): string {
  if (error instanceof RefusedFile) return error.reason;
  return error instanceof Error ? error.message : String(error);
}

const unwritable = (path: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_UNWRITABLE',
    `cannot write the state file ${path}: ${unwritableProblem(path, cause)}`,
    {
      cause,
    },
  );

const unreadable = (path: string, what: string, cause?: unknown): FleetGcError =>
  new FleetGcError('STATE_UNREADABLE', `cannot read the state file ${path}: ${what}`, { cause });

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
interface Copy {
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
