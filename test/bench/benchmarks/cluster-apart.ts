import { globSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DATA_FOLDER } from '../../support/kafka/kafka-properties.ts';
import { startScript, startVerb } from '../child.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { type BenchKafka, createPlainTopics, kafkaArguments, startKafka } from '../kafka.ts';
import { openProbe, type Probe } from '../probe.ts';
import { percentile, spreadOf } from '../statistics.ts';
import { FLEETGC, timedRun } from '../timed-run.ts';
import { type ApiArena, openApiArena } from './cluster/api-arena.ts';
import {
  configMapsOf,
  createCascade,
  createConfigMap,
  createNamespace,
  deleteConfigMap,
  untilCollecting,
  type Watching,
  watchConfigMaps,
} from './cluster/cascade.ts';
import { startKcm, startServing, untilReady, writePolicy } from './cluster/collectors.ts';
import {
  requestsText,
  type ServedRequests,
  servedBetween,
  servedRequests,
  sumOf,
} from './cluster/served-requests.ts';

const OBJECTS = 2_000;
const OWNERS = 20;
const TRACERS = 'tracers';
const FAMILIES = 'families';
const USUAL_MS = 300_000;
const ROUNDS = 5;
const FAMILIES_OF_ROUND = 30;
const BETWEEN_FAMILIES_MS = 250;
/** Results are told a second after the last object at the latest, and then the agent tells what is settled. */
const TOLD_MS = 5_000;
const RELAYED = ['bench-cluster-1', 'bench-cluster-2', 'bench-cluster-3', 'bench-cluster-4'] as const;

/** Agent, graph-gc and executor as processes of their own on Kafka. */
export async function benchClusterApart(): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const kafka = stack.use(await startKafka());
  const arena = stack.use(await openApiArena());
  await createNamespace(arena, TRACERS);
  await createNamespace(arena, FAMILIES);
  const byKcm = await kcmCascade(arena);
  const own = await ownParts(arena, kafka);
  return {
    figures: [
      {
        benchmark: 'cluster-apart',
        name: 'requests for each deleted object, agent and executor apart',
        unit: 'requests',
        value: spreadOf([sumOf(own.cascade.served) / OBJECTS]),
        baseline: spreadOf([sumOf(byKcm) / OBJECTS]),
        baselineName: 'kube-controller-manager',
        samples: OBJECTS,
        aim: { kind: 'ratio-at-most', limit: 1.05 },
      },
      latencyFigure(50, own.latencies),
      latencyFigure(99, own.latencies),
      ...byteFigures(own.cascade.bytes),
    ],
    notes: [
      `A cascade of ${OBJECTS} ConfigMaps below ${OWNERS} owners below a root, all limits as they come; requests are counted by the API server, without lists and watches.`,
      `fleetgc: ${requestsText(own.cascade.served)}. kube-controller-manager: ${requestsText(byKcm)}.`,
      `Owner to dependent: ${ROUNDS} rounds of ${FAMILIES_OF_ROUND} owners with one dependent each, from the event that tells of the owner to the one that tells of its dependent, as one watch sees them. Baseline: what sees the owner go sends it through three bare kafkajs relays, each a process of its own, and then asks for the owner and deletes the dependent.`,
      'Bytes: what the files of the topics of clusters at the broker grew by, one copy, compressed as it was sent; the baseline is the uid of each object once, which no compression takes away.',
    ],
  };
}

async function kcmCascade(arena: ApiArena): Promise<ServedRequests> {
  say('cluster-apart: cascade of kube-controller-manager');
  await using _kcm = await startKcm(arena, null);
  await untilCollecting(arena, TRACERS);
  return await collect(arena, 'by-kcm');
}

