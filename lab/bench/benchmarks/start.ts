import { setTimeout as sleep } from 'node:timers/promises';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { applyPolicy, recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { type BenchKafka, kafkaArguments, openGzipLog, recordsOf, skipToEnd } from '../kafka.ts';
import { usedCpuMs } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';

const ROUNDS = 7;
const LOOK_MS = 5;
const BOUND_MS = 60_000;
const ALONE_GROUP = 'bench-first-message';
const WORKER_GROUP = 'fleetgc-image-gc';

/** Until what was waited for, from the start of the process. */
interface Start {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** A worker from its start to its first decision on the log, beside Node.js with kafkajs to its first message. */
export async function benchStart(kafka: BenchKafka): Promise<Findings> {
  await applyPolicy(kafka.log);
  const alone = () => firstOf(kafka, ALONE_GROUP, () => firstMessage(kafka));
  const worker = () => firstOf(kafka, WORKER_GROUP, () => firstDecision(kafka));
  say('start: warming up');
  // What Node.js compiled is kept for the next start.
  await worker();
  await alone();
  const [workers, bare]: [Start[], Start[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`start, round ${round} of ${ROUNDS}`);
    bare.push(await alone());
    workers.push(await worker());
  }
  const figure = (name: string, pick: (start: Start) => number): Figure => ({
    benchmark: 'start',
    name: `image-gc, from its start to its first decision: ${name}`,
    unit: 'ms',
    value: spreadOf(workers.map(pick)),
    baseline: spreadOf(bare.map(pick)),
    baselineName: 'Node.js and kafkajs, to the first message',
    samples: ROUNDS,
    aim: { kind: 'ratio-at-most', limit: 1.5 },
  });
  return {
    figures: [figure('time', ({ wallMs }) => wallMs), figure('processor time', ({ cpuMs }) => cpuMs)],
    notes: ['One inventory waits on the log; what Node.js compiled at an earlier start is at hand.'],
  };
}

/** One message waits for the group when it starts. */
async function firstOf(kafka: BenchKafka, group: string, start: () => Promise<Start>): Promise<Start> {
  await skipToEnd(kafka, group, TOPICS.inventory.name);
  const event = fullNode('node-1', { images: 200, containers: 30 });
  await using log = await openGzipLog(kafka);
  await log.publish([recordOf(nodeOutput('inventory', event))]);
  return await start();
}

async function firstMessage({ broker }: BenchKafka): Promise<Start> {
  const startMs = performance.now();
  const settings = { broker: broker.address, topic: TOPICS.inventory.name, group: ALONE_GROUP };
  await using child = await startScript('first-message', settings);
  return await until(child, startMs, async () => child.output().includes('first message'));
}

async function firstDecision(kafka: BenchKafka): Promise<Start> {
  const before = await recordsOf(kafka, TOPICS.decisions.name);
  const startMs = performance.now();
  await using child = startVerb([
    'image-gc',
    ...kafkaArguments(kafka),
    '--http-address',
    'none',
    '--log-level',
    'warn',
  ]);
  return await until(child, startMs, async () => (await recordsOf(kafka, TOPICS.decisions.name)) > before);
}

async function until(child: Child, startMs: number, look: () => Promise<boolean>): Promise<Start> {
  while (performance.now() - startMs < BOUND_MS) {
    if (await look()) return { wallMs: performance.now() - startMs, cpuMs: usedCpuMs(child.pid) };
    await sleep(LOOK_MS);
  }
  say(child.output());
  throw new Error(`waited ${BOUND_MS} ms for the first message`);
}
