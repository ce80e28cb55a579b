import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { observe } from '../../../test/fixtures/observe.ts';
import { LOCAL_PORT } from '../../../test/support/kafka/kafka-properties.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Child, startScript } from '../child.ts';
import { recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { heapInUseBytes } from '../jvm-heap.ts';
import { type BenchKafka, startKafka } from '../kafka.ts';
import { benchNode } from '../nodes.ts';
import { usedCpuMs } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';

const KINDS = ['fleetgc', 'kafkajs'] as const;
type Kind = (typeof KINDS)[number];

/**
 * The most are more than a third of the fleet, which is what each of its brokers has to carry; they have 17,500 connections,
 * where a process may often have no more than 20,000. Plain clients take the broker's time before that.
 */
const SIZES = { fleetgc: [100, 1_000, 3_500], kafkajs: [100, 1_000] } as const;
const SMALLEST = 100;
const NODES_OF_A_PROCESS = 500;
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
  for (const kind of KINDS) {
    for (const nodes of SIZES[kind]) {
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
      figure('broker, heap of a node', 'kB', costs, heapOfANode),
      ...growth(costs.fleetgc),
    ],
    notes: [...lines, ...extrapolation(costs.fleetgc), ...NOTES],
  };
}

const NOTES = [
  `A new broker with ${HEAP_MEGABYTES} MB of heap for each crowd; so many nodes in processes of ${NODES_OF_A_PROCESS} in the network of its container (no forwarding of ports), each with the Kafka side of "fleetgc node" (orders, policies, producer), windows of ${WINDOW_MS / 1000} s, first with nothing to do, then with ${ORDERS_PER_SECOND} orders a second for one node each.`,
  'Baseline: kafkajs with its defaults, one group for each node and a producer; it reads every partition, as a plain consumer does, and no policies.',
  'Heap: the live objects of the broker, less those before the nodes came.',
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
    const crowd = { brokers: [`127.0.0.1:${LOCAL_PORT}`], first, count, kind };
    children.push(stack.use(await startScript('many-nodes', crowd, { networkOf: pid })));
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

const heapOfANode = ({ heapKilobytes, nodes }: Cost): number => heapKilobytes / nodes;

/** What a node costs a broker is not to grow with the number of nodes. */
function growth(costs: readonly Cost[]): readonly Figure[] {
  const smallest = costs.find(({ nodes }) => nodes === SMALLEST);
  if (smallest === undefined) return [];
  const figures = [
    ['heap of a node', 'kB', heapOfANode],
    ['connections of a node', 'sockets', ({ nodes, sockets }: Cost) => sockets / nodes],
    ['requests of an idle node', 'a minute', ({ nodes, idle }: Cost) => (total(idle) * 60) / nodes],
  ] as const;
  return costs
    .filter((cost) => cost !== smallest)
    .flatMap((cost) =>
      figures.map(([name, unit, of]) => ({
        benchmark: 'executors',
        name: `${cost.nodes} nodes: ${name}`,
        unit,
        value: spreadOf([of(cost)]),
        baseline: spreadOf([of(smallest)]),
        baselineName: `${SMALLEST} nodes`,
        samples: 1,
        aim: { kind: 'ratio-at-most', limit: 1.2 },
      })),
    );
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
