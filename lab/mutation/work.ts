import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { PROPERTY_PERCENT } from '../../test/support/property-runs.ts';
import { KeptCoverage } from './coverage.ts';
import { CHECKOUT } from './folders.ts';
import { type Covered, type Job, Progress, type Task, type Verdict } from './worker/job.ts';

const LOOK_EVERY_MS = 100;
/** For the start of a worker, and for a test file without any mutant: nothing is changed, so it ends. */
const PATIENCE_MS = 900_000;

/** Of the cases of each property: all of them for each mutant would take days. */
const PERCENT_OF_CASES = 10;

type Hear = (progress: Progress) => void;

/** Which mutants tests reach. What an earlier run found for the same sources and the same test file is not asked again. */
export async function cover(
  directory: string,
  sources: string,
  tests: readonly string[],
): Promise<readonly Covered[]> {
  const kept = new KeptCoverage(directory, sources);
  const open = tests.filter((test) => kept.find(test) === null);
  if (open.length > 0) await coverAfresh(directory, sources, open, kept);
  return tests.flatMap((test) => kept.find(test) ?? []);
}

async function coverAfresh(
  directory: string,
  sources: string,
  tests: readonly string[],
  kept: KeptCoverage,
): Promise<void> {
  const left = await runWorker({ mode: 'cover', sources, tests: [...tests] }, directory, [], (progress) => {
    if (progress.kind === 'covered') kept.keep(progress);
  });
  if (left !== null)
    throw new Error(`The tests did not run to their end; see ${join(directory, 'worker.log')}`);
  kept.save();
}

/** Runs all tasks, in as many processes one after another as it takes. */
export async function judgeAll(
  directory: string,
  sources: string,
  tasks: readonly Task[],
  hear: (verdict: Verdict) => void,
): Promise<void> {
  let open = tasks;
  while (open.length > 0) {
    const done = new Set<string>();
    const ended = await runWorker({ mode: 'mutate', sources, tests: [] }, directory, open, (progress) => {
      if (progress.kind !== 'verdict') return;
      done.add(progress.key);
      hear(progress);
    });
    open = open.filter(({ key }) => !done.has(key));
    if (ended === null) continue;
    if (ended.kind === 'spent') open = open.map((task) => moreCarefully(task, ended.tainted));
    else if (open.some(({ key }) => key === ended.key)) {
      hear({ kind: 'verdict', key: ended.key, status: 'timed out', by: ended.by });
      open = open.filter(({ key }) => key !== ended.key);
    }
  }
}

const moreCarefully = (task: Task, tainted: readonly string[]): Task =>
  tainted.includes(task.key) ? { ...task, proof: task.proof === 'shared' ? 'alone' : 'none' } : task;

/** It had to be ended, or ended, at this mutant, while this test file ran. */
interface Stuck {
  readonly kind: 'stuck';
  readonly key: string;
  readonly by: string | undefined;
}

type Ended = Stuck | Extract<Progress, { readonly kind: 'spent' }>;

/** Null: it did all that it was to do. */
async function runWorker(
  job: Omit<Job, 'progress' | 'tasks'>,
  directory: string,
  tasks: readonly Task[],
  hear: Hear,
): Promise<Ended | null> {
  const progress = join(directory, 'progress.jsonl');
  const jobFile = join(directory, 'job.json');
  const tasksFile = join(directory, 'tasks.json');
  rmSync(progress, { force: true });
  writeFileSync(tasksFile, JSON.stringify(tasks));
  writeFileSync(jobFile, JSON.stringify({ ...job, progress, tasks: tasksFile }));
  const log = openSync(join(directory, 'worker.log'), 'w');
  const child = spawn(process.execPath, ['lab/mutation/worker/main.ts', jobFile], {
    cwd: CHECKOUT,
    stdio: ['ignore', log, log],
    env: { ...process.env, [PROPERTY_PERCENT]: String(PERCENT_OF_CASES) },
  });
  try {
    return await follow(child, progress, hear);
  } finally {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  }
}

async function follow(child: ChildProcess, file: string, hear: Hear): Promise<Ended | null> {
  const heard = new Heard(hear);
  for (;;) {
    const hasExited = child.exitCode !== null;
    const end = heard.take(existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
    if (end !== undefined) return end;
    if (hasExited || heard.isLate()) return heard.whereItEnded();
    await after(LOOK_EVERY_MS);
  }
}

/** What a worker has told so far. */
class Heard {
  readonly #hear: Hear;
  #lines = 0;
  #key: string | null = null;
  #by: string | undefined;
  #deadlineMs = Date.now() + PATIENCE_MS;

  constructor(hear: Hear) {
    this.#hear = hear;
  }

  /** Undefined: it goes on. */
  take(lines: readonly string[]): Ended | null | undefined {
    const fresh = lines.slice(this.#lines).map((line) => Progress.parse(JSON.parse(line)));
    this.#lines = lines.length;
    for (const progress of fresh) {
      this.#hear(progress);
      if (progress.kind === 'done') return null;
      if (progress.kind === 'spent') return progress;
      this.#expectNext(progress);
    }
    return undefined;
  }

  isLate(): boolean {
    return Date.now() > this.#deadlineMs;
  }

  whereItEnded(): Ended {
    if (this.#key === null) throw new Error('The worker ended before its first mutant; worker.log says why');
    return { kind: 'stuck', key: this.#key, by: this.#by };
  }

  #expectNext(progress: Progress): void {
    if (progress.kind === 'begun') [this.#key, this.#by] = [progress.key, progress.file];
    this.#deadlineMs = Date.now() + (progress.kind === 'begun' ? progress.boundMs : PATIENCE_MS);
  }
}
