import { MINUTE_MS } from '../../process/durations.ts';

/** Dead letters of one key in a minute; more are only counted. */
export const DEAD_LETTERS_PER_MINUTE = 10;
/** Keys are given by whoever publishes: the memory for them is bounded, and those not seen for longest go first. */
const MAX_KEYS = 10_000;

/** What the rate limit says to one message. `undo` is for when its dead letter could not be written. */
export type Place =
  | { readonly kept: true; readonly suppressedBefore: number; undo(): void }
  | { readonly kept: false; undo(): void };

export interface DeadLetterRateLimit {
  take(key: string, nowMs: number): Place;
}

interface KeyState {
  keptAtMs: readonly number[];
  suppressed: number;
}

export function createDeadLetterRateLimit(): DeadLetterRateLimit {
  const states = new Map<string, KeyState>();
  return {
    take: (key, nowMs) => {
      const state = states.get(key) ?? { keptAtMs: [], suppressed: 0 };
      states.delete(key);
      states.set(key, state);
      forgetOldest(states);
      const recent = state.keptAtMs.filter((atMs) => nowMs - atMs < MINUTE_MS);
      return recent.length < DEAD_LETTERS_PER_MINUTE ? keep(state, recent, nowMs) : suppress(state);
    },
  };
}

function keep(state: KeyState, recent: readonly number[], nowMs: number): Place {
  const suppressedBefore = state.suppressed;
  state.keptAtMs = [...recent, nowMs];
  state.suppressed = 0;
  const undo = (): void => {
    state.keptAtMs = state.keptAtMs.toSpliced(state.keptAtMs.lastIndexOf(nowMs), 1);
    state.suppressed += suppressedBefore;
  };
  return { kept: true, suppressedBefore, undo };
}

function suppress(state: KeyState): Place {
  state.suppressed += 1;
  const undo = (): void => {
    state.suppressed -= 1;
  };
  return { kept: false, undo };
}

function forgetOldest(states: Map<string, KeyState>): void {
  const [oldest] = states.keys();
  if (states.size > MAX_KEYS && oldest !== undefined) states.delete(oldest);
}
