import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { WorkerSource } from '../../../packages/audit/events/open-source.ts';
import type { WrittenPolicy } from '../../../packages/policy/file/read-policy-file.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import type { TimeRange } from '../../../packages/records/read-log.ts';
import type {
  DashboardSimulation,
  DashboardSimulations,
  SimulationOutcome,
  SimulationStanding,
} from '../../../schemas/reports/dashboard-policies.ts';

const MOST_WAITING = 4;
/** Results stay until so many newer ones are there. */
const MOST_KEPT = 10;

/** What somebody wants to have simulated. */
interface AskedSimulation {
  readonly by: string;
  readonly days: number;
  readonly names: readonly string[];
  readonly task: SimulationTask;
}

interface Simulation extends DashboardSimulation {
  readonly task: SimulationTask;
}

interface SimulationsNeeds {
  readonly start?: typeof startSimulation;
  readonly newId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly logger: Logger;
}

const isUnderWay = ({ state }: Simulation): boolean => state === 'waiting' || state === 'running';

/** What is under way stays, however many newer ones have ended. */
function withoutOldest(all: readonly Simulation[]): readonly Simulation[] {
  const kept = new Set(all.filter((each) => !isUnderWay(each)).slice(0, MOST_KEPT));
  return all.filter((each) => isUnderWay(each) || kept.has(each));
}

/** The simulations of this process: one at a time, and a few that wait. */
export class Simulations implements AsyncDisposable {
  readonly #needs: SimulationsNeeds;
  #all: readonly Simulation[] = [];
  #running: { readonly id: string; readonly thread: SimulationThread } | null = null;
  #isChanged = false;

  constructor(needs: SimulationsNeeds) {
    this.#needs = needs;
  }

  /** The id to ask by; `null` where too many wait already. */
  ask({ by, days, names, task }: AskedSimulation): string | null {
    if (this.#all.filter(({ state }) => state === 'waiting').length >= MOST_WAITING) return null;
    const { newId, now, logger } = this.#needs;
    const id = newId();
    const asked = { id, by, days, task, askedAtMs: now(), policies: [...names] };
    this.#all = [
      { ...asked, state: 'waiting', progress: null, problem: null, outcome: null } as const,
      ...withoutOldest(this.#all),
    ];
    this.#isChanged = true;
    logger.info({ by, id, days, policies: names }, 'a simulation was asked for');
    this.#startNext();
    return id;
  }

  /** Whether there was something to cancel. */
  cancel(id: string): boolean {
    const found = this.#all.find((each) => each.id === id);
    if (found === undefined || !isUnderWay(found)) return false;
    this.#change(id, { state: 'cancelled' });
    if (this.#running?.id === id) this.#running.thread.stop();
    return true;
  }

  told(): DashboardSimulations {
    return { simulations: this.#all.map(({ task: _task, outcome: _outcome, ...standing }) => standing) };
  }

  find(id: string): DashboardSimulation | null {
    const found = this.#all.find((each) => each.id === id);
    if (found === undefined) return null;
    const { task: _task, ...told } = found;
    return told;
  }

  /** Whether anything is new since this was asked last. */
  takeChanged(): boolean {
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#all = [];
    const { thread } = this.#running ?? {};
    thread?.stop();
    await thread?.ended;
  }

  #startNext(): void {
    const next = this.#all.findLast(({ state }) => state === 'waiting');
    if (this.#running !== null || next === undefined) return;
    const { id, task } = next;
    const start = this.#needs.start ?? startSimulation;
    const thread = start(task, (progress) => this.#change(id, { progress }));
    this.#running = { id, thread };
    this.#change(id, { state: 'running' });
    void thread.ended.then((end) => {
      this.#running = null;
      if (this.#all.find((each) => each.id === id)?.state === 'running')
        this.#change(
          id,
          end.kind === 'done'
            ? { state: 'done', outcome: end.outcome }
            : { state: 'failed', problem: end.problem },
        );
      this.#startNext();
    });
  }

  #change(id: string, change: Partial<DashboardSimulation>): void {
    this.#all = this.#all.map((each) => (each.id === id ? { ...each, ...change } : each));
    this.#isChanged = true;
  }
}

/** What a thread may keep; one that needs more ends, and takes nothing along. */
const OLD_MIB = 1_024;
const YOUNG_MIB = 24;
/** @limit Timeout of a simulation of the dashboard. */
const MOST_MS = 30 * MINUTE_MS;
const END_WITHIN_MS = 5_000;

/** Beside the sources as one of them, beside the built program as a part of it. */
const WORKER = new URL(`./simulation-worker${extname(import.meta.url)}`, import.meta.url);

export type SimulationEnd =
  | { readonly kind: 'done'; readonly outcome: SimulationOutcome }
  | { readonly kind: 'failed'; readonly problem: string };

export interface SimulationThread {
  /** Never rejects. */
  readonly ended: Promise<SimulationEnd>;
  /** Has it end; `ended` settles then. */
  stop(): void;
}

/** Simulates in a thread of its own, so that the page is answered meanwhile; within bounds of memory and time. */
function startSimulation(
  task: SimulationTask,
  onProgress: (progress: SimulationProgress) => void,
): SimulationThread {
  const worker = new Worker(WORKER, {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: OLD_MIB, maxYoungGenerationSizeMb: YOUNG_MIB },
  });
  const { promise, resolve } = Promise.withResolvers<SimulationEnd>();
  let told: SimulationEnd = { kind: 'failed', problem: 'the simulation ended by itself' };
  const fail = (problem: string): void => {
    told = { kind: 'failed', problem };
  };
  let tooLate: NodeJS.Timeout | null = null;
  // A thread that were ended in the middle of reading an archive would take the process along.
  const stop = (): void => {
    worker.postMessage('end' satisfies SimulationOrder);
    tooLate ??= setTimeout(() => void worker.terminate(), END_WITHIN_MS);
  };
  const bound = setTimeout(() => {
    fail(`it was not done within ${MOST_MS / MINUTE_MS} minutes: try fewer days`);
    worker.off('message', take);
    stop();
  }, MOST_MS);
  const take = (answer: SimulationAnswer): void => {
    if (answer.kind === 'progress') onProgress(answer.progress);
    else told = answer;
  };
  worker.on('message', take);
  worker.on('error', (error) =>
    fail(
      'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? `it needs more than ${OLD_MIB} MiB of memory: try fewer days, or fleetgc audit simulate --nodes`
        : 'it could not be simulated; the logger output of the dashboard says why',
    ),
  );
  worker.once('exit', () => {
    clearTimeout(bound);
    if (tooLate !== null) clearTimeout(tooLate);
    resolve(told);
  });
  return { ended: promise, stop };
}

/** What a thread simulates: it opens the log by itself. */
export interface SimulationTask {
  readonly source: WorkerSource;
  readonly range: TimeRange;
  readonly regretWindowMs: number;
  /** Those to try, and those to compare with. */
  readonly policy: readonly WrittenPolicy[];
  readonly against: readonly WrittenPolicy[];
}

export type SimulationProgress = NonNullable<SimulationStanding['progress']>;

/** To a thread: to let go of what it has open, and end. */
type SimulationOrder = 'end';

/** From a thread. */
export type SimulationAnswer =
  | { readonly kind: 'progress'; readonly progress: SimulationProgress }
  | { readonly kind: 'done'; readonly outcome: SimulationOutcome }
  | { readonly kind: 'failed'; readonly problem: string };
