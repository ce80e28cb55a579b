import { setTimeout as sleep } from 'node:timers/promises';
import type { CompleteInventory } from '../../schemas/inventory.ts';
import { TOPICS } from '../../schemas/topics.ts';
import { nodeOutput } from '../../services/shared/handler.ts';
import { HOUR, instant, MINUTE } from '../fixtures/time.ts';
import { type Child, startScript, startVerb } from './child.ts';
import { applyPolicy, recordOf, say } from './context.ts';
import type { Figure, Findings } from './figure.ts';
import { fullNode } from './inventories.ts';
import { type BenchKafka, kafkaArguments, recordsOf } from './kafka.ts';
import { openProbe } from './probe.ts';
import { peakResidentBytes, usedCpuMs } from './process-usage.ts';
import { spreadOf } from './statistics.ts';

const NODES = 1000;
/** An hour of a fleet whose agents look every five minutes. */
const LOOKS = 12;
const LOOK_EVERY_MS = 5 * MINUTE;
const PUBLISHED_AT_ONCE = 50;
const ROUNDS = 2;
const WAIT_MS = 50;
const DONE_MS = 300_000;
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
export async function benchCatchUp(kafka: BenchKafka): Promise<Findings> {
  await applyPolicy(kafka.log, { imageMaximumGCAgeMs: HOUR });
  await publishHour(kafka);
  const flags = ['--http-address', 'none', '--log-level', 'warn'];
  const passing: CaughtUp[] = [];
  const each: CaughtUp[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`catch-up, round ${round} of ${ROUNDS}`);
    const startEach = () => startScript('decide-each', { broker: kafka.broker.address, group: EACH_GROUP });
    each.push(await catchUp(kafka, EACH_GROUP, startEach));
    const startService = async () => startVerb(['image-gc', ...kafkaArguments(kafka), ...flags]);
    passing.push(await catchUp(kafka, 'fleetgc-image-gc', startService));
  }
  const figure = (name: string, unit: string, pick: (run: CaughtUp) => number): Figure => ({
    benchmark: 'catch-up',
    name: `an hour of ${NODES} nodes: ${name}`,
    unit,
    value: spreadOf(passing.map(pick)),
    baseline: spreadOf(each.map(pick)),
    baselineName: 'decides on each inventory',
    samples: ROUNDS,
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
      `${NODES} nodes with ${LOOKS} inventories of 200 images each, five minutes between them, lie on the log before a new process starts; start and compilation are counted.`,
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

async function publishHour({ log }: BenchKafka): Promise<void> {
  const numbers = Array.from({ length: NODES }, (_, index) => index);
  for (let look = 1; look <= LOOKS; look += 1) {
    say(`catch-up: publishing look ${look} of ${LOOKS}`);
    for (let at = 0; at < NODES; at += PUBLISHED_AT_ONCE) {
      const nodes = numbers
        .slice(at, at + PUBLISHED_AT_ONCE)
        .map((index) => fullNode(`node-${index}`, { images: 200, containers: 30 }));
      await log.publish(nodes.map((node) => recordOf(nodeOutput('inventory', lookOf(node, look)))));
    }
  }
}

async function catchUp(kafka: BenchKafka, group: string, start: () => Promise<Child>): Promise<CaughtUp> {
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
    const first = await until(async () => current > 0 && used());
    const all = await until(
      async () => (await recordsOf(kafka, TOPICS.decisions.name)) >= before + NODES * LOOKS && used(),
    );
    const peakMb = peakResidentBytes(worker.pid) / MB;
    await until(async () => current >= NODES);
    return { firstCpuS: first.cpuS, firstS: first.s, allCpuS: all.cpuS, allS: all.s, peakMb, current, stale };
  } catch (error) {
    say(worker.output());
    throw error;
  }
}

async function until<T>(look: () => Promise<T | false>): Promise<T> {
  const boundMs = performance.now() + DONE_MS;
  while (performance.now() < boundMs) {
    const found = await look();
    if (found !== false) return found;
    await sleep(WAIT_MS);
  }
  throw new Error(`waited ${DONE_MS} ms for a service to catch up`);
}
