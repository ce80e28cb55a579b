import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { startScript, startVerb } from '../child.ts';
import { applyPolicy, logContext, recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { type BenchKafka, type BenchLog, createPlainTopics, kafkaArguments } from '../kafka.ts';
import { type Course, type Latencies, type Load, runLoad } from '../load.ts';
import { openProbe } from '../probe.ts';
import { median, percentile, spreadOfRounds } from '../statistics.ts';

const NODES = 40;
/** Short ones, so that what else the machine does falls on all alike. */
const ROUNDS = 8;
const WARM_UP: Load = { perSecond: 40, count: 120 };
const LOADS: readonly Load[] = [
  { perSecond: 10, count: 20 },
  { perSecond: 40, count: 60 },
];
const MAX_LOG_BYTES = 2 ** 30;
const RELAY_IN = 'bench-relay-in';
const RELAY_OUT = 'bench-relay-out';

type Seen = Map<string, { atMs: number; appendedAtMs: number | null }>;

/** Inventory event to command on the log, on both adapters, beside a relay of the same bytes. */
export async function benchLatency(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const nodes = Array.from({ length: NODES }, (_, index) =>
    fullNode(`node-${index}`, { images: 200, containers: 30 }),
  );
  const courses = {
    kafka: await kafkaCourse(kafka, nodes, stack),
    embedded: await embeddedCourse(nodes, stack),
    relay: await relayCourse(kafka, nodes, stack),
  };
  for (const course of Object.values(courses)) await runLoad(course, WARM_UP);
  const figures: Figure[] = [];
  for (const load of LOADS) {
    const rounds = await alternate(courses, load);
    figures.push(...figuresOf('Kafka', load, rounds.kafka, rounds.relay));
    figures.push(...figuresOf('embedded', load, rounds.embedded, rounds.relay));
  }
  const bytes = nodes[0] ? bytesOf(nodes[0], 'event-1').length : 0;
  return {
    figures,
    notes: [
      `Each event is an inventory of 200 images and 30 containers, ${Math.round(bytes / 1000)} kB; the command names up to 50 images, and the record of the decision goes before it.`,
      "sent to seen: from the call that publishes the inventory to the moment the load generator has read the command. on the log: between the broker's times (LogAppendTime) of both.",
      'Baseline: a relay with kafkajs as it comes (eachMessage, acks of all, no compression), in a process of its own, of the same bytes.',
      'p99 with few samples a round is close to the maximum: it is of all rounds together, its spread of single rounds.',
    ],
  };
}

type Rounds = Readonly<Record<'kafka' | 'embedded' | 'relay', readonly Latencies[]>>;

async function alternate(courses: Readonly<Record<keyof Rounds, Course>>, load: Load): Promise<Rounds> {
  const rounds: Record<keyof Rounds, Latencies[]> = { kafka: [], embedded: [], relay: [] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`latency at ${load.perSecond} events/s, round ${round} of ${ROUNDS}`);
    rounds.kafka.push(await runLoad(courses.kafka, load));
    rounds.relay.push(await runLoad(courses.relay, load));
    rounds.embedded.push(await runLoad(courses.embedded, load));
  }
  return rounds;
}

function figuresOf(
  log: string,
  { perSecond }: Load,
  rounds: readonly Latencies[],
  relay: readonly Latencies[],
): Figure[] {
  const at = `${log}, ${perSecond}/s`;
  const aim = { kind: 'ratio-at-most', limit: 2 } as const;
  const ends = [rounds, relay].map((all) => all.map(({ sentToSeen }) => sentToSeen));
  const onLog = [rounds, relay].map((all) => all.map(({ onLog: times }) => times));
  const figure = (name: string, percent: number, [values = [], baselines = []]: typeof ends): Figure => ({
    benchmark: 'latency',
    name: `${at}: p${percent} ${name}`,
    unit: 'ms',
    value: pooled(values, percent),
    baseline: pooled(baselines, percent),
    baselineName: 'relay',
    samples: values.flat().length,
    aim: name === 'sent to seen' ? aim : null,
  });
  const ofEnds = [50, 99].map((percent) => figure('sent to seen', percent, ends));
  if (onLog[0]?.flat().length === 0) return ofEnds;
  return [...ofEnds, ...[50, 99].map((percent) => figure('on the log', percent, onLog))];
}