async function collect(arena: ApiArena, namespace: string): Promise<ServedRequests> {
  const root = await createCascade(arena, namespace, { owners: OWNERS, objects: OBJECTS });
  await using watching = await watchConfigMaps(arena, namespace, root.resourceVersion);
  const before = await servedRequests(arena);
  await deleteConfigMap(arena, namespace, root.name);
  await watching.count(OBJECTS + 1, USUAL_MS);
  return servedBetween(before, await servedRequests(arena));
}

interface Own {
  readonly cascade: { readonly served: ServedRequests; readonly bytes: Bytes };
  readonly latencies: Latencies;
}

async function ownParts(arena: ApiArena, kafka: BenchKafka): Promise<Own> {
  await using stack = new AsyncDisposableStack();
  const atLog = kafkaArguments(kafka);
  await timedRun(FLEETGC, ['policy', 'apply', writePolicy(arena.directory), ...atLog, '--trust', 'off']);
  stack.use(startVerb(['graph-gc', ...atLog, '--http-address', 'none', '--log-level', 'warn']));
  const ofCluster = ['--cluster', 'bench', '--kubeconfig', arena.kubeconfig, '--lease-namespace', 'none'];
  const agent = stack.use(await startServing(['cluster', 'agent', ...ofCluster, ...atLog]));
  const state = ['--state-directory', join(arena.directory, 'state')];
  const executor = stack.use(await startServing(['cluster', 'executor', ...ofCluster, ...state, ...atLog]));
  for (const part of [agent, executor]) await untilReady(part);
  await untilCollecting(arena, TRACERS);
  const latencies = await latenciesOf(arena, kafka);
  say('cluster-apart: cascade of FleetGC');
  const before = await bytesAt(kafka);
  const served = await collect(arena, 'by-fleetgc');
  await sleep(TOLD_MS);
  return { cascade: { served, bytes: more(before, await bytesAt(kafka)) }, latencies };
}

/** By topic. */
type Bytes = ReadonlyMap<string, number>;

async function bytesAt({ broker }: BenchKafka): Promise<Bytes> {
  const data = `/proc/${await broker.processId()}/root${DATA_FOLDER}`;
  const bytes = new Map<string, number>();
  for (const file of globSync(`${data}/gc.*/*.log`)) {
    const topic = basename(join(file, '..')).replace(/-\d+$/, '');
    bytes.set(topic, (bytes.get(topic) ?? 0) + statSync(file).size);
  }
  return bytes;
}

const more = (before: Bytes, after: Bytes): Bytes =>
  new Map([...after].map(([topic, bytes]) => [topic, bytes - (before.get(topic) ?? 0)]));

/** Sixteen of an object's own uid; that of its owner it has in common with others. */
const ID_BYTES = 16;

function byteFigures(bytes: Bytes): readonly Figure[] {
  const total = bytes.values().reduce((sum, each) => sum + each, 0);
  const row = (name: string, value: number, limit: number | null): Figure => ({
    benchmark: 'cluster-apart',
    name: `bytes on the log for each deleted object: ${name}`,
    unit: 'bytes',
    value: spreadOf([value / OBJECTS]),
    baseline: spreadOf([ID_BYTES]),
    baselineName: 'its uid',
    samples: OBJECTS,
    aim: limit === null ? null : { kind: 'value-at-most', limit },
  });
  const topics = [...bytes].filter(([, each]) => each > 0).toSorted(([, a], [, b]) => b - a);
  return [row('all topics', total, 400), ...topics.map(([topic, each]) => row(topic, each, null))];
}

/** Milliseconds, by round. */
interface Latencies {
  readonly own: readonly (readonly number[])[];
  readonly relays: readonly (readonly number[])[];
}

