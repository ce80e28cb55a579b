import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { nodeOutput } from '../../services/shared/handler.ts';
import { observe } from '../fixtures/observe.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Child, startScript } from './child.ts';
import { recordOf, say } from './context.ts';
import type { Figure, Findings } from './figure.ts';
import { heapInUseBytes } from './jvm-heap.ts';
import { type BenchKafka, startKafka } from './kafka.ts';
import { benchNode } from './nodes.ts';
import { usedCpuMs } from './process-usage.ts';
import { spreadOf } from './statistics.ts';

const KINDS = ['fleetgc', 'kafkajs'] as const;
type Kind = (typeof KINDS)[number];

/** So many that the fixed costs of the broker do not show, and that a machine with two cores still carries them. */
const SIZES = [100, 300, 600];
const NODES_OF_A_PROCESS = 250;
const OPEN_MS = 240_000;
const SETTLE_MS = 12_000;
const WINDOW_MS = 15_000;
const ORDERS_PER_SECOND = 10;
const HEAP_MEGABYTES = 1024;
const PARTITIONS = 32;
const FLEET = { nodes: 10_000, brokers: 3 } as const;

/** What one crowd of nodes cost the broker. */
interface Cost {
  readonly nodes: number;
  readonly sockets: number;
  readonly idle: Window;
  readonly ordered: Window;
  readonly heapKilobytes: number;
}

interface Window {
  /** By name of the request, each second. */
  readonly requests: ReadonlyMap<string, number>;
  /** Of the broker, milliseconds each second. */
  readonly cpuMs: number;
  readonly records: number;
}

const Said = z.object({
  open: z.int(),
  records: z.int(),
  requests: z.record(z.string(), z.int()),
  sockets: z.int(),
});
type Said = z.infer<typeof Said>;

/** What the Kafka side of a node costs a broker, beside a plain client that joins a group for each node. */
export async function benchExecutors(): Promise<Findings> {
  const costs: Record<Kind, Cost[]> = { fleetgc: [], kafkajs: [] };
  for (const nodes of SIZES) {
    for (const kind of KINDS) {
      const cost = await costOf(kind, nodes);
      say(costText(kind, cost));
      costs[kind].push(cost);
    }
  }
  const lines = KINDS.flatMap((kind) => costs[kind].map((cost) => costText(kind, cost)));
  return {
    figures: [
      figure('connections of a node', 'sockets', costs, ({ nodes, sockets }) => sockets / nodes),
      figure('requests of an idle node', 'a minute', costs, ({ nodes, idle }) => (total(idle) * 60) / nodes),
      figure(
        'broker, 1,000 idle nodes',
        '% of a core',
        costs,
        ({ nodes, idle }) => (idle.cpuMs / nodes) * 100,
      ),
      figure(
        'requests that one order brings, for each node that shares its partition',
        'requests',
        costs,
        ordered,
      ),
      figure('broker, heap of a node', 'kB', costs, ({ heapKilobytes, nodes }) => heapKilobytes / nodes),
    ],
    notes: [...lines, ...extrapolation(costs.fleetgc), ...NOTES],
  };
}

const NOTES = [
  `One broker with ${HEAP_MEGABYTES} MB of heap; so many nodes in processes of ${NODES_OF_A_PROCESS}, each with the Kafka side of "fleetgc node" (orders, policies, producer), windows of ${WINDOW_MS / 1000} s, first with nothing to do, then with ${ORDERS_PER_SECOND} orders a second for one node each.`,
  'Baseline: kafkajs with its defaults, one group for each node and a producer; it reads no policies.',
  'Heap: what the broker holds after collecting all garbage, less what it held before the nodes came.',
];

async function costOf(kind: Kind, nodes: number): Promise<Cost> {
  await using stack = new AsyncDisposableStack();
  const kafka = stack.use(await startKafka({ heapMegabytes: HEAP_MEGABYTES }));
  const pid = await kafka.broker.processId();
  await sleep(SETTLE_MS);
  const empty = await watch(pid, [], async () => undefined);
  const heapBefore = await heapInUseBytes(pid);
  say(`executors: ${nodes} nodes, ${kind}`);
  const children: Child[] = [];
  for (let first = 0; first < nodes; first += NODES_OF_A_PROCESS) {
    const count = Math.min(NODES_OF_A_PROCESS, nodes - first);
    const crowd = { brokers: [kafka.broker.address], first, count, kind };
    children.push(stack.use(await startScript('many-nodes', crowd)));
  }
  await waitUntil(`${nodes} nodes to be served`, OPEN_MS, () => saidBy(children).open === nodes);
  await sleep(SETTLE_MS);
  const idle = await watch(pid, children, async () => undefined);
  const heapKilobytes = ((await heapInUseBytes(pid)) - heapBefore) / 1000;
  const ordered = await watch(pid, children, () => giveOrders(kafka, nodes));
  return {
    nodes,
    sockets: saidBy(children).sockets,
    idle: without(idle, empty),
    ordered: without(ordered, empty),
    heapKilobytes,
  };
}

