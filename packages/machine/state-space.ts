import { statfsSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Sleep } from '../process/backoff.ts';
import type { Check } from '../process/http.ts';
import { runEvery } from '../process/loops.ts';
import type { Metrics } from '../process/metrics.ts';
import { sizeText } from '../text/size-text.ts';

/**
 * Reported below this, while writes still succeed; the embedded event log has the same bound.
 * @limit Free space for the state directory below which the node warns.
 */
export const LOW_STATE_BYTES = 256 * 1024 * 1024;
const CHECK_EVERY_MS = 60_000;

/** `null` where it cannot be measured. */
type AvailableBytes = (path: string) => number | null;

/** What is reserved for root counts for root. */
const availableBytesAt: AvailableBytes = (path) => {
  try {
    const { bsize, bfree, bavail } = statfsSync(path);
    return bsize * (process.getuid?.() === 0 ? bfree : bavail);
  } catch {
    return null;
  }
};

/** The process that has the state directory. */
interface SpaceWatcher {
  readonly metrics: Metrics;
  readonly logger: Logger;
  addCheck(check: Check): void;
  readonly sources: { readonly wait: Sleep };
}

/**
 * Reports how much space is left beside what a process keeps over its restarts: a metric for the operators of a fleet, a notice of
 * `/readyz?verbose`, and, by the loop that is returned, the logger output once each time that it becomes low. A process that cannot write
 * there goes on, so it stays ready.
 */
export function watchStateSpace(
  path: string,
  { metrics, logger, addCheck, sources }: SpaceWatcher,
  availableBytes: AvailableBytes = availableBytesAt,
): (signal: AbortSignal) => Promise<void> {
  metrics.gauge(
    'state_directory_available_bytes',
    'Space that is left on the disk of the state directory.',
    [],
    () => {
      const bytes = availableBytes(path);
      return bytes === null ? [] : [[{}, bytes]];
    },
  );
  const notice = (): string | null => {
    const bytes = availableBytes(path);
    return bytes === null || bytes >= LOW_STATE_BYTES ? null : lowText(path, bytes);
  };
  addCheck({ name: 'state directory', problem: () => null, notice });
  let isReported = false;
  const report = (): void => {
    const low = notice();
    if (low !== null && !isReported) logger.warn(low);
    isReported = low !== null;
  };
  return (signal) => runEvery(CHECK_EVERY_MS, report, { sleep: sources.wait, signal });
}

const lowText = (path: string, bytes: number): string =>
  `The disk of the state directory ${path} has ${sizeText(BigInt(bytes))} left. Free space on it: once it is full, what changes may be kept in memory alone, and a restart forgets it.`;
