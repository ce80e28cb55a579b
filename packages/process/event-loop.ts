import { setImmediate as nextTurn } from 'node:timers/promises';

/** So long may work go on before heartbeats, acknowledgements and a stop get their turn. */
const BREATH_MS = 10;

/** To be awaited between pieces of work, which may not wait for anything themselves. */
export function createBreath(monotonicNow: () => number): () => Promise<void> {
  let breathedAtMs = monotonicNow();
  return async () => {
    if (monotonicNow() - breathedAtMs < BREATH_MS) return;
    await nextTurn();
    breathedAtMs = monotonicNow();
  };
}
