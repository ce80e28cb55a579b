import { mkdirSync } from 'node:fs';
import { run } from '../../support/toolchain/command.ts';

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
