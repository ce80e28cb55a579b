import { parseArgs } from 'node:util';

const OUTPUT = 'lab/bench/figures/results.json';

export const HELP = `Usage: npm run bench [-- OPTIONS]

Measures FleetGC beside what the same bytes take without it, in turns, and prints a table. Takes about half an hour,
ten minutes of it for audit. Most benchmarks need what the container suites of npm test need; plan, decide and audit
need nothing but this checkout, audit 10 GB of disk. Figures of a busy machine are worth little: read the ratios.

Options:
  --only NAME      only this benchmark, may be repeated: start, idle, throughput, relief, executors, decide, plan,
                   audit; and two that run only when they are named: dashboard (ten thousand nodes in Chromium, ten
                   minutes, 8 GB of disk) and cluster-large (a hundred thousand objects on an API server, beside
                   kube-controller-manager, twenty minutes)
  --json           print JSON in place of the table
  --output FILE    keep the last JSON of each benchmark in this file, and a page to read beside it
                   (default: ${OUTPUT} and .md)
  -h, --help       show this help
`;

const USUAL = ['start', 'idle', 'throughput', 'relief', 'executors', 'decide', 'plan', 'audit'] as const;
/** No run without `--only` has these. */
const ASKED_FOR_ALONE = ['dashboard', 'cluster-large'] as const;
const BENCHMARKS = [...USUAL, ...ASKED_FOR_ALONE] as const;
export type BenchmarkName = (typeof BENCHMARKS)[number];

export interface BenchOptions {
  readonly only: readonly BenchmarkName[];
  readonly json: boolean;
  readonly output: string;
  readonly help: boolean;
}

const isBenchmark = (name: string): name is BenchmarkName => BENCHMARKS.some((known) => known === name);

/** Throws an `Error` with one sentence for an option that is not known. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true },
      json: { type: 'boolean' },
      output: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const { only = [], json = false, output = OUTPUT, help = false } = values;
  const unknown = only.find((name) => !isBenchmark(name));
  if (unknown !== undefined) {
    throw new Error(`there is no benchmark ${unknown}; there are ${BENCHMARKS.join(', ')}`);
  }
  if (!output.endsWith('.json')) throw new Error(`--output is ${output}; it must end with .json`);
  return { only: only.length > 0 ? only.filter(isBenchmark) : USUAL, json, output, help };
}
