import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerdNode } from '../../support/nodes/containerd-node.ts';
import { emptyDisk, fillDisk } from '../../support/nodes/disk-filler.ts';
import { type PushedImage, type Registry, startRegistry } from '../../support/nodes/registry.ts';
import { startVerb } from '../child.ts';
import {
  type CollectedNode,
  type Collector,
  imageIds,
  type NodeImages,
  pullMissing,
  startCollectedNode,
  THRESHOLDS,
} from '../collectors.ts';
import { applyPolicy, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { type BenchKafka, kafkaArguments } from '../kafka.ts';
import { spreadOf } from '../statistics.ts';

const NODES_EACH = 3;
const UNUSED_IMAGES = 10;
const MEBIBYTE = 1024 * 1024;
/** Packed and unpacked each takes 5 % of a node's disk. */
const BALLAST_BYTES = 6 * MEBIBYTE;
/** Longer than the kubelet's own period of image collection. */
const RELIEVED_SECONDS = 400;
const SETTLE_MS = 3_000;

interface Filling {
  readonly name: string;
  readonly percent: number;
  readonly rounds: number;
  /** Between the nodes of one collector. */
  readonly staggerMs: number;
}

const FILLINGS: readonly Filling[] = [
  { name: 'past the eviction threshold', percent: 88, rounds: 2, staggerMs: 0 },
  { name: 'past the high threshold alone', percent: 83, rounds: 1, staggerMs: 80_000 },
];

/** The same disk filled in the same way, with the kubelet's own collector alone and with FleetGC alone. */
export async function benchKubelet(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  await applyPolicy(kafka.log, {
    imageGCHighThresholdPercent: THRESHOLDS.high,
    imageGCLowThresholdPercent: THRESHOLDS.low,
    imageMinimumGCAgeMs: -1,
    evictionThresholds: [
      {
        signal: 'imagefs.available',
        kind: 'hard',
        value: { percent: THRESHOLDS.evictionAvailable },
        gracePeriodMs: 0,
        minimumReclaim: null,
      },
    ],
  });
  stack.use(startVerb(['decide', ...kafkaArguments(kafka), '--http-address', 'none', '--log-level', 'warn']));
  say(`kubelet: ${2 * NODES_EACH} nodes pull ${UNUSED_IMAGES + 1} images each`);
  const images = await pushImages(stack.use(await startRegistry(kafka.network)));
  const nodes = await startNodes(kafka, stack, images);
  const figures: Figure[] = [];
  for (const filling of FILLINGS) figures.push(...(await figuresOf(filling, nodes, images)));
  return { figures, notes: NOTES };
}

const NOTES = [
  `${NODES_EACH} nodes each, with containerd 2.4.2, the kubelet 1.34.2 and a disk of 256 MiB: one pod and ${UNUSED_IMAGES} images that nobody uses. Both collectors have the same thresholds (${THRESHOLDS.high} % and ${THRESHOLDS.low} %, imagefs.available ${THRESHOLDS.evictionAvailable} %) and no minimum age; where FleetGC collects, the kubelet's own collector is off.`,
  `Time to relief: from the file that fills the disk to ${Math.max(...FILLINGS.map(({ percent }) => percent))} % or ${Math.min(...FILLINGS.map(({ percent }) => percent))} % to usage at the low threshold.`,
  'The kubelet looks at eviction every 10 s and then removes every unused image; past the high threshold alone it waits for its pass every 5 min, at whose different moments the nodes were filled.',
];

async function pushImages(registry: Registry): Promise<NodeImages> {
  const unused: PushedImage[] = [];
  for (let index = 0; index < UNUSED_IMAGES; index += 1)
    unused.push(await registry.push(`team/unused-${index}`, '1', BALLAST_BYTES));
  return { unused, used: await registry.push('team/used', '1', BALLAST_BYTES) };
}

async function startNodes(
  kafka: BenchKafka,
  stack: AsyncDisposableStack,
  images: NodeImages,
): Promise<readonly CollectedNode[]> {
  const nodes: CollectedNode[] = [];
  for (const collector of ['kubelet', 'fleetgc'] as const)
    for (let index = 0; index < NODES_EACH; index += 1) {
      const name = `${collector}-${index}`;
      nodes.push(await startCollectedNode(kafka, stack, { name, collector, images }));
    }
  return nodes;
}

/** One filling, from the file to the end of what the collector did about it. */
interface Relief {
  readonly collector: Collector;
  readonly seconds: number;
  readonly images: number;
  readonly mebibytes: number;
}

async function figuresOf(
  { name, percent, rounds, staggerMs }: Filling,
  nodes: readonly CollectedNode[],
  { unused }: NodeImages,
): Promise<readonly Figure[]> {
  const reliefs: Relief[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    say(`kubelet, ${name}, round ${round} of ${rounds}`);
    const inTurn = nodes.map(async (node, index) => {
      await sleep((index % NODES_EACH) * staggerMs);
      return await reliefOf(node, percent);
    });
    reliefs.push(...(await Promise.all(inTurn)));
    for (const node of nodes) await pullMissing(node, unused);
  }
  const figure = (what: string, unit: string, of: (relief: Relief) => number): Figure => ({
    benchmark: 'kubelet',
    name: `${name}: ${what}`,
    unit,
    value: spreadOf(reliefs.filter(({ collector }) => collector === 'fleetgc').map(of)),
    baseline: spreadOf(reliefs.filter(({ collector }) => collector === 'kubelet').map(of)),
    baselineName: 'kubelet',
    samples: rounds * NODES_EACH,
    aim: null,
  });
  return [
    figure('time to relief', 's', ({ seconds }) => seconds),
    figure('images removed', 'images', ({ images }) => images),
    figure('freed', 'MiB', ({ mebibytes }) => mebibytes),
  ];
}

/** Ends with an empty disk, except for the images that are left. */
async function reliefOf(node: CollectedNode, percent: number): Promise<Relief> {
  const before = await imageIds(node);
  await fillDisk(node, percent);
  const startMs = performance.now();
  const { availableBytes } = await node.disk();
  await node.exec([
    'timeout',
    String(RELIEVED_SECONDS),
    'sh',
    '-c',
    UNTIL_USED,
    'sh',
    String(THRESHOLDS.low),
  ]);
  const seconds = (performance.now() - startMs) / 1000;
  const left = await settledImages(node);
  const freedBytes = (await node.disk()).availableBytes - availableBytes;
  await emptyDisk(node);
  const { collector } = node;
  return { collector, seconds, images: before.length - left, mebibytes: freedBytes / MEBIBYTE };
}

/** Looks ten times a second until so many percent of the disk are used, rounded up as thresholds are. */
const UNTIL_USED = `
used() { set -- $(stat -f -c '%b %a' /disk); echo $((100 - $2 * 100 / $1)); }
until [ "$(used)" -le "$1" ]; do sleep 0.1; done`;

/** How many images are there once none has gone for a while. */
async function settledImages(node: ContainerdNode): Promise<number> {
  let count = (await imageIds(node)).length;
  for (;;) {
    await sleep(SETTLE_MS);
    const now = (await imageIds(node)).length;
    if (now === count) return count;
    count = now;
  }
}