/** A broker that serves nobody has work too. */
const without = (window: Window, empty: Window): Window => ({ ...window, cpuMs: window.cpuMs - empty.cpuMs });

function saidBy(children: readonly Child[]): Said {
  const latest = children.map((child) => {
    const line = child
      .output()
      .split('\n')
      .findLast((text) => text.startsWith('{') && text.endsWith('}'));
    return Said.parse(JSON.parse(line ?? '{"open":0,"records":0,"requests":{},"sockets":0}'));
  });
  return latest.reduce(
    (sum, one) => ({
      open: sum.open + one.open,
      records: sum.records + one.records,
      sockets: sum.sockets + one.sockets,
      requests: Object.fromEntries(
        [...Object.keys(sum.requests), ...Object.keys(one.requests)].map((name) => [
          name,
          (sum.requests[name] ?? 0) + (one.requests[name] ?? 0),
        ]),
      ),
    }),
    { open: 0, records: 0, requests: {}, sockets: 0 },
  );
}

async function watch(pid: number, children: readonly Child[], work: () => Promise<void>): Promise<Window> {
  const [before, cpuBefore, startMs] = [saidBy(children), usedCpuMs(pid), performance.now()];
  await work();
  await sleep(WINDOW_MS - (performance.now() - startMs));
  const after = saidBy(children);
  const seconds = (performance.now() - startMs) / 1000;
  const requests = Object.entries(after.requests).map(
    ([name, count]) => [name, (count - (before.requests[name] ?? 0)) / seconds] as const,
  );
  return {
    requests: new Map(requests.filter(([, count]) => count > 0)),
    cpuMs: (usedCpuMs(pid) - cpuBefore) / seconds,
    records: (after.records - before.records) / seconds,
  };
}

async function giveOrders({ log }: BenchKafka, nodes: number): Promise<void> {
  const endMs = performance.now() + WINDOW_MS;
  for (let number = 0; performance.now() < endMs; number += 1) {
    const identity = benchNode((number * 7919) % nodes);
    const event = observe({ id: `order-${number}`, ...identity });
    await log.publish([recordOf(nodeOutput('observe', event))]);
    await sleep(1000 / ORDERS_PER_SECOND);
  }
}

const total = ({ requests }: Window): number => requests.values().reduce((sum, count) => sum + count, 0);

/** Each order is read by every node whose key falls into the same partition. */
const ordered = ({ idle, ordered: busy, nodes }: Cost): number =>
  (total(busy) - total(idle)) / (ORDERS_PER_SECOND * Math.max(1, nodes / PARTITIONS));

function figure(
  name: string,
  unit: string,
  costs: Readonly<Record<Kind, readonly Cost[]>>,
  of: (cost: Cost) => number,
): Figure {
  return {
    benchmark: 'executors',
    name,
    unit,
    value: spreadOf(costs.fleetgc.map(of)),
    baseline: spreadOf(costs.kafkajs.map(of)),
    baselineName: 'kafkajs, a group for each node',
    samples: costs.fleetgc.length,
    aim: { kind: 'ratio-at-most', limit: 1 },
  };
}

const rounded = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

const windowText = ({ requests, cpuMs, records }: Window): string => {
  const each = [...requests].map(([name, count]) => `${name} ${rounded(count)}`).join(', ');
  return `broker ${rounded(cpuMs / 10)} % of a core, requests a second: ${each || 'none'}, records ${rounded(records)}`;
};

const costText = (kind: Kind, { nodes, sockets, idle, ordered: busy, heapKilobytes }: Cost): string =>
  `${kind}, ${nodes} nodes: ${sockets} sockets, ${rounded(heapKilobytes / 1000)} MB of heap; idle: ${windowText(idle)}; with orders: ${windowText(busy)}`;

/** From the largest crowd, in proportion: what a fleet would cost each broker. */
function extrapolation(costs: readonly Cost[]): readonly string[] {
  const largest = costs.at(-1);
  if (largest === undefined) return [];
  const scale = FLEET.nodes / largest.nodes / FLEET.brokers;
  return [
    `In proportion, ${FLEET.nodes} nodes on ${FLEET.brokers} brokers cost each broker ${rounded(largest.sockets * scale)} connections (as many again where each node reaches every broker), ${rounded((largest.heapKilobytes * scale) / 1000)} MB of heap, ${rounded(total(largest.idle) * scale)} requests a second and ${rounded((largest.idle.cpuMs * scale) / 10)} % of a core when idle.`,
  ];
}
