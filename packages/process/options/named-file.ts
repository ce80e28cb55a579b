import { closeSync, constants, createReadStream, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import type { YAMLError } from 'yaml';
import { FleetGcError } from '../errors.ts';
import { systemCode, systemProblem } from '../system-problem.ts';

// Files that an operator named. A path of - is standard input.

const PIPE_CHUNK_BYTES = 65_536;
const WAIT_MS = 20;
const clock = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const FILE_CHUNK_BYTES = 256 * 1024;

/** What messages call it. */
export const fileText = (path: string): string => (path === '-' ? 'stdin' : path);

/** The text of a file, or in a few words why it cannot be read. */
export type TextFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** Settings, keys, certificates and labels take less. */
export const MAX_TEXT_BYTES = 1_048_576;

/** Reads a UTF-8 file at once, no further than it takes to know that it has more than `mostBytes`. */
export function readTextFile(path: string, mostBytes = MAX_TEXT_BYTES): TextFile {
  try {
    const bytes = path === '-' ? readToEnd(0, mostBytes) : readWhole(path, mostBytes);
    return bytes === null
      ? { ok: false, reason: `it has more than the ${mostBytes} bytes that are read` }
      : { ok: true, text: bytes.toString('utf8') };
  } catch (error) {
    return { ok: false, reason: unreadableReason(error) };
  }
}

/**
 * The bytes of a file, as they are asked for. Throws `USAGE` where it cannot be read,
 * and `INTERRUPTED` once the signal aborts.
 */
export async function* readBytes(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stream = path === '-' ? process.stdin : createReadStream(path, { highWaterMark: FILE_CHUNK_BYTES });
  const chunks: AsyncIterable<Buffer> = addAbortSignal(signal, stream);
  try {
    yield* chunks;
  } catch (error) {
    if (signal.aborted)
      throw new FleetGcError('INTERRUPTED', 'stopped before everything was read', { cause: error });
    throw new FleetGcError('USAGE', `${fileText(path)} cannot be read: ${unreadableReason(error)}`, {
      cause: error,
    });
  }
}

/** All of them at once. Throws as `readBytes`. */
export async function readAllBytes(path: string, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readBytes(path, signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function readWhole(path: string, mostBytes: number): Buffer | null {
  const fd = openSync(path, 'r');
  try {
    return readToEnd(fd, mostBytes);
  } finally {
    closeSync(fd);
  }
}

/**
 * Everything up to the end, however long its writer takes; `null` where that is more. A writer before us in a pipeline may have
 * made the pipe one that does not block: then "nothing there yet" comes as an error and is no end.
 */
function readToEnd(fd: number, mostBytes: number): Buffer | null {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes <= mostBytes; ) {
    const chunk = Buffer.allocUnsafe(PIPE_CHUNK_BYTES);
    const length = readChunk(fd, chunk);
    if (length === 0) return Buffer.concat(chunks);
    if (length === undefined) Atomics.wait(clock, 0, 0, WAIT_MS);
    else chunks.push(chunk.subarray(0, length));
    bytes += length ?? 0;
  }
  return null;
}

/** `undefined`: nothing is there yet. */
function readChunk(fd: number, chunk: Buffer): number | undefined {
  try {
    return readSync(fd, chunk);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return undefined;
    throw error;
  }
}

/** In a few words why a file cannot be read. */
export const unreadableReason = (error: unknown): string =>
  systemProblem(error) ?? systemCode(error) ?? String(error);

/** What is wrong with a YAML text, in plain words first; the parser's own come behind them. */
export function yamlFaultText({ code, message }: Pick<YAMLError, 'code' | 'message'>): string {
  if (code === 'DUPLICATE_KEY') return 'the same key stands here a second time';
  if (code === 'TAG_RESOLVE_FAILED') return 'a tag such as !name has no meaning here';
  return `this cannot be read as YAML; look at quotes, brackets and indentation here and just above (${message})`;
}

const READ_BY_OTHERS = 0o007;

type PrivateFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string; readonly cause?: unknown };

/**
 * The text of a file that none but its user and group can open, such as a key or a mounted Secret; or in a few words why it cannot be
 * used. A link is followed: what it leads to counts.
 */
export function readPrivateFile(path: string, mostBytes: number): PrivateFile {
  try {
    // To open a pipe would else wait for its writer, and the process with it.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const objection = objectionTo(fd, path, mostBytes);
      return objection === null
        ? { ok: true, text: readFileSync(fd, 'utf8') }
        : { ok: false, reason: objection };
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    return { ok: false, reason: unreadableReason(cause), cause };
  }
}

function objectionTo(fd: number, path: string, mostBytes: number): string | null {
  const stat = fstatSync(fd);
  if (!stat.isFile()) return 'it is no file';
  if (stat.size > mostBytes) return `it has more than ${mostBytes} bytes`;
  return (stat.mode & READ_BY_OTHERS) === 0
    ? null
    : `every user of this machine may open it; "chmod o= ${path}" mends that`;
}
