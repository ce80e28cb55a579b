import { setTimeout as sleep } from 'node:timers/promises';

/** Doubling waits with jitter: attempt 0 waits about `firstMs`, and no wait is longer than `mostMs`. */
export interface BackOff {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Half of the wait is certain, half is chance, so that many members do not come back in step. */
export function backOffMs(backOff: BackOff, attempt: number, random: () => number): number {
  const whole = Math.min(backOff.firstMs * 2 ** Math.min(attempt, 30), backOff.mostMs);
  return Math.round(whole / 2 + (whole / 2) * random());
}

/** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
