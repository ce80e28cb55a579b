import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partitionOf } from '../../../packages/log/partition.ts';
import { NODE_PARTITIONS, TOPICS } from '../../../schemas/events/topics.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { applyPolicy, say } from '../context.ts';
import type { Aim, Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { type BenchKafka, kafkaArguments, recordsOf } from '../kafka.ts';
import { writeOutputs } from '../made-outputs.ts';
import { usedCpuMs } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';
import { publishBacklog, reached } from './throughput.ts';

const NODES_PER_PARTITION = 2;
const BACKLOG = 8192;
/** By then both have joined and are warm; at the end of what is measured no partition is worked off yet. */
const FROM = 2560;
const UP_TO = 6144;
const ROUNDS = 3;
const PARSE_SECONDS = 3;

/** What so many equal processes did together. */
interface Rate {
  readonly perSecond: number;
  /** Of all of them, for one event. */
  readonly cpuMs: number;
}

interface Contender {
  readonly name: string;
  readonly aim: Aim | null;
  readonly run: (processes: number) => Promise<Rate>;
}

/** Two replicas beside one, and the same of what decides nothing, and of what needs no broker: that is what the machine has to give. */
export async function benchWorkers(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-bench-'));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const nodes = evenNames().map((name) => fullNode(name, { images: 200, containers: 30 }));
  const outputsFile = join(directory, 'outputs.json');
  await writeOutputs(outputsFile, nodes);
  await applyPolicy(kafka.log);
  say(`workers: publishing ${BACKLOG} inventories`);
  await publishBacklog(kafka, nodes, BACKLOG);
  const contenders = contendersOn(kafka, outputsFile);
  const figures: Figure[] = [];
  for (const { name, aim, run } of contenders) {
    const [one, two]: [Rate[], Rate[]] = [[], []];
    for (let round = 1; round <= ROUNDS; round += 1) {
      say(`workers, ${name}, round ${round} of ${ROUNDS}`);
      one.push(await run(1));
      two.push(await run(2));
    }
    const common = { benchmark: 'workers', baselineName: 'one', samples: ROUNDS } as const;
    const row = (what: string, unit: string, pick: (rate: Rate) => number) =>
      ({
        ...common,
        name: what,
        unit,
        value: spreadOf(two.map(pick)),
        baseline: spreadOf(one.map(pick)),
      }) as const;
    figures.push({ ...row(`two ${name}`, 'events/s', ({ perSecond }) => perSecond), aim });
    figures.push({
      ...row(`two ${name}: processor time of one event`, 'ms', ({ cpuMs }) => cpuMs),
      aim: null,
    });
  }
  return {
    figures,
    notes: [
      'Broker and probe share the cores with the workers, so two processes that need no broker show the most that there is to have.',
    ],
  };
}

/** As many nodes in each partition, so that both have as much to do. */
function evenNames(): readonly string[] {
  const names = Array.from({ length: 100 * NODE_PARTITIONS }, (_, index) => `node-${index}`);
  const byPartition = Map.groupBy(names, (name) => partitionOf(TOPICS.inventory.name, `prod/${name}`));
  return [...byPartition.values()].flatMap((group) => group.slice(0, NODES_PER_PARTITION));
}

function contendersOn(kafka: BenchKafka, outputsFile: string): readonly Contender[] {
  const flags = ['--http-address', 'none', '--log-level', 'warn'];
  const startService = async () => startVerb(['image-gc', ...kafkaArguments(kafka), ...flags]);
  const group = 'bench-workers';
  const bare = { broker: kafka.broker.address, group, outputsFile, checks: true };
  return [
    {
      name: 'image-gc',
      aim: { kind: 'ratio-at-least', limit: 1.8 },
      run: (processes) => drain(kafka, 'fleetgc-image-gc', { processes, start: startService }),
    },
    {
      name: 'that parse and check and decide nothing',
      aim: null,
      run: (processes) => drain(kafka, group, { processes, start: () => startScript('pass-through', bare) }),
    },
    { name: 'that parse and check, without a broker', aim: null, run: parseAlone },
  ];
}

interface Replicas {
  readonly processes: number;
  readonly start: () => Promise<Child>;
}

async function drain(kafka: BenchKafka, group: string, { processes, start }: Replicas): Promise<Rate> {
  await kafka.admin.resetOffsets({ groupId: group, topic: TOPICS.inventory.name, earliest: true });
  const before = await recordsOf(kafka, TOPICS.commands.name);
  await using stack = new AsyncDisposableStack();
  const workers = await Promise.all(Array.from({ length: processes }, start));
  for (const worker of workers) stack.use(worker);
  const used = () => workers.reduce((sum, { pid }) => sum + usedCpuMs(pid), 0);
  const first = { ...(await reached(kafka, before + FROM)), cpuMs: used() };
  const last = { ...(await reached(kafka, before + UP_TO)), cpuMs: used() };
  const events = last.records - first.records;
  return {
    perSecond: (events * 1000) / (last.atMs - first.atMs),
    cpuMs: (last.cpuMs - first.cpuMs) / events,
  };
}

async function parseAlone(processes: number): Promise<Rate> {
  await using stack = new AsyncDisposableStack();
  const starts = Array.from({ length: processes }, () =>
    startScript('parse-loop', { seconds: PARSE_SECONDS }),
  );
  const children = await Promise.all(starts);
  for (const child of children) stack.use(child);
  await Promise.all(children.map((child) => child.said(' ms.')));
  const done = children.map((child) => /parsed (?<parsed>\d+) in (?<ms>\d+) ms/.exec(child.output())?.groups);
  const sum = (name: string) => done.reduce((all, groups) => all + Number(groups?.[name]), 0);
  return { perSecond: sum('parsed') / PARSE_SECONDS, cpuMs: sum('ms') / sum('parsed') };
}
