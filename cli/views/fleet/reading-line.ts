import type { Logger } from 'pino';

const REPORT_AFTER_MS = 2_000;

/** Tells how far a reading is, where it is long enough for somebody to wonder. */
export function readingLine(
  logger: Pick<Logger, 'info'>,
  now: () => number = Date.now,
): (line: string) => void {
  const startedMs = now();
  return (line) => {
    if (now() - startedMs >= REPORT_AFTER_MS) logger.info(line);
  };
}
