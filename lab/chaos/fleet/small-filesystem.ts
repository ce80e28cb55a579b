import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../test/support/toolchain/command.ts';

const MOUNT_MS = 10_000;

/** A filesystem of its own in memory, as small as it is asked to be; gone when disposed of. Needs root. */
export async function smallFilesystem(path: string, sizeBytes: number): Promise<AsyncDisposable> {
  mkdirSync(path, { recursive: true });
  const options = ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=0755`, 'tmpfs', path];
  await run('mount', options, { usualMs: MOUNT_MS });
  return {
    [Symbol.asyncDispose]: async () => void (await run('umount', ['--lazy', path], { usualMs: MOUNT_MS })),
  };
}

const PIECE = Buffer.alloc(1024 * 1024, 1);

/** Takes all that is left of the filesystem; what is returned gives it back. Any number of faults may do it at a time. */
export function fillUp(directory: string): () => void {
  const path = join(directory, `ballast-${randomUUID()}`);
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, PIECE);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    closeSync(file);
  }
  return () => rmSync(path);
}
