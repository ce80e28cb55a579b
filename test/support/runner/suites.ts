import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { patiently } from '../patience.ts';
import { type ChildOptions, runChild } from './child.ts';
import { countTests } from './vitest-counts.ts';

/** The longest file of tests takes some minutes on a quiet machine, and vitest writes a line when a file ends. */
const SILENCE_MS = patiently(6 * 60_000);
/** Below the checkout, so that another checkout has its own. */
const CACHE = 'node_modules/.cache/fleetgc';

export type SuiteContext = Omit<ChildOptions, 'silenceMs'>;

export interface SuiteOutcome {
  readonly passed: number;
  readonly failed: number;
  /** Shown when something failed. */
  readonly output: string;
}

export interface Suite {
  readonly name: string;
  run(context: SuiteContext): Promise<SuiteOutcome>;
}

/** What computes gives way to what waits beside it. */
const GIVING_WAY = ['nice', '-n', '10'] as const;

const UNIT = vitest(['unit'], GIVING_WAY);
const WAITING = vitest(['waiting']);

/** What tests start of ours is what users start: the program as `npm run build` makes it. */
export const BUILD: Suite = check('build', ['node', 'bin/build.ts']);

/** The tests that need no container: those that compute, beside those that mostly wait. */
export const FAST_SUITES: readonly Suite[] = [UNIT, BUILD, WAITING];

/** These need no container but the build. */
export const LIGHT_SUITES: readonly Suite[] = [
  WAITING,
  UNIT,
  // The compiler of TypeScript 7. `typescript` stays 6 for what reads programs through its API, which 7 does not have.
  check('types', [
    ...GIVING_WAY,
    'node',
    'node_modules/typescript-7/bin/tsc',
    '--incremental',
    '--tsBuildInfoFile',
    `${CACHE}/types.json`,
  ]),
  check('lint', [...GIVING_WAY, 'biome', 'check', '--error-on-warnings', '.']),
  check('arrows', [
    ...GIVING_WAY,
    'depcruise',
    '--config',
    '.dependency-cruiser.mjs',
    'cli',
    'packages',
    'schemas',
    'services',
    'lab',
    'test',
  ]),
];

/** Both projects together: either alone would wait for its last file with all other workers idle. */
export const CONTAINER_SUITE: Suite = vitest(['container', 'e2e']);

export const WORLD_SUITE: Suite = vitest(['world']);

/** A program that passes or fails as one. */
function check(name: string, [program = '', ...args]: readonly string[]): Suite {
  return {
    name,
    run: async (context) => {
      const { ok, output } = await runChild(program, args, { ...context, silenceMs: SILENCE_MS });
      return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, output };
    },
  };
}

/** Projects of vitest in one run, counted test by test. `through` are programs that start it, and their arguments. */
export function vitest(projects: readonly string[], through: readonly string[] = []): Suite {
  return {
    name: projects.join(' and '),
    run: async (context) => {
      const folder = mkdtempSync(join(tmpdir(), 'fleetgc-report-'));
      const report = join(folder, 'report.json');
      const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
      try {
        const run = ['vitest', 'run', ...projects.flatMap((project) => ['--project', project]), ...reporters];
        const [program = '', ...args] = [...through, ...run];
        const { ok, output } = await runChild(program, args, { ...context, silenceMs: SILENCE_MS });
        const { passed, failed, problems } = countTests(readIfThere(report), ok);
        return { passed, failed, output: [output, ...problems].join('\n') };
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
