import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { unreadableReason } from './named-file.ts';

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
