import { createReadStream } from 'node:fs';
import { stdin } from 'node:process';
import { addAbortSignal } from 'node:stream';
import { FleetGcError } from '../../packages/process/errors.ts';
import { unreadableReason } from '../../packages/process/options/text-file.ts';

const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes of a file that an operator named, as they are asked for; `-` is standard input. Throws `USAGE` where it
 * cannot be read, and `INTERRUPTED` once the signal aborts.
 */
export async function* readBytes(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stream = path === '-' ? stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES });
  const chunks: AsyncIterable<Buffer> = addAbortSignal(signal, stream);
  try {
    yield* chunks;
  } catch (error) {
    if (signal.aborted)
      throw new FleetGcError('INTERRUPTED', 'stopped before everything was read', { cause: error });
    const file = path === '-' ? 'stdin' : path;
    throw new FleetGcError('USAGE', `${file} cannot be read: ${unreadableReason(error)}`, { cause: error });
  }
}

/** All of them at once. Throws as `readBytes`. */
export async function readAllBytes(path: string, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readBytes(path, signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
