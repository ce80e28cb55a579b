import { setImmediate } from 'node:timers/promises';

/** After work this long a heartbeat may be overdue, and sending one takes several turns of the event loop. */
const LONG_WORK_MS = 250;
const TURNS_AFTER_LONG_WORK = 16;

/**
 * So long may work go on before heartbeats, acknowledgements and a stop get their turn.
 * @limit Work between two turns of the event loop, so that heartbeats are sent.
 */
const YIELD_EVERY_MS = 10;

/** To be awaited between pieces of work, which may not wait for anything themselves. */
export function createPeriodicYield(monotonicNow: () => number): () => Promise<void> {
  let yieldedAtMs = monotonicNow();
  return async () => {
    const workedMs = monotonicNow() - yieldedAtMs;
    if (workedMs < YIELD_EVERY_MS) return;
    for (let turns = workedMs < LONG_WORK_MS ? 1 : TURNS_AFTER_LONG_WORK; turns > 0; turns -= 1)
      await setImmediate();
    yieldedAtMs = monotonicNow();
  };
}