async function latenciesOf(arena: ApiArena, kafka: BenchKafka): Promise<Latencies> {
  await using stack = new AsyncDisposableStack();
  await createPlainTopics(kafka, RELAYED);
  const { brokers } = kafka.options;
  const hops = RELAYED.slice(1).map((to, at) => [RELAYED[at] ?? '', to] as const);
  for (const hop of hops) stack.use(await startScript('relay', { brokers, hops: [hop] }));
  const probe = stack.use(
    await openProbe({
      kafka,
      topics: [RELAYED[3]],
      compression: 'none',
      onArrival: ({ value }) =>
        void deleteBarely(arena, String(value)).catch((error: unknown) => say(String(error))),
    }),
  );
  const latencies: { own: number[][]; relays: number[][] } = { own: [], relays: [] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    say(`cluster-apart: latency, round ${round} of ${ROUNDS}`);
    const relays = await relayed(arena, probe, round);
    const own = await collected(arena, round);
    // The first one warms all of them up.
    if (round === 0) continue;
    latencies.relays.push(relays);
    latencies.own.push(own);
  }
  return latencies;
}

async function collected(arena: ApiArena, round: number): Promise<number[]> {
  const names = namesOf(`own-${round}`);
  const owners = await Promise.all(
    names.map(async (name) => {
      const owner = await createConfigMap(arena, FAMILIES, { name, owner: null });
      await createConfigMap(arena, FAMILIES, { name: dependentOf(name), owner });
      return owner;
    }),
  );
  await using watching = await watchConfigMaps(arena, FAMILIES, oldest(owners));
  return await deleteAll(arena, watching, names);
}

/** No references, so that no collector does anything about them. */
async function relayed(arena: ApiArena, probe: Probe, round: number): Promise<number[]> {
  const names = namesOf(`relayed-${round}`);
  const owners = await Promise.all(
    names.map(async (name) => {
      await createConfigMap(arena, FAMILIES, { name: dependentOf(name), owner: null });
      return await createConfigMap(arena, FAMILIES, { name, owner: null });
    }),
  );
  await using watching = await watchConfigMaps(arena, FAMILIES, oldest(owners), (name) => {
    if (names.includes(name))
      void probe.send(RELAYED[0], { key: 'bench', value: Buffer.from(name), headers: {} });
  });
  return await deleteAll(arena, watching, names);
}

async function deleteBarely({ connection }: ApiArena, name: string): Promise<void> {
  await connection.call({ method: 'GET', path: `${configMapsOf(FAMILIES)}/${name}` });
  await connection.call({ method: 'DELETE', path: `${configMapsOf(FAMILIES)}/${dependentOf(name)}` });
}

async function deleteAll(arena: ApiArena, watching: Watching, names: readonly string[]): Promise<number[]> {
  for (const name of names) {
    await deleteConfigMap(arena, FAMILIES, name);
    await sleep(BETWEEN_FAMILIES_MS);
  }
  const times: number[] = [];
  for (const name of names) {
    const ownerAtMs = await watching.gone(name, USUAL_MS);
    times.push((await watching.gone(dependentOf(name), USUAL_MS)) - ownerAtMs);
  }
  return times;
}

const namesOf = (prefix: string): readonly string[] =>
  Array.from({ length: FAMILIES_OF_ROUND }, (_, at) => `${prefix}-${at}`);
const dependentOf = (name: string): string => `${name}-dependent`;

/** From where a watch sees all of them go. */
const oldest = (owners: readonly { readonly resourceVersion: string }[]): string =>
  String(Math.min(...owners.map(({ resourceVersion }) => Number(resourceVersion))));

function latencyFigure(percent: 50 | 99, { own, relays }: Latencies): Figure {
  const of = (rounds: Latencies['own']) => ({
    ...spreadOf(rounds.map((round) => percentile(round, percent))),
    median: percentile(rounds.flat(), percent),
  });
  return {
    benchmark: 'cluster-apart',
    name: `owner gone to its dependent gone: p${percent}`,
    unit: 'ms',
    value: of(own),
    baseline: of(relays),
    baselineName: 'three bare relays and two requests',
    samples: own.flat().length,
    aim: percent === 99 ? { kind: 'ratio-at-most', limit: 1.5 } : null,
  };
}
