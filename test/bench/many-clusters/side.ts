import { globSync, mkdtempDisposableSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { LogRecord } from '../../../packages/log/port.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { DATA_FOLDER } from '../../support/kafka/kafka-properties.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { say } from '../context.ts';
import { type BenchKafka, kafkaArguments, recordsOf, startKafka } from '../kafka.ts';
import { fleetArguments } from '../live-fleet.ts';
import { usedCpuMs } from '../process-usage.ts';
import { FLEETGC, timedRun } from '../timed-run.ts';
import { KEPT_PODS } from './rolling.ts';

export const DECIDERS = ['graph-gc', 'pod-gc', 'expiry-gc'] as const;
export type Decider = (typeof DECIDERS)[number];
/** What each of them decides on. */
export const FACTS = {
  'graph-gc': 'clusterOwnership',
  'pod-gc': 'clusterPods',
  'expiry-gc': 'clusterExpiry',
} as const satisfies Readonly<Record<Decider, TopicId>>;

const CLUSTERS_OF_A_PROCESS = 250;
const HEAP_MEGABYTES = 512;
const OPEN_MS = 600_000;
const ROUND_MS = 400_000;
const NO_LIMIT = 1_000_000;
const COLLECTORS = [
  'garbage-collector-controller',
  'pod-garbage-collector-controller',
  'ttl-after-finished-controller',
];

export interface SideOptions {
  readonly clusters: number;
  /** Of each cluster. */
  readonly objects: number;
  /** Of each round, over all clusters. */
  readonly rollOuts: number;
  readonly perSecond: number;
}

const Told = z.object({
  round: z.int(),
  rolledMs: z.number(),
  endedMs: z.number(),
  objects: z.int(),
  removed: z.int(),
  dropped: z.int(),
  wrong: z.int(),
  lost: z.int(),
  twice: z.int(),
  inVain: z.int(),
  examples: z.array(z.string()),
});
type Told = z.infer<typeof Told>;

/** By the record of the simulated API servers, from the beginning. */
export type Account = Omit<Told, 'round' | 'rolledMs' | 'endedMs'>;

/** Of what executors told. */
export interface ToldRemovals {
  readonly removed: number;
  /** Told as removed more than once. */
  readonly twice: readonly string[];
}

/** What one round took. */
export interface Round {
  readonly seconds: number;
  /** Objects that went without people. */
  readonly removed: number;
  readonly cpuMs: Readonly<Record<Decider | 'broker' | 'clusters', number>>;
  readonly facts: Readonly<Record<Decider, number>>;
  /** On all topics of clusters. */
  readonly records: number;
  readonly bytes: number;
}

/** So many clusters with their decision services on a broker of their own. */
export interface Side extends AsyncDisposable {
  readonly kafka: BenchKafka;
  /** Rolls out, until nothing is left over. */
  round(): Promise<Round>;
  /** As it was when the last round ended. */
  account(): Account;
  /** By what lies on the event log. */
  told(): Promise<ToldRemovals>;
}

export async function openSide(options: SideOptions): Promise<Side> {
  await using opening = new AsyncDisposableStack();
  const kafka = opening.use(await startKafka({ heapMegabytes: HEAP_MEGABYTES }));
  await applyPolicy(kafka);
  const deciders = new Map(
    DECIDERS.map((name): [Decider, Child] => [
      name,
      opening.use(startVerb([name, ...fleetArguments(kafka), '--log-level', 'warn'])),
    ]),
  );
  const hosts = await startHosts(kafka, options, opening);
  const brokerPid = await kafka.broker.processId();
  const readings = async (): Promise<Reading> => ({
    cpuMs: {
      'graph-gc': cpuOf(deciders.get('graph-gc')),
      'pod-gc': cpuOf(deciders.get('pod-gc')),
      'expiry-gc': cpuOf(deciders.get('expiry-gc')),
      broker: usedCpuMs(brokerPid),
      clusters: hosts.reduce((sum, { pid }) => sum + usedCpuMs(pid), 0),
    },
    facts: {
      'graph-gc': await recordsOf(kafka, TOPICS[FACTS['graph-gc']].name),
      'pod-gc': await recordsOf(kafka, TOPICS[FACTS['pod-gc']].name),
      'expiry-gc': await recordsOf(kafka, TOPICS[FACTS['expiry-gc']].name),
    },
    records: await allRecords(kafka),
    bytes: bytesAt(brokerPid),
  });
  let rounds = 0;
  let account: Account = NOTHING;
  const open = opening.move();
  return {
    kafka,
    account: () => account,
    round: async () => {
      const before = await readings();
      const startMs = performance.now();
      const told = await roundOf(hosts, ++rounds);
      const seconds = (performance.now() - startMs) / 1_000;
      const after = await readings();
      const removed = told.removed - account.removed;
      account = told;
      return { seconds, removed, ...between(before, after) };
    },
    told: () => toldRemovals(kafka),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const NOTHING: Account = {
  objects: 0,
  removed: 0,
  dropped: 0,
  wrong: 0,
  lost: 0,
  twice: 0,
  inVain: 0,
  examples: [],
};

async function applyPolicy(kafka: BenchKafka): Promise<void> {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'fleetgc-bench-'));
  const path = join(directory.path, 'policy.yaml');
  const policy = {
    kind: 'ClusterPolicy',
    name: 'many',
    mode: 'enforce',
    collectors: COLLECTORS,
    limits: { cascade: NO_LIMIT, cascadeOfKind: NO_LIMIT, removalsPerHour: NO_LIMIT },
    terminatedPodGCThreshold: KEPT_PODS,
  };
  writeFileSync(path, stringify(policy));
  await timedRun(FLEETGC, ['policy', 'apply', path, ...kafkaArguments(kafka), '--trust', 'off']);
}

/** Resolves when each cluster is followed. */
async function startHosts(
  kafka: BenchKafka,
  { clusters, objects, rollOuts, perSecond }: SideOptions,
  stack: AsyncDisposableStack,
): Promise<readonly Child[]> {
  const count = Math.ceil(clusters / CLUSTERS_OF_A_PROCESS);
  const hosts: Child[] = [];
  for (let number = 0; number < count; number++) {
    const first = Math.round((number * clusters) / count);
    const part = {
      brokers: kafka.options.brokers,
      first,
      count: Math.round(((number + 1) * clusters) / count) - first,
      objects,
      rollOuts: Math.ceil(rollOuts / count),
      perSecond: perSecond / count,
    };
    const host = stack.use(await startScript('many-clusters', part));
    await heard(host, 'are followed', OPEN_MS);
    say(`  ${first + part.count} of ${clusters} clusters are followed`);
    hosts.push(host);
  }
  return hosts;
}

async function roundOf(hosts: readonly Child[], round: number): Promise<Account> {
  for (const { pid } of hosts) process.kill(pid, 'SIGUSR2');
  const told = await Promise.all(
    hosts.map(async (host) => {
      await heard(host, `{"round":${round},`, ROUND_MS);
      const line = host
        .output()
        .split('\n')
        .find((each) => each.startsWith(`{"round":${round},`));
      return Told.parse(JSON.parse(line ?? ''));
    }),
  );
  const sum = (name: Exclude<keyof Account, 'examples'>): number =>
    told.reduce((total, each) => total + each[name], 0);
  return {
    objects: sum('objects'),
    removed: sum('removed'),
    dropped: sum('dropped'),
    wrong: sum('wrong'),
    lost: sum('lost'),
    twice: sum('twice'),
    inVain: sum('inVain'),
    examples: told.flatMap(({ examples }) => examples),
  };
}

const heard = async ({ output }: Child, text: string, usualMs: number): Promise<void> => {
  try {
    await waitUntil(`the clusters to say ${text}`, usualMs, () => output().includes(text));
  } catch (cause) {
    throw new Error(`they said last: ${output().slice(-2_000)}`, { cause });
  }
};

type Reading = Omit<Round, 'seconds' | 'removed'>;

const between = (before: Reading, after: Reading): Reading => ({
  cpuMs: less(after.cpuMs, before.cpuMs),
  facts: less(after.facts, before.facts),
  records: after.records - before.records,
  bytes: after.bytes - before.bytes,
});

const less = <Name extends string>(
  after: Readonly<Record<Name, number>>,
  before: Readonly<Record<Name, number>>,
): Readonly<Record<Name, number>> => {
  const left: Record<Name, number> = { ...after };
  for (const name in left) left[name] = after[name] - before[name];
  return left;
};

function cpuOf(child: Child | undefined): number {
  if (child === undefined) throw new Error('a decision service is missing');
  return usedCpuMs(child.pid);
}

const CLUSTER_TOPICS = [
  'clusterOwnership',
  'clusterPods',
  'clusterExpiry',
  'clusterCommands',
  'clusterResults',
  'clusterDecisions',
  'clusterCensus',
] as const satisfies readonly TopicId[];

async function allRecords(kafka: BenchKafka): Promise<number> {
  const counts = await Promise.all(CLUSTER_TOPICS.map((topic) => recordsOf(kafka, TOPICS[topic].name)));
  return counts.reduce((sum, count) => sum + count, 0);
}

function bytesAt(brokerPid: number): number {
  const files = globSync(`/proc/${brokerPid}/root${DATA_FOLDER}/gc.cluster.*/*.log`);
  return files.reduce((sum, file) => sum + statSync(file).size, 0);
}

async function toldRemovals({ log }: BenchKafka): Promise<ToldRemovals> {
  const seen = new Set<string>();
  const twice: string[] = [];
  for await (const event of log.read({ topic: TOPICS.clusterResults.name, from: 'earliest', to: 'end' })) {
    if (event.kind !== 'record') continue;
    for (const { uid, words } of removalsIn(event.record)) {
      if (seen.has(uid)) twice.push(words);
      seen.add(uid);
    }
  }
  return { removed: seen.size, twice };
}

function removalsIn(record: LogRecord): readonly { readonly uid: string; readonly words: string }[] {
  const parsed = parseRecord('clusterResults', record);
  if (!parsed.ok) throw new Error('a result cannot be read');
  const { event } = parsed;
  if (event.type !== 'fleetgc.cluster.object-results') return [];
  return event.objects
    .filter(({ result }) => result.outcome === 'removed')
    .map(({ object: { uid, kind, name } }) => ({ uid, words: `${event.cluster} ${kind} ${name}` }));
}
