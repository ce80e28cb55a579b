import { globSync, statSync } from 'node:fs';
import { z } from 'zod';
import { DATA_FOLDER } from '../../support/kafka/kafka-properties.ts';
import { startVerb } from '../child.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { type BenchKafka, startKafka } from '../kafka.ts';
import { fleetArguments, liveFleet } from '../live-fleet.ts';
import { spreadOf } from '../statistics.ts';

const SMALLEST = 100;
/** Few nodes live faster, and with several seeds, since their lives differ. */
const FLEETS = [
  { nodes: SMALLEST, rate: '4x', seeds: [7, 8, 9] },
  { nodes: 1_000, rate: '2x', seeds: [7] },
  { nodes: 10_000, rate: '1x', seeds: [7] },
] as const;
const LIFE_MINUTES = 5;
const DAY_MS = 24 * 60 * 60 * 1000;
const MB = 1_000_000;
const Account = z.object({ livedMs: z.number() });

interface Fleet {
  readonly nodes: number;
  readonly rate: string;
  readonly seed: number;
}

/** What a node leaves on the log, with ever more nodes on it. */
export async function benchGrowthBytes(): Promise<Findings> {
  const days = new Map<number, number[]>();
  for (const { nodes, rate, seeds } of FLEETS)
    for (const seed of seeds) {
      const megabytes = await dayOfANode({ nodes, rate, seed });
      say(`growth-bytes: ${nodes} nodes, seed ${seed}: ${megabytes.toFixed(2)} MB of a node and day`);
      days.set(nodes, [...(days.get(nodes) ?? []), megabytes]);
    }
  const baseline = spreadOf(days.get(SMALLEST) ?? []);
  const figures = FLEETS.filter(({ nodes }) => nodes !== SMALLEST).map(
    ({ nodes, seeds }): Figure => ({
      benchmark: 'growth-bytes',
      name: `${nodes} nodes: bytes of a node and day on the log`,
      unit: 'MB',
      value: spreadOf(days.get(nodes) ?? []),
      baseline,
      baselineName: `${SMALLEST} nodes`,
      samples: seeds.length,
      aim: { kind: 'ratio-at-most', limit: 1.2 },
    }),
  );
  return { figures, notes: NOTES };
}

const NOTES = [
  `"fleetgc simulate-fleet" for ${LIFE_MINUTES} minutes of its own time on a new broker, with one "fleetgc decide", each fleet once and that of ${SMALLEST} nodes with three seeds; the sizes of the files in which the broker keeps the topics of nodes, one copy, in proportion to a day.`,
  'The first minutes of a fleet have more inventories than later ones, so these figures are for comparison with each other; what a node of default settings leaves in a day is measured by "bytes".',
  'Fleets publish in larger batches than single nodes, which compress a little better, the more so the larger the fleet.',
];

async function dayOfANode({ nodes, rate, seed }: Fleet): Promise<number> {
  await using kafka = await startKafka({ heapMegabytes: 512 });
  await using _worker = startVerb(['decide', ...fleetArguments(kafka), '--log-level', 'warn']);
  const life = ['--nodes', `${nodes}`, '--seed', `${seed}`, '--rate', rate, '--duration', `${LIFE_MINUTES}m`];
  const fleet = await liveFleet(kafka, life, (text) => process.stderr.write(text));
  if (fleet.exitCode !== 0) throw new Error(`the fleet of ${nodes} nodes ended with ${fleet.exitCode}`);
  const { livedMs } = Account.parse(fleet.result);
  return ((await keptBytes(kafka)) / nodes / MB) * (DAY_MS / livedMs);
}

/** Of all topics of nodes, as the broker keeps them. */
async function keptBytes({ broker }: BenchKafka): Promise<number> {
  const data = `/proc/${await broker.processId()}/root${DATA_FOLDER}`;
  return globSync(`${data}/gc.node.*/*.log`).reduce((sum, file) => sum + statSync(file).size, 0);
}
