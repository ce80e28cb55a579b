import { readSync } from 'node:fs';

const CHUNK_BYTES = 65_536;
const WAIT_MS = 20;
const clock = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Everything up to the end of standard input, however long its writer takes. A writer before us in a pipeline may have
 * made the pipe one that does not block: then "nothing there yet" comes as an error and is no end.
 */
export function readStandardInput(): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
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
