import { patiently } from '../../support/patience.ts';
import { type Left, leftToDo } from '../judge/left.ts';
import { type RunState, stateText } from '../judge/state.ts';
import { type Look, type Observer, stateOf } from './observer.ts';

/** A collector that has changed nothing for so long, though something is left to do, is not waited for any longer. */
const STALLED_MS = 4_000;

/** Waits until nothing is left to do in this run; resolves to what is left of it when the collector has stalled. */
export async function settled(observer: Observer, run: string): Promise<readonly Left[]> {
  let text: string | null = null;
  let changedMs = performance.now();
  for (;;) {
    const state = stateOf(await observer.look(), run);
    const left = leftToDo(state);
    if (left.length === 0) return [];
    const now = stateText(state);
    if (now !== text) changedMs = performance.now();
    text = now;
    if (performance.now() - changedMs > patiently(STALLED_MS)) return left;
  }
}

/** Proves that the collector has come past all that happened before. */
export type Trace = () => Promise<void>;

const MOST_ROUNDS = 100;

/**
 * The state in which nothing happens any more: while the collector worked through everything that happened before, and through new
 * work for every kind, nothing changed in these runs.
 */
export async function calm(observer: Observer, runs: readonly string[], trace: Trace): Promise<Look> {
  let before = await observer.look();
  for (let round = 0; round < MOST_ROUNDS; round++) {
    await trace();
    const after = await observer.look();
    if (runs.every((run) => isSame(stateOf(before, run), stateOf(after, run)))) return after;
    before = after;
  }
  throw new Error(`something still changed in round ${MOST_ROUNDS} in which nothing should have`);
}

const isSame = (one: RunState, other: RunState): boolean => stateText(one) === stateText(other);
