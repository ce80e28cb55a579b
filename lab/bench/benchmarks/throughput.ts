import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { type BenchKafka, kafkaArguments, recordsOf } from '../kafka.ts';
import { writeOutputs } from '../made-outputs.ts';
import { usedCpuMs } from '../process-usage.ts';
import { type SignedFleet, signFleet } from '../signed-fleet.ts';
import { spreadOf } from '../statistics.ts';

const NODES = 64;
const BACKLOG = 2048;
const PUBLISHED_AT_ONCE = 64;
const ROUNDS = 4;
/** The first part of a round warms up. */
const WARM_UP_EVENTS = 512;
const LOOK_MS = 25;
const DRAIN_MS = 60_000;
const WORKER_GROUP = 'fleetgc-image-gc';
/** Neither decides; the second does not even look at what it reads. */
const BASELINES = [
  { name: 'parses and checks, decides nothing', group: 'bench-checked', checks: true },
  { name: 'passes bytes on', group: 'bench-bytes', checks: false },
] as const;
/** What more a worker does, the most that it may take beside `--trust off`. */
const SIGNED = [
  { name: 'orders and policies signed', leastOfOff: 0.9 },
  { name: 'facts signed too', leastOfOff: 0.7 },
] as const;

/** One decision worker on a backlog, beside the same consumer and producer that decide nothing. */
export async function benchThroughput(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-bench-'));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const nodes = Array.from({ length: NODES }, (_, index) =>
    fullNode(`node-${index}`, { images: 200, containers: 30 }),
  );
  const outputsFile = join(directory, 'outputs.json');
  const bytesOut = await writeOutputs(outputsFile, nodes);
  const fleet = await signFleet(kafka.log, directory);
  const bytesIn = await publishBacklog(kafka, nodes, BACKLOG, fleet.signFact);
  const decided: Drained[] = [];
  const signed = SIGNED.map((): Drained[] => []);
  const passed = BASELINES.map((): Drained[] => []);
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`throughput, round ${round} of ${ROUNDS}`);
    for (const [index, { group, checks }] of BASELINES.entries()) {
      const settings = { broker: kafka.broker.address, group, outputsFile, checks };
      passed[index]?.push(await drain(kafka, group, () => startScript('pass-through', settings)));
    }
    decided.push(await drain(kafka, WORKER_GROUP, () => startWorker(kafka, [])));
    for (const [index, start] of signingWorkers(kafka, fleet).entries())
      signed[index]?.push(await drain(kafka, WORKER_GROUP, start));
  }
  const [checked = []] = passed;
  return {
    figures: [
      ...BASELINES.flatMap((baseline, index) => figuresOf(decided, baseline, passed[index] ?? [])),
      ...SIGNED.flatMap((how, index) => signedFigures(how, signed[index] ?? [], { decided, checked })),
    ],
    notes: [
      `A backlog of ${BACKLOG} inventories of 200 images, ${kilobytes(bytesIn)} in and ${kilobytes(bytesOut)} out each before compression, drained by a new process each round; the first ${WARM_UP_EVENTS} warm it up.`,
      'Baselines: the same consumer and producer with the same settings publish decisions and commands that were made before. One parses and checks each record, as all consumers do; the other does not look at it.',
      'Signed: the same worker with --trust required and a key, after the others in each round. With facts signed too, it verifies a signature of each inventory before it parses it (lab/bench/processes/decide-signed.ts).',
    ],
  };
}

const startWorker = async (kafka: BenchKafka, flags: readonly string[]): Promise<Child> =>
  startVerb([
    'image-gc',
    ...kafkaArguments(kafka),
    '--http-address',
    'none',
    '--log-level',
    'warn',
    ...flags,
  ]);

/** In the order of `SIGNED`. */
const signingWorkers = (
  kafka: BenchKafka,
  { rootsFile, deciderKeyFile, nodePublicKey }: SignedFleet,
): readonly (() => Promise<Child>)[] => [
  () =>
    startWorker(kafka, [
      ...['--trust', 'required', '--trust-roots', rootsFile],
      ...['--signing-key-file', deciderKeyFile],
    ]),
  () =>
    startScript('decide-signed', {
      broker: kafka.broker.address,
      rootsFile,
      deciderKeyFile,
      nodePublicKey,
    }),
];

