import { kill } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { startLoad } from '../../e2e/support/load.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { applyPolicy, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { type BenchKafka, createPlainTopics, kafkaArguments, openGzipLog, skipToEnd } from '../kafka.ts';
import { type Arrival, openProbe } from '../probe.ts';
import { median, spreadOf } from '../statistics.ts';

const LOAD = { nodes: 64, inventoriesPerSecond: 64 };
/** How many replicas there are after each change. */
const CHANGES = [
  { name: '1 to 2 replicas', to: 2 },
  { name: '2 to 4', to: 4 },
  { name: '4 to 8', to: 8 },
  { name: '8 to 4', to: 4 },
  { name: '4 to 2', to: 2 },
  { name: '2 to 1', to: 1 },
] as const;
const KILLED = 'one of 2 is killed';
const RELAYED = 'bench.relayed';
const SETTLED_MS = 120_000;
/** What was sent in so long before and after a change belongs to it. */
const AROUND_MS = 2000;

interface Contender {
  readonly group: string;
  readonly answers: string;
  readonly start: () => Promise<Child>;
}

/** By name of the change: the longest wait of each partition, in ms. */
type Pauses = Map<string, readonly number[]>;

/** Replicas come and go under load: how long the inventories of each partition wait for their decision, beside bare kafkajs. */
export async function benchRebalance(kafka: BenchKafka): Promise<Findings> {
  await applyPolicy(kafka.log);
  await createPlainTopics(kafka, [RELAYED]);
  const flags = ['--http-address', 'none', '--log-level', 'warn'];
  const hops = [[TOPICS.inventory.name, RELAYED]] as const;
  const bare = await pausesOf(kafka, {
    group: `relay-${TOPICS.inventory.name}`,
    answers: RELAYED,
    start: () => startScript('relay', { brokers: kafka.options.brokers, hops }),
  });
  const ours = await pausesOf(kafka, {
    group: 'fleetgc-image-gc',
    answers: TOPICS.decisions.name,
    start: async () => startVerb(['image-gc', ...kafkaArguments(kafka), ...flags]),
  });
  return {
    figures: [...ours].map(([name, pauses]) => figureOf(name, pauses, bare.get(name) ?? [])),
    notes: [
      `${LOAD.inventoriesPerSecond} inventories a second of 20 images each from ${LOAD.nodes} nodes; the longest wait from an inventory on the log to its decision on the log, by the broker's clock, of each partition around a change: median and range of partitions. Starting processes share the cores with all else.`,
      'Baseline: a relay of kafkajs as it comes, in one group.',
    ],
  };
}

const figureOf = (name: string, pauses: readonly number[], bare: readonly number[]): Figure => ({
  benchmark: 'rebalance',
  name: `${name}: longest wait, by partition`,
  unit: 'ms',
  value: spreadOf(pauses),
  baseline: spreadOf(bare),
  baselineName: 'bare kafkajs relay',
  samples: pauses.length,
  aim: null,
});

const Decided = z.object({ input: z.object({ id: z.string() }) });

/** When each inventory came onto the log, and what follows from it. */
interface Times {
  readonly sent: Map<string, Pick<Arrival, 'appendedAtMs'> & { readonly partition: number }>;
  readonly answered: Map<string, number>;
}

function noting({ sent, answered }: Times, answers: string) {
  return ({ topic, value, headers, appendedAtMs, partition }: Arrival): void => {
    const id = headers.ce_id ?? '';
    if (topic === TOPICS.inventory.name) sent.set(id, { appendedAtMs, partition });
    else if (topic === answers) {
      const about = answers === RELAYED ? id : Decided.parse(JSON.parse(String(value))).input.id;
      answered.set(about, Math.min(appendedAtMs, answered.get(about) ?? appendedAtMs));
    }
  };
}

async function pausesOf(kafka: BenchKafka, contender: Contender): Promise<Pauses> {
  const { group, answers, start } = contender;
  await using stack = new AsyncDisposableStack();
  await skipToEnd(kafka, group, TOPICS.inventory.name);
  const times: Times = { sent: new Map(), answered: new Map() };
  const topics = [TOPICS.inventory.name, answers];
  const onArrival = noting(times, answers);
  stack.use(await openProbe({ kafka, topics, compression: 'zstd', onArrival }));
  const replicas: Child[] = [];
  stack.defer(() => shrink(replicas, 0));
  const grow = async (count: number): Promise<void> => {
    const missing = Array.from({ length: count - replicas.length }, start);
    replicas.push(...(await Promise.all(missing)));
  };
  await grow(1);
  await settled(kafka, group, 1);
  const log = stack.use(await openGzipLog(kafka));
  const load = stack.use(startLoad(log, LOAD));
  const pauses: Pauses = new Map();
  const change = async (name: string, members: number, work: () => Promise<void>): Promise<void> => {
    say(`rebalance, ${group}, ${name}`);
    await sleep(AROUND_MS);
    const fromMs = Date.now() - AROUND_MS / 2;
    await work();
    await settled(kafka, group, members);
    await sleep(AROUND_MS);
    const toMs = Date.now() - AROUND_MS / 2;
    pauses.set(name, await longestWaits(times, { fromMs, toMs }));
  };
  for (const { name, to } of CHANGES)
    await change(name, to, () => (to > replicas.length ? grow(to) : shrink(replicas, to)));
  await change('1 to 2 once more', 2, () => grow(2));
  await change(KILLED, 1, async () => {
    const last = replicas.pop();
    if (last !== undefined) kill(last.pid, 'SIGKILL');
  });
  await load.stop();
  return pauses;
}

async function shrink(replicas: Child[], to: number): Promise<void> {
  await Promise.all(replicas.splice(to).map((replica) => replica[Symbol.asyncDispose]()));
}

const settled = (kafka: BenchKafka, group: string, members: number): Promise<true> =>
  waitUntil(`${members} members of ${group}`, SETTLED_MS, async () => {
    const { groups } = await kafka.admin.describeGroups([group]);
    return groups.every((found) => found.state === 'Stable' && found.members.length === members);
  });

/** By partition, of what came in that time; waits until all of it is answered. */
async function longestWaits(
  { sent, answered }: Times,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<readonly number[]> {
  const around = [...sent].filter(([, { appendedAtMs }]) => appendedAtMs >= fromMs && appendedAtMs < toMs);
  await waitUntil('answers to all of it', SETTLED_MS, () => around.every(([id]) => answered.has(id)));
  const waits = around.map(([id, { appendedAtMs, partition }]) => ({
    partition,
    ms: (answered.get(id) ?? Number.NaN) - appendedAtMs,
  }));
  const byPartition = Map.groupBy(waits, ({ partition }) => partition);
  const longest = [...byPartition.values()].map((of) => Math.max(...of.map(({ ms }) => ms)));
  say(`  median ${median(longest)} ms, longest ${Math.max(...longest)} ms, ${around.length} inventories`);
  return longest;
}
