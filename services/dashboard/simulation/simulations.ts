import type { Logger } from 'pino';
import type {
  DashboardSimulation,
  DashboardSimulations,
} from '../../../schemas/reports/dashboard-policies.ts';
import { type SimulationThread, startSimulation } from './simulation-thread.ts';
import type { SimulationTask } from './task.ts';

const MOST_WAITING = 4;
/** Results stay until so many newer ones are there. */
const MOST_KEPT = 10;

/** What somebody wants to have simulated. */
export interface AskedSimulation {
  readonly by: string;
  readonly days: number;
  readonly names: readonly string[];
  readonly task: SimulationTask;
}

interface Simulation extends DashboardSimulation {
  readonly task: SimulationTask;
}

export interface SimulationsNeeds {
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
