import { nodeOutput } from '../../../packages/decision/handler.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { type CompleteInventory, MAX_INVENTORY_OBJECTS } from '../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import type { BenchKafka } from '../kafka.ts';
import { type Course, type Load, runLoad } from '../load.ts';
import { kafkaCourse, pooled } from './latency.ts';

const QUIET_NODES = 20;
const QUIET: Load = { perSecond: 10, count: 30 };
const WARM_UP: Load = { perSecond: 40, count: 200 };
const ROUNDS = 8;
/** Of the loud partition, at once. */
const LOUD_INVENTORIES = 300;
const LOUD_PARTITION = 0;
const PUBLISHED_AT_ONCE = 50;
/** docs/how-it-works/at-scale.md, "What one busy partition costs the others": a slice of 2 MiB, or the largest message. */
const BOUND_MS = 200;
const DONE_MS = 60_000;

/** What another partition has to do while quiet nodes wait for their commands. */
interface Neighbour {
  readonly name: string;
  /** `null` for none. */
  readonly inventories: readonly CompleteInventory[] | null;
}

/** Inventory to command of quiet nodes while another partition of the same worker has much to do, beside the same with nothing. */
export async function benchNeighbours(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const quiet = namesOf('quiet', QUIET_NODES, (partition) => partition !== LOUD_PARTITION).map((name) =>
    fullNode(name, { images: 200, containers: 30 }),
  );
  const course = await kafkaCourse(kafka, quiet, stack);
  await runLoad(course, WARM_UP);
  const alone: Neighbour = { name: 'none', inventories: null };
  const neighbours = loudNeighbours();
  const times = new Map<Neighbour, (readonly number[])[]>();
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`neighbours, round ${round} of ${ROUNDS}`);
    for (const neighbour of [alone, ...neighbours]) {
      const [{ onLog }] = await Promise.all([
        runLoad(course, QUIET),
        neighbour.inventories && disturb(kafka, course, neighbour.inventories),
      ]);
      times.set(neighbour, [...(times.get(neighbour) ?? []), onLog]);
    }
  }
  const of = (neighbour: Neighbour) => times.get(neighbour) ?? [];
  return {
    figures: neighbours.flatMap((neighbour) => figuresOf(neighbour.name, of(neighbour), of(alone))),
    notes: [
      `${QUIET_NODES} quiet nodes send ${QUIET.perSecond} inventories of 200 images a second to one worker; from the broker's time of the inventory to that of the command (LogAppendTime), so that the load generator plays no part. Meanwhile another partition gets, at once and in each round, what the row says. p100 is the longest wait of all rounds.`,
      `Load generator, broker and worker share the cores, so that a neighbour also takes processor time at the broker. The bound of one neighbour by docs/how-it-works/architecture.md: a slice or the largest message, ${BOUND_MS} ms.`,
    ],
  };
}

const loudNeighbours = (): readonly Neighbour[] => {
  const names = namesOf('loud', LOUD_INVENTORIES, (partition) => partition === LOUD_PARTITION);
  const loud = names.map((name) => fullNode(name, { images: 200, containers: 30 }));
  const half = MAX_INVENTORY_OBJECTS / 2;
  return [
    { name: `${LOUD_INVENTORIES} inventories of one node`, inventories: loud.map(() => loud[0] ?? never()) },
    { name: `an inventory of each of ${LOUD_INVENTORIES} nodes of one partition`, inventories: loud },
    {
      name: `the largest inventory, ${MAX_INVENTORY_OBJECTS} objects`,
      inventories: [fullNode(names[0] ?? never(), { images: half, containers: half })],
    },
  ];
};

function never(): never {
  throw new RangeError('there is no loud node');
}

/** Names of nodes in such partitions. */
function namesOf(prefix: string, count: number, isWanted: (partition: number) => boolean): readonly string[] {
  const names: string[] = [];
  for (let number = 0; names.length < count; number += 1) {
    const name = `${prefix}-${number}`;
    const key = nodeKey(fullNode(name, { images: 0, containers: 0 }));
    if (isWanted(partitionOf(TOPICS.inventory.name, key))) names.push(name);
  }
  return names;
}

let disturbances = 0;

/** Resolves when the last of them has its command. */
async function disturb(
  { log }: BenchKafka,
  { seen }: Course,
  inventories: readonly CompleteInventory[],
): Promise<void> {
  disturbances += 1;
  const events = inventories.map((inventory, index) => ({
    ...inventory,
    id: `loud-${disturbances}-${index}`,
  }));
  for (let at = 0; at < events.length; at += PUBLISHED_AT_ONCE)
    await log.publish(
      events.slice(at, at + PUBLISHED_AT_ONCE).map((event) => recordOf(nodeOutput('inventory', event))),
    );
  const last = events.at(-1)?.id ?? never();
  await waitUntil(`the command that answers ${last}`, DONE_MS, () => seen.has(last));
}

function figuresOf(
  name: string,
  values: readonly (readonly number[])[],
  baselines: readonly (readonly number[])[],
): readonly Figure[] {
  return [50, 99, 100].map((percent) => ({
    benchmark: 'neighbours',
    name: `${name}: p${percent} of the others`,
    unit: 'ms',
    value: pooled(values, percent),
    baseline: pooled(baselines, percent),
    baselineName: 'nothing else',
    samples: values.flat().length,
    aim: percent === 100 ? { kind: 'difference-at-most', limit: BOUND_MS } : null,
  }));
}
