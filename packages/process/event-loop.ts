import { setImmediate } from 'node:timers/promises';

/** So long may work go on before heartbeats, acknowledgements and a stop get their turn. */
const YIELD_EVERY_MS = 10;

/** To be awaited between pieces of work, which may not wait for anything themselves. */
export function createPeriodicYield(monotonicNow: () => number): () => Promise<void> {
  let yieldedAtMs = monotonicNow();
  return async () => {
    if (monotonicNow() - yieldedAtMs < YIELD_EVERY_MS) return;
    await setImmediate();
    yieldedAtMs = monotonicNow();
  };
}
