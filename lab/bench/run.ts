/** The runner behind `npm run bench`. */
import { sweepLeftovers, sweepOwn } from '../../test/support/cleanup.ts';
import { TESTCONTAINERS_SETTINGS } from '../../test/support/testcontainers-settings.ts';
import { ensureToolchain, type Need } from '../../test/support/toolchain/toolchain.ts';
import { benchAudit } from './benchmarks/audit.ts';
import { benchClusterLarge } from './benchmarks/cluster-large.ts';
import { benchDashboard } from './benchmarks/dashboard.ts';
import { benchDecide } from './benchmarks/decide.ts';
import { benchExecutors } from './benchmarks/executors.ts';
import { benchIdle } from './benchmarks/idle.ts';
import { benchPlan } from './benchmarks/plan.ts';
import { benchRelief } from './benchmarks/relief.ts';
import { benchStart } from './benchmarks/start.ts';
import { benchThroughput } from './benchmarks/throughput.ts';
import { say } from './context.ts';
import type { Findings } from './figure.ts';
import { type BenchKafka, startKafka } from './kafka.ts';
import { type BenchmarkName, type BenchOptions, HELP, parseOptions } from './options.ts';
import { type Measured, tableOf, thisMachine } from './report.ts';
import { openResults, type ResultsFile } from './results-file.ts';

interface Benchmark {
  /** None for a benchmark that needs nothing but this checkout. */
  readonly needs: readonly Need[];
  readonly run: () => Findings | Promise<Findings>;
}

const alone = (run: () => Findings | Promise<Findings>): Benchmark => ({ needs: [], run });

const NODE_NEEDS: readonly Need[] = ['kafka', 'containerd', 'registry'];

const withBroker = (run: (kafka: BenchKafka) => Promise<Findings>): Benchmark => ({
  needs: NODE_NEEDS,
  run: async () => {
    await using kafka = await startKafka();
    return await run(kafka);
  },
});

const BENCHMARK: Readonly<Record<BenchmarkName, Benchmark>> = {
  start: withBroker(benchStart),
  idle: withBroker(benchIdle),
  throughput: withBroker(benchThroughput),
  relief: withBroker(benchRelief),
  // It starts a broker for each crowd of nodes.
  executors: { needs: NODE_NEEDS, run: benchExecutors },
  decide: alone(() => benchDecide()),
  plan: alone(benchPlan),
  audit: alone(() => benchAudit()),
  dashboard: alone(benchDashboard),
  'cluster-large': { needs: ['api-server', 'kube-controller-manager'], run: benchClusterLarge },
};

const needsOf = (only: readonly BenchmarkName[]): readonly Need[] => [
  ...new Set(only.flatMap((name) => BENCHMARK[name].needs)),
];

async function prepare(needs: readonly Need[]): Promise<void> {
  await ensureToolchain(needs);
  await sweepLeftovers();
}

async function measure(name: BenchmarkName): Promise<Measured> {
  const startMs = performance.now();
  const startedAt = new Date().toISOString();
  say(`== ${name}`);
  const findings = await BENCHMARK[name].run();
  const seconds = Math.round((performance.now() - startMs) / 1000);
  return { startedAt, seconds, machine: thisMachine(), ...findings };
}

async function main({ only, json, output }: BenchOptions, results: ResultsFile): Promise<void> {
  Object.assign(process.env, TESTCONTAINERS_SETTINGS);
  const needs = needsOf(only);
  if (needs.length > 0) await prepare(needs);
  const benchmarks: Record<string, Measured> = {};
  for (const name of only) {
    try {
      const measured = await measure(name);
      benchmarks[name] = measured;
      // At once: whatever ends the run later, this was measured.
      results.put(name, measured);
      say(`${name}: written to ${output}`);
    } catch (error) {
      say(`${name} failed: ${error instanceof Error ? error.stack : error}`);
      process.exitCode = 1;
    }
  }
  const report = { benchmarks };
  process.stdout.write(`${json ? JSON.stringify(report, null, 2) : tableOf(report)}\n`);
}

interface Asked {
  readonly options: BenchOptions;
  /** `null` where only help is asked for. */
  readonly results: ResultsFile | null;
}

function whatIsAsked(): Asked | null {
  try {
    const options = parseOptions(process.argv.slice(2));
    return { options, results: options.help ? null : openResults(options.output) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    return null;
  }
}

const asked = whatIsAsked();
if (asked === null) process.exitCode = 2;
else if (asked.results === null) process.stdout.write(HELP);
else {
  const { options, results } = asked;
  // Whatever ends the run, nothing that it started in the Docker Engine stays.
  const sweep = async (): Promise<unknown> => needsOf(options.only).length > 0 && (await sweepOwn());
  const interrupt = (): void => void sweep().finally(() => process.exit(1));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupt);
  await main(options, results).finally(sweep);
}
