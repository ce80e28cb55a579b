import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const MEBIBYTE = 1024 * 1024;
/** What a relief writes at the most, several times over: so much is free in the file, and so long is its journal. */
export const SPACE_BYTES = 8 * MEBIBYTE;
const RESERVE_BYTES = SPACE_BYTES + MEBIBYTE;
/** On a disk with less than this nothing is made larger. */
const ROOM_BYTES = 4 * SPACE_BYTES;

const reserveOf = (path: string): string => `${path}-reserve`;

/** Whether the disk has room; what is reserved for root counts for root. */
export function hasRoom(path: string): boolean {
  const { bsize, bfree, bavail } = statfsSync(dirname(path));
  return bsize * (process.getuid?.() === 0 ? bfree : bavail) >= ROOM_BYTES;
}

/**
 * A file that only takes space, to be given back when the log is opened on a full disk: its journal went when it was closed.
 * Throws a system error.
 */
export function writeReserve(path: string): void {
  const file = reserveOf(path);
  if (statSync(file, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
  const fd = openSync(file, 'w', 0o600);
  try {
    for (let left = RESERVE_BYTES; left > 0; left -= MEBIBYTE) writeSync(fd, Buffer.alloc(MEBIBYTE));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Gives it back; false where there is none. */
export function releaseReserve(path: string): boolean {
  try {
    rmSync(reserveOf(path));
    return true;
  } catch {
    return false;
  }
}
