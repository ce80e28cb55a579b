/** A process of its own for one job: Vitest with instrumented sources, and a runner that runs tests for each mutant. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startVitest } from 'vitest/node';
import { z } from 'zod';
import { CHECKOUT } from '../folders.ts';
import { Job } from './job.ts';

const jobFile = z.string().parse(process.argv[2]);
const { sources } = Job.parse(JSON.parse(readFileSync(jobFile, 'utf8')));
const contents = new Map(
  Object.entries(z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(sources, 'utf8')))),
);

await startVitest(
  'test',
  [],
  {
    config: false,
    root: CHECKOUT,
    include: ['lab/mutation/worker/anchor.ts'],
    runner: join(CHECKOUT, 'lab/mutation/worker/runner.ts'),
    env: { MUTATION_JOB: jobFile },
    // A source has other mutants in it in each run.
    fsModuleCache: false,
    isolate: false,
    pool: 'threads',
    maxWorkers: 1,
    watch: false,
    update: false,
    reporters: ['default'],
    testTimeout: 0,
    dangerouslyIgnoreUnhandledErrors: true,
    disableConsoleIntercept: true,
  },
  {
    plugins: [
      {
        name: 'mutants',
        enforce: 'pre',
        transform: (_: string, id: string) => contents.get(id) ?? null,
      },
    ],
  },
);
