/** The runner behind `npm run bench:fleet`: a large fleet on Kafka under faults of what decides for it, and the proof of its log. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseDurationMs } from '../../schemas/policy/quantity.ts';
import { sweepOwn } from '../../test/support/cleanup.ts';
import { TESTCONTAINERS_SETTINGS } from '../../test/support/testcontainers-settings.ts';
import { ensureToolchain } from '../../test/support/toolchain/toolchain.ts';
import { type Child, startVerb } from './child.ts';
import { say } from './context.ts';
import { type BenchKafka, kafkaArguments, startKafka } from './kafka.ts';
import { fleetArguments, liveFleet } from './live-fleet.ts';
import { peakResidentBytes, usedCpuMs } from './process-usage.ts';
import { thisMachine } from './report.ts';
import { runVerb } from './run-verb.ts';

const HELP = `Usage: npm run bench:fleet [-- OPTIONS]

A simulated fleet lives on a real broker while decision workers are killed, join and leave, and the broker restarts.
Prints the fleet's account, and what "fleetgc audit verify" says of the log. Exit code 0: nothing was removed wrongly,
nothing was lost, nothing was done twice, and nothing on the log deviates (some decisions may not be verifiable; the
report counts them). Ten thousand nodes live more slowly than asked on a small machine: reckon with two hours for 30
minutes on two cores.

Options:
  --nodes NUMBER   how many nodes (default: 10000)
  --duration TIME  how long the fleet lives (default: 30m)
  --output FILE    write the JSON to this file (default: lab/bench/figures/fleet.json)
  -h, --help       show this help
`;
const CHECKOUT = join(import.meta.dirname, '..', '..');
/** `audit verify`: nothing is wrong, but not all could be verified. */
const NOT_ALL_VERIFIED = 3;

interface Options {
  readonly nodes: number;
  readonly durationMs: number;
  readonly output: string;
}

/** What a worker took, from its start to its end. */
interface WorkerUse {
  readonly name: string;
  readonly cpuMs: number;
  readonly peakBytes: number;
}

interface Fault {
  /** Of the time that the fleet lives. */
  readonly share: number;
  readonly what: string;
  readonly happen: () => Promise<unknown>;
}

/** The decision workers of a run, by name. */
function createWorkers(kafka: BenchKafka) {
  const running = new Map<string, Child>();
  const uses: WorkerUse[] = [];
  const close = (name: string): Child => {
    const child = running.get(name);
    if (child === undefined) throw new Error(`there is no worker ${name}`);
    running.delete(name);
    uses.push({ name, cpuMs: usedCpuMs(child.pid), peakBytes: peakResidentBytes(child.pid) });
    return child;
  };
  return {
    uses,
    start: async (name: string) => {
      running.set(name, startVerb(['decide', ...fleetArguments(kafka), '--log-level', 'warn']));
    },
    kill: async (name: string) => process.kill(close(name).pid, 'SIGKILL'),
    stop: async (name: string) => await close(name)[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      for (const name of [...running.keys()]) await close(name)[Symbol.asyncDispose]();
    },
  };
}

const faultsOf = (kafka: BenchKafka, workers: ReturnType<typeof createWorkers>): readonly Fault[] => [
  { share: 0.25, what: 'worker a is killed', happen: () => workers.kill('a') },
  { share: 0.3, what: 'worker c joins', happen: () => workers.start('c') },
  { share: 0.4, what: 'worker d joins', happen: () => workers.start('d') },
  { share: 0.5, what: 'the broker restarts', happen: () => kafka.broker.restart() },
  { share: 0.65, what: 'worker d is stopped', happen: () => workers.stop('d') },
  { share: 0.75, what: 'worker b is killed', happen: () => workers.kill('b') },
  { share: 0.8, what: 'worker e joins', happen: () => workers.start('e') },
];

/** Lets the fleet live, and each fault happen when its time has come. */
async function live(kafka: BenchKafka, { nodes, durationMs }: Options, faults: readonly Fault[]) {
  const happened: { readonly livedS: number; readonly what: string }[] = [];
  let waiting = [...faults];
  let happening: Promise<unknown> = Promise.resolve();
  const heard = (text: string): void => {
    process.stderr.write(text);
    const livedS = Number(/(\d+) s lived/.exec(text)?.[1] ?? 0);
    const due = waiting.filter(({ share }) => livedS * 1000 >= share * durationMs);
    waiting = waiting.filter((fault) => !due.includes(fault));
    for (const { what, happen } of due) {
      say(`== ${what}`);
      happened.push({ livedS, what });
      happening = happening.then(happen);
    }
  };
  const fleet = await liveFleet(kafka, ['--nodes', `${nodes}`, '--duration', `${durationMs / 1000}s`], heard);
  await happening;
  return { fleet, happened };
}

async function run(options: Options): Promise<void> {
  await ensureToolchain(['kafka']);
  const startedAt = new Date().toISOString();
  await using kafka = await startKafka();
  await using workers = createWorkers(kafka);
  await workers.start('a');
  await workers.start('b');
  const { fleet, happened } = await live(kafka, options, faultsOf(kafka, workers));
  await workers[Symbol.asyncDispose]();
  say('== audit verify');
  const verified = await runVerb(['audit', 'verify', '-o', 'json', ...kafkaArguments(kafka)], (text) =>
    process.stderr.write(text),
  );
  const report = {
    startedAt,
    machine: thisMachine(),
    faults: happened,
    fleet,
    workers: workers.uses,
    verified,
  };
  const text = `${JSON.stringify(report, null, 2)}\n`;
  mkdirSync(dirname(options.output), { recursive: true });
  writeFileSync(options.output, text);
  process.stdout.write(text);
  const isProved = verified.exitCode === 0 || verified.exitCode === NOT_ALL_VERIFIED;
  process.exitCode = fleet.exitCode === 0 && isProved ? 0 : 1;
}

function optionsOf(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: 'string', default: '10000' },
      duration: { type: 'string', default: '30m' },
      output: { type: 'string', default: join(CHECKOUT, 'bench', 'fleet.json') },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return null;
  const [nodes, durationMs] = [Number(values.nodes), parseDurationMs(values.duration)];
  if (!Number.isInteger(nodes) || nodes < 1) throw new Error('--nodes must be a whole number above 0');
  if (durationMs === undefined) throw new Error('--duration must be a time such as 30m');
  return { nodes, durationMs, output: values.output };
}

async function main(options: Options): Promise<void> {
  Object.assign(process.env, TESTCONTAINERS_SETTINGS);
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => void sweepOwn().finally(() => process.exit(1)));
  await run(options).finally(sweepOwn);
}

function asked(): Options | null {
  try {
    const options = optionsOf(process.argv.slice(2));
    if (options === null) process.stdout.write(HELP);
    return options;
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    process.exitCode = 2;
    return null;
  }
}

const options = asked();
if (options !== null) await main(options);
