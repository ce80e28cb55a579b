import { setTimeout as sleep } from 'node:timers/promises';
import { patience } from './patience.ts';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** A probe may start a process in a container: it gets a quarter of the time at most, so that what it waits for gets the rest. */
const PAUSE_PER_PROBE = 3;

/**
 * Resolves with the first value of `probe` that is neither null nor false, which usually takes `usualMs` at the most. An
 * error of the probe counts as "not yet"; in the end it rejects, naming what was waited for and the last error.
 */
export async function waitUntil<T>(
  what: string,
  usualMs: number,
  probe: () => Promise<T | null | false> | T | null | false,
): Promise<T> {
  const wait = patience(usualMs);
  for (;;) {
    const askedAt = performance.now();
    const outcome = await attempt(probe);
    if (outcome.value !== null && outcome.value !== false) return outcome.value;
    if (wait.isOver()) {
      throw new Error(`waited ${wait.waitedMs.toFixed(0)} ms for: ${what}`, { cause: outcome.error });
    }
    await sleep(pauseAfter(performance.now() - askedAt));
  }
}

function pauseAfter(probeMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_PROBE * probeMs));
}

async function attempt<T>(
  probe: () => Promise<T | null | false> | T | null | false,
): Promise<{ readonly value: T | null | false; readonly error?: unknown }> {
  try {
    return { value: await probe() };
  } catch (error) {
    return { value: null, error };
  }
}
