import type { LogDestination } from '../../packages/process/logger.ts';

/** Collects what is logged, line by line. */
export function logLines(isTerminal = false): LogDestination & { readonly lines: string[] } {
  const lines: string[] = [];
  return { isTerminal, lines, write: (line) => lines.push(line) };
}

export const parsedLines = (lines: readonly string[]): readonly unknown[] =>
  lines.map((line): unknown => JSON.parse(line));
