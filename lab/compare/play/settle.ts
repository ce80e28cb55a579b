import { patiently } from '../../../test/support/patience.ts';
import type { Left, LeftToDo } from '../judge/left.ts';
import { type RunState, stateText } from '../judge/state.ts';
import { type Look, type Observer, stateOf } from './observer.ts';

/** When a run has come to an end. */
export interface End {
  readonly left: LeftToDo;
  /** A collector that has changed nothing for so long, though something is left to do, is not waited for any longer. */
  readonly stalledMs: number;
}

/**
 * Waits until nothing is left to do in this run but what the collector has stalled at before; resolves to what it stalls at now.
 */
export async function settled(
  observer: Observer,
  run: string,
  before: readonly Left[],
  { left: leftToDo, stalledMs }: End,
): Promise<readonly Left[]> {
  const isKnown = (left: Left): boolean =>
    before.some(({ id, what }) => id === left.id && what === left.what);
  let text: string | null = null;
  let changedMs = performance.now();
  for (;;) {
    const state = stateOf(await observer.look(), run);
    const left = leftToDo(state, Date.now()).filter((each) => !isKnown(each));
    if (left.length === 0) return [];
    const now = stateText(state);
    if (now !== text) changedMs = performance.now();
    text = now;
    if (performance.now() - changedMs > patiently(stalledMs)) return left;
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
