import { setTimeout as sleep } from 'node:timers/promises';
import { connectRemover } from '../../../packages/cri/client.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type ContainerdNode, startContainerdNode } from '../../../test/support/nodes/containerd-node.ts';
import { connectWorkload } from '../../../test/support/nodes/cri-workload.ts';
import { emptyDisk, fillDisk } from '../../../test/support/nodes/disk-filler.ts';
import { followImageDeletions, type ImageDeletions } from '../../../test/support/nodes/image-deletions.ts';
import { type NodeProcess, startFleetgc } from '../../../test/support/nodes/node-process.ts';
import { type PushedImage, startRegistry } from '../../../test/support/nodes/registry.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { startVerb } from '../child.ts';
import { applyPolicy, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { type BenchKafka, kafkaArguments } from '../kafka.ts';
import { percentile, type Spread, spreadOfRounds } from '../statistics.ts';
import { type Relays, startRelays } from './relays.ts';
import { type Relief, reliefsOn } from './reliefs.ts';

const NODES = 3;
const ROUNDS = 8;
const IMAGES = 45;
const DISK_MEBIBYTES = 512;
const MEBIBYTE = 1024 * 1024;
const BALLAST_BYTES = 2 * MEBIBYTE;
const HIGH_PERCENT = 85;
/** An agent answers orders of different reclaims at least 10 s apart: a round takes a little longer. */
const STAGGER_MS = 700;
const RELIEVED_MS = 4500;
const EMPTY_MS = 2500;
const SEEN_MS = 15_000;
const HOPS = 7;
const RELAYED_BYTES = 16_000;
const RELAYED_PER_ROUND = 20;

interface BusyNode {
  readonly node: ContainerdNode;
  readonly process: NodeProcess;
  readonly deletions: ImageDeletions;
}

/** From the sample that saw the disk above its threshold to the first image removed, on a real runtime. */
export async function benchRelief(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  await applyPolicy(kafka.log, {
    imageGCHighThresholdPercent: HIGH_PERCENT,
    imageGCLowThresholdPercent: HIGH_PERCENT - 1,
    imageMinimumGCAgeMs: -1,
  });
  const nodes = await startNodes(kafka, stack);
  stack.use(startVerb(['decide', ...kafkaArguments(kafka), '--http-address', 'none', '--log-level', 'warn']));
  const relays = await startRelays(kafka, stack, { hops: HOPS, bytes: RELAYED_BYTES });
  await relays.relay({ perSecond: 20, count: 100 });
  await sleep(RELIEVED_MS);
  const bare: BareRound[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`relief, round ${round} of ${ROUNDS}`);
    bare.push(await oneRound(nodes, relays));
  }
  return findings(await allReliefs(kafka, nodes), bare);
}

/** What the same takes without FleetGC, ms each. */
interface BareRound {
  readonly relays: readonly number[];
  readonly relaysAndListings: readonly number[];
  readonly withRemoval: readonly number[];
}

function findings(reliefs: readonly Relief[], bare: readonly BareRound[]): Findings {
  const times = reliefs.map(({ sampleToRemovedMs }) => sampleToRemovedMs);
  const figure = (percent: number, name: string, pick: (round: BareRound) => readonly number[]) => ({
    benchmark: 'relief',
    name: `sample to first image removed, p${percent}`,
    unit: 'ms',
    value: { ...spread([times], 50), median: percentile(times, percent) },
    baseline: { ...spread(bare.map(pick), percent), median: percentile(bare.flatMap(pick), percent) },
    baselineName: name,
    samples: times.length,
  });
  const ofPercent = (percent: number): readonly Figure[] => [
    {
      ...figure(percent, 'seven relays', ({ relays }) => relays),
      aim: percent === 99 ? { kind: 'value-at-most', limit: 700 } : null,
    },
    {
      ...figure(percent, 'seven relays, two listings', ({ relaysAndListings }) => relaysAndListings),
      aim: { kind: 'ratio-at-most', limit: 1.5 },
    },
    {
      ...figure(percent, 'seven relays, two listings, one removal', ({ withRemoval }) => withRemoval),
      aim: null,
    },
  ];
  const resultMs = percentile(
    reliefs.map(({ sampleToResultMs }) => sampleToResultMs),
    50,
  );
  const hops = reliefs.map(({ hopsMs }) => hopsMs);
  const hopMedians =
    hops[0]?.map((_, hop) =>
      percentile(
        hops.map((of) => of[hop] ?? Number.NaN),
        50,
      ),
    ) ?? [];
  return {
    figures: [50, 99].flatMap(ofPercent),
    notes: [
      `${reliefs.length} reclaims of ${NODES * ROUNDS} fillings; containerd 2.4.2 in ${NODES} nodes with disks of ${DISK_MEBIBYTES} MiB; a file fills the disk past ${HIGH_PERCENT} %; agent and executor on the node, deciders beside the broker. The median's brackets are the quickest and the slowest of ${times.length} reclaims, and their p99 is the slowest.`,
      `Measured by the node's own clock: from takenAt of the disk-stats event that the reclaim names as its cause until containerd had deleted the first image of which a result says that it was removed. The result itself has a later time, since the executor waits for the freed space first: ${text(resultMs)} ms (median).`,
      `Medians by the broker's clock, ms: disk-stats to order ${text(hopMedians[0])}, to inventory ${text(hopMedians[1])}, to second order ${text(hopMedians[2])}, to inventory ${text(hopMedians[3])}, to command ${text(hopMedians[4])}, to first result ${text(hopMedians[5])}.`,
      `Baseline: ${RELAYED_BYTES / 1000} kB through seven kafkajs relays in a row, in one process, between the rounds; a listing asks the runtime of one of the nodes for images, sandboxes and containers, a removal takes one image from it.`,
    ],
  };
}

