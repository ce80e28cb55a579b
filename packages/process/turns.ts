import { setImmediate as nextTurn } from 'node:timers/promises';

/** So long may work go on before heartbeats, acknowledgements and a stop get their turn. */
const BREATH_MS = 10;

/** Runs work one after another, in the order of the calls; a failure holds up nobody. */
export function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

/** To be awaited between pieces of work, which may not wait for anything themselves. */
export function createBreath(monotonicNow: () => number): () => Promise<void> {
  let breathedAtMs = monotonicNow();
  return async () => {
    if (monotonicNow() - breathedAtMs < BREATH_MS) return;
    await nextTurn();
    breathedAtMs = monotonicNow();
  };
}
