import { parseArgs } from 'node:util';

const OUTPUT = 'bench/results.json';

export const HELP = `Usage: npm run bench [-- OPTIONS]

Measures FleetGC beside what the same bytes take without it, in turns, and prints a table. Takes about an hour,
ten minutes of it for audit and six for kubelet, and needs what the container suites of npm test need; bytes,
plan, decide, parse, signatures, traces and audit alone need nothing, audit 10 GB of disk. Figures of a busy machine are worth little: read the ratios.

Options:
  --only NAME      only this benchmark, may be repeated: latency, capacity, neighbours, relief,
                   throughput, workers, rebalance, start, catch-up, idle, executors, growth, brokers, bytes,
                   plan, decide, parse, signatures, traces, kubelet, audit; and two that no other run has, with ten thousand
                   nodes, some twenty minutes and 10 GB of disk each: catch-up-large, growth-bytes; and seven about
                   clusters, two to twenty minutes each: cluster, cluster-limits, cluster-apart, cluster-busy, cluster-large
                   beside kube-controller-manager on an API server, cluster-many with a thousand simulated
                   clusters and 6 GB of memory, and cluster-parts, which needs nothing; and dashboard, with ten thousand nodes in
                   Chromium, ten minutes and 8 GB of disk; and functions, which needs nothing
  --json           print JSON in place of the table
  --output FILE    keep the last JSON of each benchmark in this file, and a page to read beside it
                   (default: ${OUTPUT} and .md)
  -h, --help       show this help
`;

const USUAL = [
  'latency',
  'capacity',
  'neighbours',
  'relief',
  'throughput',
  'workers',
  'rebalance',
  'start',
  'catch-up',
  'idle',
  'executors',
  'growth',
  'brokers',
  'bytes',
  'plan',
  'decide',
  'parse',
  'signatures',
  'traces',
  'kubelet',
  'audit',
] as const;
/** No run without `--only` has these. */
const ASKED_FOR_ALONE = [
  'catch-up-large',
  'growth-bytes',
  'cluster',
  'cluster-limits',
  'cluster-apart',
  'cluster-busy',
  'cluster-large',
  'cluster-parts',
  'cluster-many',
  'dashboard',
  'functions',
] as const;
export const BENCHMARKS = [...USUAL, ...ASKED_FOR_ALONE] as const;
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
