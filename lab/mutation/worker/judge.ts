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

/** So many kills are proved at once. */
const MOST_UNPROVED = 10;

interface Unproved {
  readonly key: string;
  readonly wanted: WantedTests;
  readonly id: string;
}

/** Runs what may kill each mutant until something does. */
export async function judgeAll(runs: FileRuns, tasks: readonly Task[], tell: Tell): Promise<void> {
  const unproved: Unproved[] = [];
  for (const task of tasks) {
    const judging = new Judging(runs, task, tell, unproved);
    const outcome = await judging.outcome();
    const { by } = outcome;
    if (by !== undefined)
      recentKillers = [by, ...recentKillers.filter((file) => file !== by)].slice(0, MOST_RECENT);
    if (!unproved.some(({ key }) => key === task.key)) tell({ kind: 'verdict', key: task.key, ...outcome });
    // What goes on after its time would reach into the next mutant, and into the proof of those before.
    if (judging.isLate) await spent(tell, []);
    if (unproved.length >= MOST_UNPROVED) await prove(runs, unproved, tell);
  }
  await prove(runs, unproved, tell);
}

/** What fails without the mutant too does not kill it: something before has left its traces. */
async function prove(runs: FileRuns, unproved: Unproved[], tell: Tell): Promise<void> {
  for (const [file, kills] of Map.groupBy(unproved, ({ wanted }) => wanted.file)) {
    const usualMs = Math.max(...kills.map(({ wanted }) => wanted.usualMs));
    const [first] = kills;
    if (first !== undefined)
      tell({ kind: 'begun', key: first.key, file, boundMs: LOAD_MS + boundMs(usualMs) });
    const ids = new Set(kills.flatMap(({ wanted, id }) => (id.startsWith(file) ? wanted.ids : [id])));
    const { failed } = await runs.run({ file, ids, stopsAtFailure: true, boundMs: boundMs(usualMs) });
    if (failed.length > 0)
      await spent(
        tell,
        unproved.map(({ key }) => key),
      );
  }
  for (const { key, wanted } of unproved) tell({ kind: 'verdict', key, status: 'killed', by: wanted.file });
  unproved.length = 0;
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
  readonly #unproved: Unproved[];
  isLate = false;

  constructor(runs: FileRuns, task: Task, tell: Tell, unproved: Unproved[]) {
    this.#runs = runs;
    this.#task = task;
    this.#tell = tell;
    this.#unproved = unproved;
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
    this.isLate = run.isTimedOut;
    if (run.isTimedOut || isOverHitLimit()) return { status: 'timed out', by: wanted.file };
    if (by === undefined) return null;
    switchOff();
    if (isCold) this.#runs.forgetModules();
    await this.#prove({ key: this.#task.key, wanted, id: by }, isCold);
    return { status: 'killed', by: wanted.file };
  }

  async #prove(kill: Unproved, isCold: boolean): Promise<void> {
    const { proof } = this.#task;
    if (proof === 'none') return;
    if (isCold || proof === 'alone') await prove(this.#runs, [kill], this.#tell);
    else this.#unproved.push(kill);
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

/** The process waits for its end. */
async function spent(tell: Tell, tainted: readonly string[]): Promise<never> {
  tell({ kind: 'spent', tainted: [...tainted] });
  return Promise.withResolvers<never>().promise;
}
