import { readFileSync } from 'node:fs';
import { readStandardInput } from './standard-input.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
};

/** The text of a file, or in a few words why it cannot be read. */
export type TextFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** Reads a UTF-8 file that an operator named. `-` is standard input. */
export function readTextFile(path: string): TextFile {
  try {
    return { ok: true, text: path === '-' ? readStandardInput() : readFileSync(path, 'utf8') };
  } catch (error) {
    return { ok: false, reason: unreadableReason(error) };
  }
}

/** In a few words why a file cannot be read. */
export function unreadableReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return REASONS[code] ?? code;
}
