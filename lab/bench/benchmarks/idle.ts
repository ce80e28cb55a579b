import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { applyPolicy, say } from '../context.ts';
import type { Aim, Figure, Findings } from '../figure.ts';
import { type BenchKafka, kafkaArguments } from '../kafka.ts';
import { cpuMs, residentBytes } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';
import { FLEETGC, timedRun } from '../timed-run.ts';

const WINDOWS = 6;
/** As long as the agent's slowest loop, so that each window holds the same work. */
const WINDOW_MS = 10_000;
const SETTLE_MS = 20_000;
const READY_MS = 60_000;
const MEGABYTE = 1e6;

/** What agent and executor of a quiet node cost, beside an idle Kafka client. */
export async function benchIdle(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  await applyPolicy(kafka.log, { mode: 'dry-run' });
  // As in the image: who compiles for the first time keeps the compiler in memory.
  await timedRun(FLEETGC, ['node', '--help']);
  const node = stack.use(await startNode(kafka, stack));
  const idle = { broker: kafka.broker.address, topics: [TOPICS.observe.name, TOPICS.commands.name] };
  const repaired = stack.use(await startScript('idle-client', { ...idle, repaired: true }));
  const stock = stack.use(await startScript('idle-client', { ...idle, repaired: false }));
  say(`idle: settling for ${SETTLE_MS / 1000} s`);
  await sleep(SETTLE_MS);
  const windows: Window[] = [];
  for (let window = 1; window <= WINDOWS; window += 1) {
    say(`idle, window ${window} of ${WINDOWS}`);
    windows.push(await watch({ node, repaired, stock }));
  }
  return {
    figures: [
      processorTime(windows, 'repaired'),
      processorTime(windows, 'stock'),
      ...ALLOWED_MEMORY.map((aim) => memory(windows, aim)),
    ],
    notes: [
      `fleetgc node (agent and executor in one process) on a simulated node of 200 images and 100 running containers, which is a process of its own, and ${WINDOW_MS / 1000} s windows after ${SETTLE_MS / 1000} s.`,
      'Baselines, watched at the same time: a kafkajs consumer of the same two topics with a producer, nothing to do; "repaired" without the idle loop of kafkajs 2.2.4, "as it comes" with it.',
      "Memory is VmRSS, which counts the runtime's own program file too.",
    ],
  };
}

type Watched = 'node' | 'repaired' | 'stock';
type Window = Readonly<Record<Watched, { readonly cpuPercent: number; readonly residentMegabytes: number }>>;

async function watch(children: Readonly<Record<Watched, Child>>): Promise<Window> {
  const startMs = performance.now();
  const { node, repaired, stock } = children;
  const before = { node: cpuMs(node.pid), repaired: cpuMs(repaired.pid), stock: cpuMs(stock.pid) };
  await sleep(WINDOW_MS);
  const elapsedMs = performance.now() - startMs;
  const of = (name: Watched) => ({
    cpuPercent: ((cpuMs(children[name].pid) - before[name]) * 100) / elapsedMs,
    residentMegabytes: residentBytes(children[name].pid) / MEGABYTE,
  });
  return { node: of('node'), repaired: of('repaired'), stock: of('stock') };
}

const BASELINE_NAMES = { repaired: 'idle client, repaired', stock: 'idle client, as it comes' } as const;
const ALLOWED_PERCENT = 0.3;
const ALLOWED_MEMORY: readonly Aim[] = [
  { kind: 'value-at-most', limit: 100 },
  { kind: 'ratio-at-most', limit: 1.5 },
];

function processorTime(windows: readonly Window[], baseline: 'repaired' | 'stock'): Figure {
  return {
    benchmark: 'idle',
    name: 'processor time',
    unit: '% of a core',
    value: spreadOf(windows.map(({ node }) => node.cpuPercent)),
    baseline: spreadOf(windows.map((window) => window[baseline].cpuPercent)),
    baselineName: BASELINE_NAMES[baseline],
    samples: windows.length,
    aim: baseline === 'repaired' ? { kind: 'difference-at-most', limit: ALLOWED_PERCENT } : null,
  };
}

function memory(windows: readonly Window[], aim: Aim): Figure {
  return {
    benchmark: 'idle',
    name: 'resident memory',
    unit: 'MB',
    value: spreadOf(windows.map(({ node }) => node.residentMegabytes)),
    baseline: spreadOf(windows.map(({ repaired }) => repaired.residentMegabytes)),
    baselineName: BASELINE_NAMES.repaired,
    samples: windows.length,
    aim,
  };
}

async function startNode(kafka: BenchKafka, stack: AsyncDisposableStack): Promise<Child> {
  const directory = mkdtempSync(join(tmpdir(), 'fgc-'));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const runtime = join(directory, 'runtime');
  mkdirSync(runtime);
  stack.use(await startScript('simulated-node', { directory: runtime, images: 200, containers: 100 }));
  const machineIdFile = join(directory, 'machine-id');
  writeFileSync(machineIdFile, `${'0123456789abcdef'.repeat(2)}\n`);
  const child = startVerb([
    'node',
    ...kafkaArguments(kafka),
    ...['--cluster', 'bench', '--node-name', 'bench', '--log-level', 'info', '--http-address', 'none'],
    ...['--runtime-endpoint', `unix://${join(runtime, 'cri.sock')}`, '--machine-id-file', machineIdFile],
    ...['--state-directory', join(directory, 'state'), '--pod-logs-dir', join(runtime, 'pods')],
    ...['--container-logs-dir', join(runtime, 'containers')],
  ]);
  await waitUntil('the inventory of the node', READY_MS, async () => {
    const ends = await kafka.admin.fetchTopicOffsets(TOPICS.inventory.name);
    return ends.some(({ high }) => high !== '0');
  });
  return child;
}