const text = (value: number | undefined): string => (value === undefined ? '?' : value.toFixed(0));

function spread(rounds: readonly (readonly number[])[], percent: number): Spread {
  const one = rounds.length === 1 ? (rounds[0] ?? []).map((value) => [value]) : rounds;
  return spreadOfRounds(one, (values) => percentile(values, percent));
}

async function startNodes(kafka: BenchKafka, stack: AsyncDisposableStack): Promise<readonly BusyNode[]> {
  say(`relief: ${NODES} nodes pull ${IMAGES} images each`);
  const registry = stack.use(await startRegistry(kafka.network));
  const images: PushedImage[] = [];
  for (let index = 0; index < IMAGES; index += 1) {
    images.push(await registry.push(`team/app-${index}`, '1', BALLAST_BYTES));
  }
  const names = Array.from({ length: NODES }, (_, index) => `node-${index}`);
  return await Promise.all(names.map((name) => startNode(kafka, stack, { name, images })));
}

async function startNode(
  kafka: BenchKafka,
  stack: AsyncDisposableStack,
  { name, images }: { readonly name: string; readonly images: readonly PushedImage[] },
): Promise<BusyNode> {
  const { network, broker } = kafka;
  const node = stack.use(await startContainerdNode({ name, network, diskMebibytes: DISK_MEBIBYTES }));
  using workload = connectWorkload(node.endpoint);
  for (const { reference } of images) await workload.pullImage(reference);
  const flags = [
    '--kafka-brokers',
    broker.internalAddress,
    '--kafka-replication-factor',
    '1',
    '--trust',
    'off',
  ];
  const process = stack.use(
    await startFleetgc(node, ['node', '--cluster', 'bench', '--http-address', 'none', ...flags]),
  );
  return { node, process, deletions: stack.use(await followImageDeletions(node)) };
}

/** Fills each node in its turn, waits until it must be relieved, and sends through the relays meanwhile. */
async function oneRound(nodes: readonly BusyNode[], relays: Relays): Promise<BareRound> {
  for (const { node } of nodes) {
    await fillDisk(node, HIGH_PERCENT + 1);
    await sleep(STAGGER_MS);
  }
  await sleep(RELIEVED_MS);
  const sentToSeen = await relays.relay({ perSecond: 10, count: RELAYED_PER_ROUND });
  for (const { node } of nodes) await emptyDisk(node);
  const runtime = await runtimeAlone(nodes);
  await sleep(EMPTY_MS);
  const plus = (more: readonly number[]) =>
    sentToSeen.map((ms, index) => ms + (more[index % more.length] ?? Number.NaN));
  return {
    relays: sentToSeen,
    relaysAndListings: plus(runtime.listingsMs),
    withRemoval: plus(runtime.listingsMs.map((ms) => ms + runtime.removalMs)),
  };
}

/** What the runtime of the first node takes for two listings, several times, and for the removal of one image. */
async function runtimeAlone([first]: readonly BusyNode[]) {
  if (first === undefined) throw new RangeError('no nodes');
  using runtime = connectRemover(first.node.endpoint);
  const list = async () => {
    const images = await runtime.listImages();
    await runtime.listSandboxes();
    await runtime.listContainers();
    return images;
  };
  const images = await list();
  const listingsMs: number[] = [];
  for (let time = 0; time < RELAYED_PER_ROUND; time += 1)
    listingsMs.push((await elapsedMs(list)) + (await elapsedMs(list)));
  const image = images.find(({ repoTags }) => repoTags.some((tag) => tag.includes('/team/app-')));
  if (image === undefined) throw new Error('no image is left to be removed');
  return { listingsMs, removalMs: await elapsedMs(() => runtime.removeImage(image.id)) };
}

async function elapsedMs(action: () => Promise<unknown>): Promise<number> {
  const beginMs = performance.now();
  await action();
  return performance.now() - beginMs;
}

/** A reclaim that is late, or joined to another, is missing here; how many there are is told with the figure. */
async function allReliefs(kafka: BenchKafka, nodes: readonly BusyNode[]): Promise<readonly Relief[]> {
  const gone = (name: string, imageId: string): number | undefined =>
    nodes
      .find(({ node }) => node.name === name)
      ?.deletions.all()
      .find((deletion) => deletion.name === imageId)?.atMs;
  let reliefs: readonly Relief[] = [];
  await waitUntil('every disk to be relieved', SEEN_MS, async () => {
    reliefs = reliefsOn(await recordsOf(kafka), gone);
    return reliefs.length >= NODES * ROUNDS;
  }).catch(() =>
    say(`relief: ${reliefs.length} reclaims of ${NODES * ROUNDS} removed images in their first round`),
  );
  return reliefs;
}

async function recordsOf({ log }: BenchKafka) {
  const read = async (topic: keyof typeof TOPICS) => {
    const records: { readonly event: unknown; readonly appendedAtMs: number }[] = [];
    for await (const event of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' })) {
      if (event.kind !== 'record') continue;
      records.push({ event: JSON.parse(String(event.record.value)), appendedAtMs: event.record.timestampMs });
    }
    return records;
  };
  const [diskStats, observe, inventory, commands, results] = await Promise.all([
    read('diskStats'),
    read('observe'),
    read('inventory'),
    read('commands'),
    read('results'),
  ]);
  return { diskStats, observe, inventory, commands, results };
}