export const pooled = (rounds: readonly (readonly number[])[], percent: number) => ({
  ...spreadOfRounds(rounds, (values) => percentile(values, percent)),
  median: percent === 50 ? median(rounds.flat()) : percentile(rounds.flat(), percent),
});

const bytesOf = (node: CompleteInventory, id: string): Buffer => Buffer.from(JSON.stringify({ ...node, id }));

const nodeAt = (nodes: readonly CompleteInventory[], number: number): CompleteInventory => {
  const node = nodes[number % nodes.length];
  if (node === undefined) throw new RangeError('no nodes');
  return node;
};

const inventoryIn = (command: Buffer): string => {
  const { inventoryId }: { readonly inventoryId: string } = JSON.parse(command.toString());
  return inventoryId;
};

/** Inventory to command, by a worker in a process of its own. */
export async function kafkaCourse(
  kafka: BenchLog,
  nodes: readonly CompleteInventory[],
  stack: AsyncDisposableStack,
): Promise<Course> {
  await applyPolicy(kafka.log);
  const seen: Seen = new Map();
  const probe = stack.use(
    await openProbe({
      kafka,
      topics: [TOPICS.commands.name],
      compression: 'zstd',
      onArrival: ({ value, seenAtMs, appendedAtMs }) =>
        seen.set(inventoryIn(value), { atMs: seenAtMs, appendedAtMs }),
    }),
  );
  stack.use(
    startVerb(['image-gc', ...kafkaArguments(kafka), '--http-address', 'none', '--log-level', 'warn']),
  );
  return {
    seen,
    send: (id, number) => {
      const event = { ...nodeAt(nodes, number), id };
      return probe.send(TOPICS.inventory.name, recordOf(nodeOutput('inventory', event)));
    },
  };
}

/** The same bytes through a bare relay. */
export async function relayCourse(
  kafka: BenchLog,
  nodes: readonly CompleteInventory[],
  stack: AsyncDisposableStack,
): Promise<Course> {
  await createPlainTopics(kafka, [RELAY_IN, RELAY_OUT]);
  const seen: Seen = new Map();
  const probe = stack.use(
    await openProbe({
      kafka,
      topics: [RELAY_OUT],
      compression: 'none',
      onArrival: ({ headers, seenAtMs, appendedAtMs }) =>
        seen.set(headers.id ?? '', { atMs: seenAtMs, appendedAtMs }),
    }),
  );
  stack.use(await startScript('relay', { brokers: kafka.options.brokers, hops: [[RELAY_IN, RELAY_OUT]] }));
  return {
    seen,
    send: (id, number) => {
      const node = nodeAt(nodes, number);
      return probe.send(RELAY_IN, { key: nodeKey(node), value: bytesOf(node, id), headers: { id } });
    },
  };
}

async function embeddedCourse(
  nodes: readonly CompleteInventory[],
  stack: AsyncDisposableStack,
): Promise<Course> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-bench-'));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'log.db');
  const log = stack.use(await openEmbeddedLog({ path, maxBytes: MAX_LOG_BYTES }, logContext));
  await log.createTopics();
  await applyPolicy(log);
  const seen: Seen = new Map();
  const reading = new AbortController();
  const watching = (async () => {
    const request = { topic: TOPICS.commands.name, from: 'earliest', to: 'forever' } as const;
    for await (const event of log.read(request, reading.signal)) {
      if (event.kind !== 'record' || event.record.value === null) continue;
      seen.set(inventoryIn(event.record.value), { atMs: performance.now(), appendedAtMs: null });
    }
  })();
  stack.defer(async () => {
    reading.abort();
    await watching;
  });
  const flags = ['--log', 'embedded', '--log-path', path, '--http-address', 'none', '--log-level', 'warn'];
  stack.use(startVerb(['image-gc', ...flags]));
  return {
    seen,
    send: async (id, number) => {
      const event = { ...nodeAt(nodes, number), id };
      await log.publish([recordOf(nodeOutput('inventory', event))]);
      return null;
    },
  };
}
