import { MINUTE_MS } from '../../process/durations.ts';

/** Dead letters of one key in a minute that are kept whole. */
export const DEAD_LETTERS_PER_MINUTE = 10;
/** Keys are given by whoever publishes: the memory for them is bounded, and those not seen for longest go first. */
const MAX_KEYS = 10_000;

/** Whether there is room for the dead letter of one message. `undo` is for when it could not be written. */
export interface Place {
  readonly kept: boolean;
  undo(): void;
}

export interface DeadLetterRateLimit {
  take(key: string, nowMs: number): Place;
}

export function createDeadLetterRateLimit(): DeadLetterRateLimit {
  const keptAtMs = new Map<string, readonly number[]>();
  return {
    take: (key, nowMs) => {
      const recent = (keptAtMs.get(key) ?? []).filter((atMs) => nowMs - atMs < MINUTE_MS);
      const kept = recent.length < DEAD_LETTERS_PER_MINUTE;
      keptAtMs.delete(key);
      keptAtMs.set(key, kept ? [...recent, nowMs] : recent);
      forgetOldest(keptAtMs);
      const undo = (): void => {
        const taken = keptAtMs.get(key) ?? [];
        if (kept) keptAtMs.set(key, taken.toSpliced(taken.lastIndexOf(nowMs), 1));
      };
      return { kept, undo };
    },
  };
}

function forgetOldest(keys: Map<string, unknown>): void {
  const [oldest] = keys.keys();
  if (keys.size > MAX_KEYS && oldest !== undefined) keys.delete(oldest);
}
