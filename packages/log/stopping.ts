import { pause } from '../process/backoff.ts';
import { FleetGcError } from '../process/errors.ts';
import type { ReadTo } from './port.ts';

/**
 * How long the slice in hand may still take after a stop before its signal aborts, and then to return.
 * @limit Time for messages in progress at a stop. Keep it within `SHUTDOWN_LIMIT_MS`.
 */
export const STOP_GRACE_MS = 3000;
export const STOP_ABORTED_MS = 1000;

/** Waits for `work` at most so long. Never rejects: how the work ended is its owner's affair. */
export async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  const enough = new AbortController();
  const done = work.then(
    () => enough.abort(),
    () => enough.abort(),
  );
  await Promise.race([done, pause(ms, enough.signal)]);
  enough.abort();
}

/** Waits for `work`, or until `signal` aborts. Never rejects. */
export function waitUnless(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    work.then(end, end);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}

/**
 * Waits for the slices in hand: without bound while `stopping` is not asked for, then for a grace, and after `abort` a
 * little more. What does not return even then is left behind.
 */
export async function settleWork(
  work: () => readonly Promise<void>[],
  { stopping, abort }: { readonly stopping: AbortSignal; readonly abort: () => void },
): Promise<void> {
  await waitUnless(Promise.allSettled(work()), stopping);
  await waitAtMost(Promise.allSettled(work()), STOP_GRACE_MS);
  abort();
  await waitAtMost(Promise.allSettled(work()), STOP_ABORTED_MS);
}

/** What was read until then must not pass for the whole. */
export const interrupted = (): FleetGcError =>
  new FleetGcError('INTERRUPTED', 'stopped before everything was read, so nothing is said of it');

/** To be called where a reading stops early: one without an end may do so at any time, another throws `INTERRUPTED`. */
export function requireEndless(to: ReadTo): void {
  if (to !== 'forever') throw interrupted();
}
