/** The runner behind `npm run bench`. */
import { sweepLeftovers, sweepOwn } from '../support/cleanup.ts';
import { TESTCONTAINERS_SETTINGS } from '../support/testcontainers-settings.ts';
import { ensureToolchain, type Need } from '../support/toolchain/toolchain.ts';
import { benchAudit } from './benchmarks/audit.ts';
import { benchBrokers } from './benchmarks/brokers.ts';
import { benchBytes } from './benchmarks/bytes.ts';
import { benchCapacity } from './benchmarks/capacity.ts';
import { benchCatchUp, benchCatchUpLarge } from './benchmarks/catch-up.ts';
import { benchCluster, benchClusterLimits } from './benchmarks/cluster.ts';
import { benchClusterApart } from './benchmarks/cluster-apart.ts';
import { benchClusterBusy } from './benchmarks/cluster-busy.ts';
import { benchClusterLarge } from './benchmarks/cluster-large.ts';
import { benchClusterMany } from './benchmarks/cluster-many.ts';
import { benchClusterParts } from './benchmarks/cluster-parts.ts';
import { benchDashboard } from './benchmarks/dashboard.ts';
import { benchDecide } from './benchmarks/decide.ts';
import { benchExecutors } from './benchmarks/executors.ts';
import { benchFunctions } from './benchmarks/functions.ts';
import { benchGrowth } from './benchmarks/growth.ts';
import { benchGrowthBytes } from './benchmarks/growth-bytes.ts';
import { benchIdle } from './benchmarks/idle.ts';
import { benchKubelet } from './benchmarks/kubelet.ts';
import { benchLatency } from './benchmarks/latency.ts';
import { benchNeighbours } from './benchmarks/neighbours.ts';
import { benchParse } from './benchmarks/parse.ts';
import { benchPlan } from './benchmarks/plan.ts';
import { benchRebalance } from './benchmarks/rebalance.ts';
import { benchRelief } from './benchmarks/relief.ts';
import { benchSignatures } from './benchmarks/signatures.ts';
import { benchStart } from './benchmarks/start.ts';
import { benchThroughput } from './benchmarks/throughput.ts';
import { benchTraces } from './benchmarks/traces.ts';
import { benchWorkers } from './benchmarks/workers.ts';
import { say } from './context.ts';
import type { Findings } from './figure.ts';
import { type BenchKafka, startKafka } from './kafka.ts';
import { type BenchmarkName, type BenchOptions, HELP, parseOptions } from './options.ts';
import { type Measured, tableOf, thisMachine } from './report.ts';
import { openResults, type ResultsFile } from './results-file.ts';

/** These need nothing but this checkout. */
const RUN_ALONE = {
  plan: benchPlan,
  bytes: benchBytes,
  decide: () => benchDecide(),
  parse: () => benchParse(),
  signatures: benchSignatures,
  traces: benchTraces,
  audit: () => benchAudit(),
  'cluster-parts': benchClusterParts,
  dashboard: benchDashboard,
  functions: benchFunctions,
} as const;
type AloneName = keyof typeof RUN_ALONE;
/** These have brokers of their own. */
const RUN_WITH_BROKERS = {
  executors: benchExecutors,
  growth: benchGrowth,
  'growth-bytes': benchGrowthBytes,
  brokers: benchBrokers,
  'cluster-many': benchClusterMany,
} as const;
type BrokersName = keyof typeof RUN_WITH_BROKERS;
/** These have API servers of their own. */
const RUN_WITH_API_SERVER = {
  cluster: benchCluster,
  'cluster-limits': benchClusterLimits,
  'cluster-apart': benchClusterApart,
  'cluster-busy': benchClusterBusy,
  'cluster-large': benchClusterLarge,
} as const;
type ApiServerName = keyof typeof RUN_WITH_API_SERVER;

const RUN: Readonly<
  Record<
    Exclude<BenchmarkName, AloneName | BrokersName | ApiServerName>,
    (kafka: BenchKafka) => Promise<Findings>
  >
> = {
  latency: benchLatency,
  capacity: benchCapacity,
  neighbours: benchNeighbours,
  relief: benchRelief,
  throughput: benchThroughput,
  workers: benchWorkers,
  rebalance: benchRebalance,
  start: benchStart,
  'catch-up': benchCatchUp,
  'catch-up-large': benchCatchUpLarge,
  idle: benchIdle,
  kubelet: benchKubelet,
};

async function runBenchmark(name: BenchmarkName): Promise<Findings> {
  say(`== ${name}`);
  if (isAlone(name)) return await RUN_ALONE[name]();
  if (hasBrokers(name)) return await RUN_WITH_BROKERS[name]();
  if (hasApiServer(name)) return await RUN_WITH_API_SERVER[name]();
  await using kafka = await startKafka();
  return await RUN[name](kafka);
}

const isAlone = (name: BenchmarkName): name is AloneName => name in RUN_ALONE;
const hasBrokers = (name: BenchmarkName): name is BrokersName => name in RUN_WITH_BROKERS;

const hasApiServer = (name: BenchmarkName): name is ApiServerName => name in RUN_WITH_API_SERVER;

const needContainers = ({ only }: Pick<BenchOptions, 'only'>): boolean => !only.every(isAlone);

const NODE_NEEDS: readonly Need[] = ['kafka', 'containerd', 'registry'];
const CLUSTER_NEEDS: readonly Need[] = ['kafka', 'api-server', 'kube-controller-manager'];
const needsOf = (name: BenchmarkName): readonly Need[] => {
  if (isAlone(name)) return [];
  return hasApiServer(name) ? CLUSTER_NEEDS : NODE_NEEDS;
};

async function prepare({ only }: Pick<BenchOptions, 'only'>): Promise<void> {
  await ensureToolchain([...new Set(only.flatMap(needsOf))]);
  await sweepLeftovers();
}

async function measure(name: BenchmarkName): Promise<Measured> {
  const startMs = performance.now();
  const startedAt = new Date().toISOString();
  const findings = await runBenchmark(name);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  return { startedAt, seconds, machine: thisMachine(), ...findings };
}

async function main({ only, json, output }: BenchOptions, results: ResultsFile): Promise<void> {
  Object.assign(process.env, TESTCONTAINERS_SETTINGS);
  if (needContainers({ only })) await prepare({ only });
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
  const sweep = async (): Promise<unknown> => needContainers(options) && (await sweepOwn());
  const interrupt = (): void => void sweep().finally(() => process.exit(1));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupt);
  await main(options, results).finally(sweep);
}
