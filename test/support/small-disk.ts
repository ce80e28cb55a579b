import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from './temporary-directory.ts';

/** A real filesystem of its own, which a test may fill. */
export interface SmallDisk {
  readonly path: string;
  /** Until nobody gets another byte. */
  fill(): void;
  /** Takes away what `fill` wrote. */
  free(): void;
  makeReadOnly(): void;
  availableBytes(): number;
}

/** An ext4 in a file, mounted: that takes root and loop devices, and a test that has neither fails and says so. */
export function smallDisk(megabytes: number): SmallDisk {
  if (process.getuid?.() !== 0)
    throw new Error('this test mounts a small filesystem, which only root may: run it as root');
  const directory = temporaryDirectory();
  const [image, path] = [join(directory, 'disk.img'), join(directory, 'disk')];
  mkdirSync(path);
  run('truncate', '-s', `${megabytes}M`, image);
  run('mkfs.ext4', '-q', '-F', '-m', '0', image);
  run('mount', '-o', 'loop', image, path);
  onTestFinished(() => run('umount', '--lazy', path));
  const filler = join(path, 'filler');
  return {
    path,
    fill: () => fillWith(filler),
    free: () => rmSync(filler),
    makeReadOnly: () => run('mount', '-o', 'remount,ro', path),
    availableBytes: () => {
      const { bsize, bavail } = statfsSync(path);
      return bsize * bavail;
    },
  };
}

function run(program: string, ...args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: 'pipe' });
  } catch (cause) {
    throw new Error(`this test needs a small filesystem, and "${program}" failed: ${String(cause)}`, {
      cause,
    });
  }
}

/** In smaller and smaller pieces. */
function fillWith(path: string): void {
  const fd = openSync(path, 'a');
  try {
    for (const bytes of [1_048_576, 4096, 1])
      for (const piece = Buffer.alloc(bytes, 1); hasTaken(fd, piece); );
  } finally {
    closeSync(fd);
  }
}

function hasTaken(fd: number, piece: Buffer): boolean {
  try {
    return writeSync(fd, piece) > 0;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
    throw error;
  }
}
