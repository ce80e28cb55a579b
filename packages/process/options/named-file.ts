import { createReadStream, readFileSync, readSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import type { YAMLError } from 'yaml';
import { FleetGcError } from '../errors.ts';

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

/** Reads a UTF-8 file at once. */
export function readTextFile(path: string): TextFile {
  try {
    return { ok: true, text: path === '-' ? readStandardInput() : readFileSync(path, 'utf8') };
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

/**
 * Everything up to the end of standard input, however long its writer takes. A writer before us in a pipeline may have
 * made the pipe one that does not block: then "nothing there yet" comes as an error and is no end.
 */
function readStandardInput(): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.allocUnsafe(PIPE_CHUNK_BYTES);
    const length = readChunk(chunk);
    if (length === 0) return Buffer.concat(chunks).toString('utf8');
    if (length === undefined) Atomics.wait(clock, 0, 0, WAIT_MS);
    else chunks.push(chunk.subarray(0, length));
  }
}

/** `undefined`: nothing is there yet. */
function readChunk(chunk: Buffer): number | undefined {
  try {
    return readSync(0, chunk);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return undefined;
    throw error;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
};

/** In a few words why a file cannot be read. */
export function unreadableReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return REASONS[code] ?? code;
}

/** What is wrong with a YAML text, in plain words first; the parser's own come behind them. */
export function yamlFaultText({ code, message }: Pick<YAMLError, 'code' | 'message'>): string {
  if (code === 'DUPLICATE_KEY') return 'the same key stands here a second time';
  if (code === 'TAG_RESOLVE_FAILED') return 'a tag such as !name has no meaning here';
  return `this cannot be read as YAML; look at quotes, brackets and indentation here and just above (${message})`;
}
