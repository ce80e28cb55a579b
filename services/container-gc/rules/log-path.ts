import type { Kept } from '../../../packages/decision/conclusion.ts';

/** What a pattern of log files would take as more than a name (G20). */
const GLOB_CHARACTERS = /[*?[\]{}\\]/;

/**
 * A container goes with its log files. The executor refuses a path that it cannot trust, so a command with such a
 * container would only lose a place to it. A path that the runtime did not tell is left to the executor, who asks again.
 */
export function untrustedLogPath(logPath: string | null): Kept | undefined {
  if (logPath === null || isTrusted(logPath)) return undefined;
  return { rule: 'G20', facts: { logPath } };
}

const isTrusted = (path: string): boolean =>
  path.startsWith('/') && !leadsUp(path) && !GLOB_CHARACTERS.test(path);

/** Hardly any path has two dots in a row, so hardly any is taken apart. */
const leadsUp = (path: string): boolean => path.includes('..') && path.split('/').includes('..');
