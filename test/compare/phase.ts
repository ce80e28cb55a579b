import type { Arena } from './arena.ts';
import type { History } from './history/history.ts';
import type { Left } from './judge/left.ts';
import type { RunState } from './judge/state.ts';
import { Observer, stateOf } from './play/observer.ts';
import { Run } from './play/run.ts';
import { calm, settled } from './play/settle.ts';
import type { RunningProcess } from './sides/process.ts';

/** How one run of a history ended. */
export interface Ended {
  readonly seed: number;
  readonly side: string;
  readonly state: RunState;
  /** What the collector stalled at; the history went on after it. */
  readonly stalledAt: readonly Left[];
}

/** Plays the histories side by side, each as often as there are names of sides, while this collector runs. */
export async function playWith(
  arena: Arena,
  collector: RunningProcess,
  histories: readonly History[],
  sides: readonly string[],
): Promise<readonly Ended[]> {
  return Promise.race([collector.ended, played(arena, histories, sides, true)]);
}

/** The same where nobody collects anything. */
export const playAlone = (
  arena: Arena,
  histories: readonly History[],
  side: string,
): Promise<readonly Ended[]> => played(arena, histories, [side], false);

async function played(
  { api, tracer }: Arena,
  histories: readonly History[],
  sides: readonly string[],
  isCollected: boolean,
): Promise<readonly Ended[]> {
  const uids = new Map<string, number>();
  const observer = new Observer(api, uids);
  // The collector is ready when it has come past this one.
  if (isCollected) await tracer.trace();
  const playing = histories.flatMap((history) =>
    sides.map(async (side) => {
      const run = new Run(history, side, api, uids);
      const stalledAt: Left[] = [];
      await run.begin();
      for (const burst of history.bursts) {
        await run.play(burst);
        if (isCollected) stalledAt.push(...(await settled(observer, run.name)));
      }
      return { run, seed: history.seed, side, stalledAt };
    }),
  );
  const runs = await Promise.all(playing);
  const names = runs.map(({ run }) => run.name);
  const last = isCollected ? await calm(observer, names, () => tracer.trace()) : await observer.look();
  return runs.map(({ run, ...rest }) => ({ ...rest, state: stateOf(last, run.name) }));
}