/** Beside the worker that signs nothing, and beside the consumer that decides nothing. */
function signedFigures(
  { name, leastOfOff }: (typeof SIGNED)[number],
  signed: readonly Drained[],
  { decided, checked }: { readonly decided: readonly Drained[]; readonly checked: readonly Drained[] },
): readonly Figure[] {
  const row = (
    baselineName: string,
    beside: readonly Drained[],
    limit: number | null,
    pick: (drained: Drained) => number,
  ) => ({
    benchmark: 'throughput',
    name: `image-gc, one worker, ${name}`,
    unit: 'events/s',
    value: spreadOf(signed.map(pick)),
    baseline: spreadOf(beside.map(pick)),
    baselineName,
    samples: ROUNDS * (BACKLOG - WARM_UP_EVENTS),
    aim: limit === null ? null : ({ kind: 'ratio-at-least', limit } as const),
  });
  const cpu = {
    ...row('--trust off', decided, null, ({ cpuMs }) => cpuMs),
    name: 'the same, processor time of one event',
    unit: 'ms',
  };
  return [
    row('--trust off', decided, leastOfOff, ({ perSecond }) => perSecond),
    row(BASELINES[0].name, checked, null, ({ perSecond }) => perSecond),
    cpu,
  ];
}

function figuresOf(
  decided: readonly Drained[],
  { name, checks }: (typeof BASELINES)[number],
  passed: readonly Drained[],
): readonly Figure[] {
  const row = (of: string, unit: string, pick: (drained: Drained) => number) => ({
    benchmark: 'throughput',
    name: of,
    unit,
    value: spreadOf(decided.map(pick)),
    baseline: spreadOf(passed.map(pick)),
    baselineName: name,
    samples: ROUNDS * (BACKLOG - WARM_UP_EVENTS),
    aim: null,
  });
  const rate = row('image-gc, one worker', 'events/s', ({ perSecond }) => perSecond);
  return [
    { ...rate, aim: checks ? { kind: 'ratio-at-least', limit: 0.85 } : null },
    row('the same, processor time of one event', 'ms', ({ cpuMs }) => cpuMs),
  ];
}

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} kB`;

/** Publishes so many inventories of these nodes, none of which overtakes another. Resolves to the bytes of one. */
async function publishBacklog(
  { log }: BenchKafka,
  nodes: readonly ReturnType<typeof fullNode>[],
  count: number,
  sign: (record: OutgoingRecord) => OutgoingRecord = (record) => record,
): Promise<number> {
  const records = Array.from({ length: count }, (_, number) => {
    const node = nodes[number % nodes.length] ?? fullNode('node', { images: 0, containers: 0 });
    return () => sign(recordOf(nodeOutput('inventory', { ...node, id: `inventory-${number}` })));
  });
  for (let at = 0; at < records.length; at += PUBLISHED_AT_ONCE) {
    await log.publish(records.slice(at, at + PUBLISHED_AT_ONCE).map((make) => make()));
  }
  return records[0]?.().value?.length ?? 0;
}

/** What a process did after the warm-up. */
interface Drained {
  readonly perSecond: number;
  /** Processor time of one event, which says more than the rate where others want the processors too. */
  readonly cpuMs: number;
}

/** Lets one process work off the whole backlog. */
async function drain(kafka: BenchKafka, group: string, start: () => Promise<Child>): Promise<Drained> {
  const { admin } = kafka;
  await admin.resetOffsets({ groupId: group, topic: TOPICS.inventory.name, earliest: true });
  const before = await recordsOf(kafka, TOPICS.commands.name);
  await using worker = await start();
  try {
    const warm = await reached(kafka, before + WARM_UP_EVENTS);
    const cpuBeforeMs = usedCpuMs(worker.pid);
    const end = await reached(kafka, before + BACKLOG);
    const events = end.records - warm.records;
    return {
      perSecond: (events * 1000) / (end.atMs - warm.atMs),
      cpuMs: (usedCpuMs(worker.pid) - cpuBeforeMs) / events,
    };
  } catch (error) {
    say(worker.output());
    throw error;
  }
}

/** Waits until there are so many commands; resolves to how many there are, and when that was. */
async function reached(kafka: BenchKafka, records: number) {
  const boundMs = performance.now() + DRAIN_MS;
  while (performance.now() < boundMs) {
    const found = await recordsOf(kafka, TOPICS.commands.name);
    if (found >= records) return { records: found, atMs: performance.now() };
    await sleep(LOOK_MS);
  }
  throw new Error(`waited ${DRAIN_MS} ms for ${records} commands`);
}
