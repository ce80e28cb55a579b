import { nodeOutput } from '../../../packages/decision/handler.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { startVerb } from '../child.ts';
import { applyPolicy, recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { kafkaArguments, recordsOf, startKafka } from '../kafka.ts';
import { peakResidentBytes, usedCpuMs } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';
import { reached } from './throughput.ts';

const SMALLEST = 100;
const FLEETS = [SMALLEST, 1_000, 10_000];
/** As many for each fleet; so each of the ten thousand nodes comes once, each of the hundred a hundred times. */
const EVENTS = 10_000;
const WARM_UP_EVENTS = 1_000;
const PUBLISHED_AT_ONCE = 50;
const ROUNDS = 3;
const MB = 1_000_000;

interface Cost {
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** What the same number of inventories takes a decision worker when they come from ever more nodes. */
export async function benchGrowth(): Promise<Findings> {
  const costs = new Map(FLEETS.map((nodes): [number, Cost[]] => [nodes, []]));
  for (let round = 1; round <= ROUNDS; round += 1)
    for (const nodes of FLEETS) {
      say(`growth, ${nodes} nodes, round ${round} of ${ROUNDS}`);
      costs.get(nodes)?.push(await costOf(nodes));
    }
  const small = costs.get(SMALLEST) ?? [];
  const figure = (nodes: number, name: string, unit: string, pick: (cost: Cost) => number): Figure => ({
    benchmark: 'growth',
    name: `${nodes} nodes: ${name}`,
    unit,
    value: spreadOf((costs.get(nodes) ?? []).map(pick)),
    baseline: spreadOf(small.map(pick)),
    baselineName: `${SMALLEST} nodes`,
    samples: ROUNDS,
    aim: { kind: 'ratio-at-most', limit: 1.2 },
  });
  return {
    figures: FLEETS.filter((nodes) => nodes !== SMALLEST).flatMap((nodes) => [
      figure(nodes, 'processor time of one event', 'ms', ({ cpuMs }) => cpuMs),
      figure(nodes, 'peak memory of the worker', 'MB', ({ peakMb }) => peakMb),
    ]),
    notes: [
      `${EVENTS} inventories of 200 images on a new broker each time, decided on by a new image-gc; processor time after the first ${WARM_UP_EVENTS}.`,
    ],
  };
}

async function costOf(nodes: number): Promise<Cost> {
  await using kafka = await startKafka();
  await applyPolicy(kafka.log);
  for (let at = 0; at < EVENTS; at += PUBLISHED_AT_ONCE) {
    const numbers = Array.from({ length: PUBLISHED_AT_ONCE }, (_, index) => at + index);
    await kafka.log.publish(numbers.map((number) => inventoryOf(number, nodes)));
  }
  const before = await recordsOf(kafka, TOPICS.commands.name);
  const flags = ['--http-address', 'none', '--log-level', 'warn'];
  await using worker = startVerb(['image-gc', ...kafkaArguments(kafka), ...flags]);
  const first = { ...(await reached(kafka, before + WARM_UP_EVENTS)), cpuMs: usedCpuMs(worker.pid) };
  const last = { ...(await reached(kafka, before + EVENTS)), cpuMs: usedCpuMs(worker.pid) };
  return {
    cpuMs: (last.cpuMs - first.cpuMs) / (last.records - first.records),
    peakMb: peakResidentBytes(worker.pid) / MB,
  };
}

const inventoryOf = (number: number, nodes: number) => {
  const node = fullNode(`node-${number % nodes}`, { images: 200, containers: 30 });
  return recordOf(nodeOutput('inventory', { ...node, id: `inventory-${number}` }));
};
