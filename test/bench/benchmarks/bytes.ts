import { type Random, seededRandom } from '../../../lab/sim/random.ts';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { HOUR, MINUTE, SECOND } from '../../fixtures/time.ts';
import { type Pipeline, startPipeline } from '../../pipeline/support/pipeline.ts';
import { bytesOnLog } from '../batch-bytes.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { spreadOf } from '../statistics.ts';

const IMAGES = 200;
const PODS = 50;
const CAPACITY_BYTES = 400_000_000_000n;
const LOG_BYTES = 2048 * 1024 * 1024;
const DAY_HOURS = 24;
const INVENTORIES_A_DAY = (DAY_HOURS * HOUR) / (5 * MINUTE);
const ALLOWED_SHARE = 0.35;
const MEGABYTE = 1e6;
const SEED = 7;
/** The disk is never still: logs, caches, layers that grow. */
const STEP_BYTES = 3_000_000;

/** What one topic took over a day. */
interface Total {
  records: number;
  bytes: number;
  jsonBytes: number;
}

interface Day {
  readonly totals: ReadonlyMap<TopicName, Total>;
  /** Of each inventory, as JSON. */
  readonly inventoryBytes: readonly number[];
  /** Ids in the last inventory, as bytes that no compression takes away. */
  readonly idBytes: number;
}

/** What one node puts on the log in a day, made by the real agent and deciders by a clock of their own. */
export async function benchBytes(): Promise<Findings> {
  const day = await liveADay();
  const perInventory = spreadOf(day.inventoryBytes);
  const baseline = perInventory.median * INVENTORIES_A_DAY;
  const total = day.totals.values().reduce((sum, { bytes }) => sum + bytes, 0);
  const floor = day.idBytes * INVENTORIES_A_DAY;
  return {
    figures: [
      figure('all topics', total, baseline, ALLOWED_SHARE),
      ...[...day.totals].map(([topic, { bytes }]) => figure(topic, bytes, baseline, null)),
      figure('floor: the ids of the inventories alone', floor, baseline, null),
    ],
    notes: [
      `Agent, executor and decision services with default settings on a simulated node of ${IMAGES} images and ${2 * PODS} containers over a simulated day, with a new version of one pod each hour and a disk that changes every second; each publish compressed as it is sent (zstd, one batch for each partition), one copy.`,
      `Baseline: the inventory as JSON, ${(perInventory.median / 1000).toFixed(0)} kB, every five minutes, uncompressed.`,
      `Floor: ids of images, containers, sandboxes and pods are random and do not compress: ${(day.idBytes / 1000).toFixed(1)} kB in each inventory.`,
      ...[...day.totals].map(
        ([topic, { records, bytes, jsonBytes }]) =>
          `${topic}: ${records} records, ${(jsonBytes / records / 1000).toFixed(1)} kB each as JSON, ${(bytes / records / 1000).toFixed(1)} kB on the log.`,
      ),
    ],
  };
}

async function liveADay(): Promise<Day> {
  const totals = new Map<TopicName, Total>();
  const inventories: string[] = [];
  await using pipeline = await startPipeline({
    node: { capacityBytes: CAPACITY_BYTES },
    logBytes: LOG_BYTES,
  });
  const random = seededRandom(SEED);
  const uids = await furnish(pipeline);
  await pipeline.startNode();
  await liveHour(pipeline, random);
  await liveHour(pipeline, random);
  pipeline.log.beforePublish = async (records) => {
    await note(totals, records);
    for (const { topic, value } of records)
      if (topic === TOPICS.inventory.name) inventories.push(String(value));
  };
  for (let hour = 1; hour <= DAY_HOURS; hour += 1) {
    say(`bytes: hour ${hour} of ${DAY_HOURS}`);
    await release(pipeline, uids, hour);
    await liveHour(pipeline, random);
  }
  return {
    totals,
    inventoryBytes: inventories.map((text) => Buffer.byteLength(text)),
    idBytes: idBytesOf(inventories.at(-1) ?? ''),
  };
}

async function note(totals: Map<TopicName, Total>, records: readonly OutgoingRecord[]): Promise<void> {
  for (const [topic, group] of Map.groupBy(records, (record) => record.topic)) {
    const total = totals.get(topic) ?? { records: 0, bytes: 0, jsonBytes: 0 };
    totals.set(topic, {
      records: total.records + group.length,
      bytes: total.bytes + (await bytesOnLog(group)),
      jsonBytes: total.jsonBytes + group.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    });
  }
}

/** Images that were pulled at some time, and pods of two containers that run a quarter of them. */
async function furnish({ node }: Pipeline): Promise<string[]> {
  for (let index = 0; index < IMAGES - 1; index += 1)
    await node.runtime.pullImage(`registry.example.com/team-${index % 12}/service-${index}:1.0`);
  const uids: string[] = [];
  for (let pod = 0; pod < PODS; pod += 1) uids.push(await startPod(node, pod, '1.0'));
  return uids;
}

const startPod = ({ kubelet }: Pipeline['node'], pod: number, version: string): Promise<string> =>
  kubelet.startPod({
    name: `service-${pod}-7d4b9c6f5-x${pod}`,
    namespace: `team-${pod % 12}`,
    containers: {
      main: `registry.example.com/team-${pod % 12}/service-${pod}:${version}`,
      proxy: 'registry.example.com/team-0/service-0:1.0',
    },
  });

/** A new version of one pod in place of the old one. */
async function release({ node }: Pipeline, uids: string[], hour: number): Promise<void> {
  const pod = hour % PODS;
  await node.runtime.pullImage(`registry.example.com/team-${pod % 12}/service-${pod}:1.${hour}`);
  const uid = uids[pod];
  uids[pod] = await startPod(node, pod, `1.${hour}`);
  if (uid !== undefined) await node.kubelet.cleanUpPod(uid);
}

async function liveHour({ node, time }: Pipeline, random: Random): Promise<void> {
  const middle = CAPACITY_BYTES / 2n;
  for (let second = 0; second < HOUR / SECOND; second += 1) {
    const pull = node.disk.otherBytes > middle ? -1 : 1;
    const pages = Math.round((random() - 0.5 + pull * 0.01) * (STEP_BYTES / 4096));
    node.disk.otherBytes += BigInt(pages) * 4096n;
    await time.pass(SECOND);
  }
}

/** Digests are 64 hexadecimal digits of which half is information; a uid has 32 of them. */
function idBytesOf(inventory: string): number {
  const digests = new Set(inventory.match(/[0-9a-f]{64}/g));
  const uids = new Set(inventory.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g));
  return digests.size * 32 + uids.size * 16;
}

const figure = (name: string, bytes: number, baseline: number, limit: number | null): Figure => ({
  benchmark: 'bytes',
  name: `bytes of a node and day: ${name}`,
  unit: 'MB',
  value: spreadOf([bytes / MEGABYTE]),
  baseline: spreadOf([baseline / MEGABYTE]),
  baselineName: 'inventories as JSON',
  samples: 1,
  aim: limit === null ? null : { kind: 'ratio-at-most', limit },
});
