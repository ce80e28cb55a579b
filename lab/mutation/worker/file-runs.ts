import { join } from 'node:path';
import type { RunnerTestCase, RunnerTestFile, RunnerTestSuite } from 'vitest';
import { TestRunner } from 'vitest';
import { startTests } from 'vitest/internal/browser';
import { CHECKOUT } from '../folders.ts';
import { coverAs } from './switches.ts';

/** The part of Vitest's module runner that is needed here. */
interface ModuleRunner {
  import(file: string, options?: { readonly invalidate: boolean }): Promise<unknown>;
  getModuleInformation(url: string, importer: string | undefined, known?: EvaluatedModule): Promise<unknown>;
  readonly evaluatedModules: {
    readonly idToModuleMap: Map<string, EvaluatedModule>;
  };
}

interface EvaluatedModule {
  /** Its code, once it was fetched. */
  readonly meta?: unknown;
  promise: unknown;
  exports: unknown;
  evaluated: boolean;
  readonly importers: Set<string>;
}

interface RunWish {
  readonly file: string;
  /** Only these tests; all without it. */
  readonly ids?: ReadonlySet<string>;
  readonly stopsAtFailure: boolean;
  /** For each test. */
  readonly boundMs: number;
}

export interface FileRun {
  readonly tests: readonly { readonly id: string; readonly name: string; readonly ms: number }[];
  /** Ids of tests, or the file itself where it could not be loaded or a hook failed. */
  readonly failed: readonly string[];
  readonly isTimedOut: boolean;
}

const SETUP_FILES = ['test/support/shorten-properties.ts', 'lab/mutation/worker/steady-properties.ts'];

/** Runs test files again and again in one process: each time their own code is loaded anew, what they import is not. */
export class FileRuns {
  readonly #outer: TestRunner;
  readonly #modules: ModuleRunner;
  #isSetUp = false;

  constructor(outer: TestRunner) {
    this.#outer = outer;
    this.#modules = Reflect.get(outer, 'moduleRunner');
    const fetch = this.#modules.getModuleInformation.bind(this.#modules);
    // Vitest asks its main thread at each import whether a module has changed. None does while this process lives.
    this.#modules.getModuleInformation = (url, importer, known) =>
      known?.meta === undefined ? fetch(url, importer, known) : Promise.resolve(known);
  }

  async run(wish: RunWish): Promise<FileRun> {
    await this.#setUp();
    const runner = new OneRun(this.#outer, this.#modules, wish);
    const [file] = await startTests([join(CHECKOUT, wish.file)], runner);
    if (file === undefined) throw new Error(`${wish.file} was not run`);
    return { tests: runner.ran, failed: failures(file, wish.file), isTimedOut: runner.isTimedOut };
  }

  /** The next run loads all of the program anew. */
  forgetModules(): void {
    for (const [id, module] of this.#modules.evaluatedModules.idToModuleMap) {
      if (!id.startsWith(CHECKOUT) || id.includes('/node_modules/') || id.includes('/lab/mutation/worker/'))
        continue;
      forget(module);
    }
  }

  async #setUp(): Promise<void> {
    if (this.#isSetUp) return;
    for (const file of SETUP_FILES) await this.#modules.import(join(CHECKOUT, file));
    this.#isSetUp = true;
  }
}

/** Its code is kept. */
function forget(module: EvaluatedModule): void {
  module.promise = undefined;
  module.exports = undefined;
  module.evaluated = false;
  module.importers.clear();
}

/** Of this thread: on a busy machine a clock tells more of others than of a test. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The file counts where it has failed and none of its tests has: it was not loaded, or a hook of it failed. */
function failures(file: RunnerTestFile, name: string): readonly string[] {
  const failed: string[] = [];
  const visit = (task: RunnerTestFile['tasks'][number]): void => {
    if (task.type === 'suite') for (const each of task.tasks) visit(each);
    else if (task.result?.state === 'fail') failed.push(task.id);
  };
  for (const task of file.tasks) visit(task);
  if (failed.length > 0 || file.result?.state !== 'fail') return failed;
  return [`${name}: ${file.result.errors?.map(({ message }) => message).join('; ')}`];
}

/** Vitest's own runner, which loads and runs as usual; it counts, bounds and stops. */
class OneRun extends TestRunner {
  static readonly #begun = new Set<string>();
  readonly ran: { readonly id: string; readonly name: string; readonly ms: number }[] = [];
  isTimedOut = false;
  readonly #wish: RunWish;
  readonly #modules: ModuleRunner;
  #isStopped = false;
  #startedAtMs = 0;

  constructor(outer: TestRunner, modules: ModuleRunner, wish: RunWish) {
    super({ ...outer.config, setupFiles: [] });
    this.trace = outer.trace;
    this.#modules = modules;
    this.#wish = wish;
  }

  override importFile(file: string): Promise<unknown> {
    coverAs(this.#wish.file);
    return this.#modules.import(file, { invalidate: true });
  }

  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    // For snapshots, once for each file.
    if (!('filepath' in suite) || OneRun.#begun.has(this.#wish.file)) return;
    OneRun.#begun.add(this.#wish.file);
    await super.onBeforeRunSuite(suite);
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    const { ids } = this.#wish;
    if (this.#isStopped || (ids !== undefined && !ids.has(test.id))) test.mode = 'skip';
    await super.onBeforeRunTask(test);
    coverAs(test.id);
    this.#startedAtMs = cpuMs();
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    const bound = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => bound.resolve('late'), this.#wish.boundMs);
    try {
      if ((await Promise.race([run(), bound.promise])) === 'late') {
        this.isTimedOut = true;
        throw new Error('too slow');
      }
    } catch (error) {
      // Vitest makes a long text of what was expected and what came: nobody reads it here.
      throw new Error(error instanceof Error ? error.name : 'thrown');
    } finally {
      clearTimeout(timer);
    }
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    if (test.result?.state === 'fail' && this.#wish.stopsAtFailure) this.#isStopped = true;
    if (test.mode !== 'skip')
      this.ran.push({ id: test.id, name: test.name, ms: cpuMs() - this.#startedAtMs });
    coverAs(this.#wish.file);
    super.onAfterRunTask(test);
  }

  // The states of snapshots stay, as the next run of the file needs its own.
  override onAfterRunFiles(): void {}

  // What Vitest does here is for snapshots in files of their own.
  override async onAfterRunSuite(): Promise<void> {}
}
