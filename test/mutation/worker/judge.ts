import type { FileRun, FileRuns } from './file-runs.ts';
import type { Progress, Task, Verdict, WantedTests } from './job.ts';
import { hitsOfMutant, isOverHitLimit, switchOff, switchOn } from './switches.ts';

/** Far more than is usual: the machine may be at work with other things. */
const boundMs = (usualMs: number): number => 10_000 + 20 * usualMs;

/** Loading the program anew, on a machine at work. */
const LOAD_MS = 20_000;

type Outcome = Pick<Verdict, 'status' | 'by'>;
type Tell = (progress: Progress) => void;

/** What killed last: neighbours in a source die of the same tests. */
const MOST_RECENT = 3;
let recentKillers: readonly string[] = [];

/** Runs what may kill a mutant until something does. */
export async function judge(runs: FileRuns, task: Task, tell: Tell): Promise<void> {
  const judging = new Judging(runs, task, tell);
  const outcome = await judging.outcome();
  const { by } = outcome;
  if (by !== undefined)
    recentKillers = [by, ...recentKillers.filter((file) => file !== by)].slice(0, MOST_RECENT);
  tell({ kind: 'verdict', key: task.key, ...outcome });
  // What goes on after its time would reach into the next mutant.
  if (outcome.status === 'timed out') await spent(tell, { key: task.key, isTainted: false });
}

function recentFirst(tests: readonly WantedTests[]): readonly WantedTests[] {
  const rankOf = ({ file }: WantedTests): number => {
    const rank = recentKillers.indexOf(file);
    return rank === -1 ? MOST_RECENT : rank;
  };
  return tests.toSorted((a, b) => rankOf(a) - rankOf(b));
}

class Judging {
  readonly #runs: FileRuns;
  readonly #task: Task;
  readonly #tell: Tell;

  constructor(runs: FileRuns, task: Task, tell: Tell) {
    this.#runs = runs;
    this.#task = task;
    this.#tell = tell;
  }

  async outcome(): Promise<Outcome> {
    const { warm, cold } = this.#task;
    const first = warm.length === 0 ? null : await this.#tryAll(warm, { isCold: false });
    if (first !== null) return first;
    // Where nothing reached it, something was remembered from the time before it.
    const again = cold.length === 0 && hitsOfMutant() === 0 ? warm : cold;
    const second = again.length === 0 ? null : await this.#tryAll(again, { isCold: true });
    return second ?? { status: 'survived' };
  }

  async #tryAll(
    tests: readonly WantedTests[],
    { isCold }: { readonly isCold: boolean },
  ): Promise<Outcome | null> {
    if (isCold) this.#runs.forgetModules();
    switchOn(this.#task.id, this.#task.hitLimit);
    try {
      for (const wanted of recentFirst(tests)) {
        const outcome = await this.#try(wanted, isCold);
        if (outcome !== null) return outcome;
      }
      return null;
    } finally {
      switchOff();
      if (isCold) this.#runs.forgetModules();
    }
  }

  async #try(wanted: WantedTests, isCold: boolean): Promise<Outcome | null> {
    const run = await this.#run(wanted, wanted.ids);
    const by = run.failed[0];
    if (run.isTimedOut || isOverHitLimit()) return { status: 'timed out', by: wanted.file };
    if (by === undefined) return null;
    switchOff();
    if (isCold) this.#runs.forgetModules();
    if (!this.#task.isTainting) await this.#provePasses(wanted, by);
    return { status: 'killed', by: wanted.file };
  }

  /** What fails without the mutant too does not kill it: something before has left its traces. */
  async #provePasses(wanted: WantedTests, by: string): Promise<void> {
    const { failed } = await this.#run(wanted, by.startsWith(wanted.file) ? wanted.ids : [by]);
    if (failed.length > 0) await spent(this.#tell, { key: this.#task.key, isTainted: true });
  }

  #run({ file, usualMs }: WantedTests, ids: readonly string[]): Promise<FileRun> {
    // A loop without an end, in which no timer comes to its turn, is ended from outside.
    this.#tell({ kind: 'begun', key: this.#task.key, file, boundMs: LOAD_MS + 2 * boundMs(usualMs) });
    return this.#runs.run({
      file,
      ids: new Set(ids),
      stopsAtFailure: true,
      boundMs: boundMs(usualMs),
    });
  }
}

async function spent(
  tell: Tell,
  { key, isTainted }: { readonly key: string; readonly isTainted: boolean },
): Promise<never> {
  tell({ kind: 'spent', key, isTainted });
  return Promise.withResolvers<never>().promise;
}
