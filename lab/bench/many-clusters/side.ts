import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { LogRecord } from '../../../packages/log/port.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Child, startScript, startVerb } from '../child.ts';
import { type BenchKafka, kafkaArguments, recordsOf, startKafka } from '../kafka.ts';
import { fleetArguments } from '../live-fleet.ts';
import { FLEETGC, timedRun } from '../timed-run.ts';
import { KEPT_PODS } from './rolling.ts';

const DECIDERS = ['graph-gc', 'pod-gc', 'expiry-gc'] as const;
type Decider = (typeof DECIDERS)[number];
/** What each of them decides on. */
const FACTS = {
  'graph-gc': 'clusterOwnership',
  'pod-gc': 'clusterPods',
  'expiry-gc': 'clusterExpiry',
} as const satisfies Readonly<Record<Decider, TopicId>>;

const HEAP_MEGABYTES = 512;
const OPEN_MS = 600_000;
const ROUND_MS = 400_000;
const NO_LIMIT = 1_000_000;
const COLLECTORS = [
  'garbage-collector-controller',
  'pod-garbage-collector-controller',
  'ttl-after-finished-controller',
];

interface SideOptions {
  readonly clusters: number;
  /** Of each cluster. */
  readonly objects: number;
  /** Of each round, over all clusters. */
  readonly rollOuts: number;
  readonly perSecond: number;
}

const Told = z.object({
  round: z.int(),
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
type Account = Omit<Told, 'round'>;

/** Of what executors told. */
interface ToldRemovals {
  readonly removed: number;
  /** Told as removed more than once. */
  readonly twice: readonly string[];
}

/** Clusters with their decision services on a broker of their own. */
export interface Side extends AsyncDisposable {
  /** Rolls out, until nothing is left over. Resolves to how many facts each service decided on meanwhile. */
  round(): Promise<Readonly<Record<Decider, number>>>;
  /** As it was when the last round ended. */
  account(): Account;
  /** By what lies on the event log. */
  told(): Promise<ToldRemovals>;
}

export async function openSide(options: SideOptions): Promise<Side> {
  await using opening = new AsyncDisposableStack();
  const kafka = opening.use(await startKafka({ heapMegabytes: HEAP_MEGABYTES }));
  await applyPolicy(kafka);
  for (const name of DECIDERS)
    opening.use(startVerb([name, ...fleetArguments(kafka), '--log-level', 'warn']));
  const clusters = opening.use(
    await startScript('many-clusters', { brokers: kafka.options.brokers, ...options }),
  );
  await heard(clusters, 'are followed', OPEN_MS);
  const factsOf = (decider: Decider): Promise<number> => recordsOf(kafka, TOPICS[FACTS[decider]].name);
  const facts = async (): Promise<Readonly<Record<Decider, number>>> => ({
    'graph-gc': await factsOf('graph-gc'),
    'pod-gc': await factsOf('pod-gc'),
    'expiry-gc': await factsOf('expiry-gc'),
  });
  let rounds = 0;
  let account: Account = NOTHING;
  const open = opening.move();
  return {
    account: () => account,
    round: async () => {
      const before = await facts();
      account = await roundOf(clusters, ++rounds);
      const after = await facts();
      return {
        'graph-gc': after['graph-gc'] - before['graph-gc'],
        'pod-gc': after['pod-gc'] - before['pod-gc'],
        'expiry-gc': after['expiry-gc'] - before['expiry-gc'],
      };
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

async function roundOf(clusters: Child, round: number): Promise<Account> {
  process.kill(clusters.pid, 'SIGUSR2');
  const beginning = `{"round":${round},`;
  await heard(clusters, beginning, ROUND_MS);
  const line = clusters
    .output()
    .split('\n')
    .find((each) => each.startsWith(beginning));
  return Told.parse(JSON.parse(line ?? ''));
}

const heard = async ({ output }: Child, text: string, usualMs: number): Promise<void> => {
  try {
    await waitUntil(`the clusters to say ${text}`, usualMs, () => output().includes(text));
  } catch (cause) {
    throw new Error(`they said last: ${output().slice(-2_000)}`, { cause });
  }
};

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
