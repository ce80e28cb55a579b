import { printableLine } from './printable.ts';

/** Text for people, of lines that are ours: what others wrote in one of them begins none, and rewrites nothing. */
export const linesText = (lines: readonly string[]): string =>
  lines.map((line) => `${printableLine(line)}\n`).join('');

/** The last words of a command that failed. */
export const failureText = (command: string, [first = '', ...more]: readonly string[]): string =>
  linesText([`${command}: ${first}`, ...more]);
