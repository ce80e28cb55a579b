import type { Arena } from './arena.ts';
import type { History } from './history/history.ts';
import type { Left } from './judge/left.ts';
import type { RunState } from './judge/state.ts';
import { Observer, type Sight, stateOf } from './play/observer.ts';
import { Run } from './play/run.ts';
import { calm, type End, settled } from './play/settle.ts';
import type { Tracer } from './play/tracers.ts';
import type { Collector } from './sides/collector.ts';

/** How one run of a history ended. */
export interface Ended {
  readonly seed: number;
  readonly side: string;
  readonly state: RunState;
  /** What the collector stalled at; the history went on after it. */
  readonly stalledAt: readonly Left[];
}

/** What is played, and how it is seen that it has ended. */
export interface Play {
  readonly sight: Sight;
  readonly end: End;
  readonly histories: readonly History[];
  /** Each history is played as often. */
  readonly sides: readonly string[];
  /** All that lies on the API server counts together, so nothing is left there. */
  readonly isAlone: boolean;
}

/** Plays the histories side by side while this collector runs. */
export async function playWith(
  arena: Arena,
  collector: Collector,
  tracer: Tracer,
  play: Play,
): Promise<readonly Ended[]> {
  return Promise.race([collector.ended, new Playing(arena, play).with(collector, tracer)]);
}

/** The same where nobody collects anything. */
export const playAlone = (arena: Arena, play: Play): Promise<readonly Ended[]> =>
  new Playing(arena, play).alone();

interface Played {
  readonly run: Run;
  readonly side: string;
  readonly stalledAt: Left[];
}

class Playing {
  readonly #play: Play;
  readonly #observer: Observer;
  readonly #runs: readonly Played[];

  constructor({ api }: Arena, play: Play) {
    const uids = new Map<string, number>();
    this.#play = play;
    this.#observer = new Observer(api, uids, play.sight);
    this.#runs = play.histories.flatMap((history) =>
      play.sides.map((side) => ({ run: new Run(history, side, api, uids), side, stalledAt: [] })),
    );
  }

  async with(collector: Collector, tracer: Tracer): Promise<readonly Ended[]> {
    const trace = () => tracer.trace(() => collector.look());
    if (collector.looks === 'always') {
      // The collector is ready when it has come past this one.
      await trace();
      await Promise.all(this.#runs.map((played) => this.#playThrough(played)));
    } else await this.#playInStep(collector);
    const names = this.#runs.map(({ run }) => run.name);
    const last = await calm(this.#observer, names, trace);
    await collector.rest();
    return this.#end(last);
  }

  async alone(): Promise<readonly Ended[]> {
    await Promise.all(
      this.#runs.map(async ({ run }) => {
        await run.begin();
        for (const burst of run.history.bursts) await run.play(burst);
      }),
    );
    return this.#end(await this.#observer.look());
  }

  /** At its own pace. */
  async #playThrough(played: Played): Promise<void> {
    const { run } = played;
    await run.begin();
    for (const burst of run.history.bursts) {
      await run.play(burst);
      await this.#settle(played);
    }
  }

  /** All runs play a burst while the collector rests, and then it looks. */
  async #playInStep(collector: Collector): Promise<void> {
    await Promise.all(this.#runs.map(({ run }) => run.begin()));
    const bursts = Math.max(...this.#play.histories.map((history) => history.bursts.length));
    for (let each = 0; each < bursts; each++) {
      await Promise.all(this.#runs.map(({ run }) => run.play(run.history.bursts[each] ?? [])));
      await collector.look();
      await Promise.all(this.#runs.map((played) => this.#settle(played)));
      await collector.rest();
    }
  }

  async #settle({ run, stalledAt }: Played): Promise<void> {
    stalledAt.push(...(await settled(this.#observer, run.name, stalledAt, this.#play.end)));
  }

  async #end(last: Awaited<ReturnType<Observer['look']>>): Promise<readonly Ended[]> {
    const ended = this.#runs.map(({ run, side, stalledAt }) => ({
      seed: run.history.seed,
      side,
      state: stateOf(last, run.name),
      stalledAt,
    }));
    if (this.#play.isAlone)
      await Promise.all(this.#runs.map(({ run }) => run.clear(stateOf(last, run.name))));
    return ended;
  }
}
