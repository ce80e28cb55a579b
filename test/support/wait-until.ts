import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/**
 * Resolves with the first value of `probe` that is neither null nor false. An error of the probe counts as "not yet";
 * after `boundMs` it rejects, naming what was waited for and the last error.
 */
export async function waitUntil<T>(
  what: string,
  boundMs: number,
  probe: () => Promise<T | null | false> | T | null | false,
): Promise<T> {
  const deadline = performance.now() + boundMs;
  for (;;) {
    const outcome = await attempt(probe);
    if (outcome.value !== null && outcome.value !== false) return outcome.value;
    if (performance.now() > deadline) {
      throw new Error(`waited ${boundMs} ms for: ${what}`, { cause: outcome.error });
    }
    await sleep(POLL_MS);
  }
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
