import type { Logger } from 'pino';
import { backoffMs, type RetryBackoff, type Sleep } from '../../packages/process/backoff.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';

interface Publishing {
  /** What is published, for the log. */
  readonly what: string;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly logger: Logger;
}

const BACKOFF: RetryBackoff = { firstMs: 500, mostMs: 30_000 };

/** What cannot be published waits, and so does what comes after it. */
export async function publishUntilDone(
  publish: () => Promise<void>,
  { what, sleep, random, logger }: Publishing,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      await publish();
      return;
    } catch (error) {
      const foreseen = toFleetGcError(error);
      if (!foreseen.retry) throw foreseen;
      logger.warn({ err: foreseen }, `${what} cannot be published; what comes after it waits`);
      await sleep(backoffMs(BACKOFF, attempt, random), signal);
    }
  }
}
