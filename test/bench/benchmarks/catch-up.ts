import { setTimeout as sleep } from 'node:timers/promises';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { applyPolicy, recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { type BenchKafka, kafkaArguments, recordsOf } from '../kafka.ts';
import { openProbe } from '../probe.ts';
import { peakResidentBytes, usedCpuMs } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';

/** A fleet that comes back after an hour without decision services. */
interface Size {
  readonly nodes: number;
  readonly rounds: number;
  /** For each process. */
  readonly boundMs: number;
}
const SMALL: Size = { nodes: 1_000, rounds: 2, boundMs: 300_000 };
const LARGE: Size = { nodes: 10_000, rounds: 1, boundMs: 1_800_000 };
/** An hour of a fleet whose agents look every five minutes. */
const LOOKS = 12;
const LOOK_EVERY_MS = 5 * MINUTE;
const PUBLISHED_AT_ONCE = 50;
const WAIT_MS = 50;
const EACH_GROUP = 'bench-decide-each';
const MB = 1_000_000;

/** What one process took to work off the whole backlog. */
interface CaughtUp {
  /** Processor time until it commanded upon an inventory behind which its node has no other, in s. */
  readonly firstCpuS: number;
  readonly allCpuS: number;
  readonly firstS: number;
  readonly allS: number;
  readonly peakMb: number;
  /** Commands that a node can still obey, and those that it refuses since they are too old. */
  readonly current: number;
  readonly stale: number;
}

/** image-gc comes back after an hour, beside one that decides on each inventory. */
export const benchCatchUp = (kafka: BenchKafka): Promise<Findings> => bench(kafka, 'catch-up', SMALL);

/** The same with ten thousand nodes. */
export const benchCatchUpLarge = (kafka: BenchKafka): Promise<Findings> =>
  bench(kafka, 'catch-up-large', LARGE);

async function bench(kafka: BenchKafka, benchmark: string, size: Size): Promise<Findings> {
  const { nodes, rounds } = size;
  await applyPolicy(kafka.log, { imageMaximumGCAgeMs: HOUR });
  await publishHour(kafka, nodes);
  const flags = ['--http-address', 'none', '--log-level', 'warn'];
  const passing: CaughtUp[] = [];
  const each: CaughtUp[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    say(`${benchmark}, round ${round} of ${rounds}`);
    const startEach = () => startScript('decide-each', { broker: kafka.broker.address, group: EACH_GROUP });
    each.push(await catchUp(kafka, size, EACH_GROUP, startEach));
    const startService = async () => startVerb(['image-gc', ...kafkaArguments(kafka), ...flags]);
    passing.push(await catchUp(kafka, size, 'fleetgc-image-gc', startService));
  }
  const figure = (name: string, unit: string, pick: (run: CaughtUp) => number): Figure => ({
    benchmark,
    name: `an hour of ${nodes} nodes: ${name}`,
    unit,
    value: spreadOf(passing.map(pick)),
    baseline: spreadOf(each.map(pick)),
    baselineName: 'decides on each inventory',
    samples: rounds,
    aim: null,
  });
  return {
    figures: [
      figure('processor time to the first command that is obeyed', 's', ({ firstCpuS }) => firstCpuS),
      figure('processor time until all is caught up', 's', ({ allCpuS }) => allCpuS),
      figure('the first command that is obeyed', 's', ({ firstS }) => firstS),
      figure('all caught up', 's', ({ allS }) => allS),
      figure('commands that nodes refuse as too old', 'commands', ({ stale }) => stale),
      figure('peak memory', 'MB', ({ peakMb }) => peakMb),
    ],
    notes: [
      `${nodes} nodes with ${LOOKS} inventories of 200 images each, five minutes between them, lie on the log before a new process starts; start and compilation are counted.`,
    ],
  };
}

const lookOf = (node: CompleteInventory, look: number): CompleteInventory => ({
  ...node,
  id: `${node.node}-look-${look}`,
  trigger: 'interval',
  reclaim: null,
  takenAt: instant({ sinceBootMs: 24 * HOUR + look * LOOK_EVERY_MS }),
});

async function publishHour({ log }: BenchKafka, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => index);
  for (let look = 1; look <= LOOKS; look += 1) {
    say(`catch-up: publishing look ${look} of ${LOOKS}`);
    for (let at = 0; at < count; at += PUBLISHED_AT_ONCE) {
      const nodes = numbers
        .slice(at, at + PUBLISHED_AT_ONCE)
        .map((index) => fullNode(`node-${index}`, { images: 200, containers: 30 }));
      await log.publish(nodes.map((node) => recordOf(nodeOutput('inventory', lookOf(node, look)))));
    }
  }
}

async function catchUp(
  kafka: BenchKafka,
  { nodes, boundMs }: Size,
  group: string,
  start: () => Promise<Child>,
): Promise<CaughtUp> {
  await kafka.admin.resetOffsets({ groupId: group, topic: TOPICS.inventory.name, earliest: true });
  const before = await recordsOf(kafka, TOPICS.decisions.name);
  let [current, stale] = [0, 0];
  await using _probe = await openProbe({
    kafka,
    topics: [TOPICS.commands.name],
    compression: 'zstd',
    onArrival: ({ value }) => {
      if (value.includes(`-look-${LOOKS}"`)) current += 1;
      else stale += 1;
    },
  });
  const startMs = performance.now();
  await using worker = await start();
  const used = () => ({ cpuS: usedCpuMs(worker.pid) / 1000, s: (performance.now() - startMs) / 1000 });
  try {
    const first = await until(async () => current > 0 && used(), boundMs);
    const all = await until(
      async () => (await recordsOf(kafka, TOPICS.decisions.name)) >= before + nodes * LOOKS && used(),
      boundMs,
    );
    const peakMb = peakResidentBytes(worker.pid) / MB;
    await until(async () => current >= nodes, boundMs);
    return { firstCpuS: first.cpuS, firstS: first.s, allCpuS: all.cpuS, allS: all.s, peakMb, current, stale };
  } catch (error) {
    say(worker.output());
    throw error;
  }
}

async function until<T>(look: () => Promise<T | false>, boundMs: number): Promise<T> {
  const endMs = performance.now() + boundMs;
  while (performance.now() < endMs) {
    const found = await look();
    if (found !== false) return found;
    await sleep(WAIT_MS);
  }
  throw new Error(`waited ${boundMs} ms for a service to catch up`);
}
