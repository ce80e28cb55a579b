import { say } from '../context.ts';
import type { Aim, Figure, Findings } from '../figure.ts';
import { usedCpuMs } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';
import { type ApiArena, openApiArena } from './cluster/api-arena.ts';
import {
  createCascade,
  createNamespace,
  deleteConfigMap,
  untilCollecting,
  watchConfigMaps,
} from './cluster/cascade.ts';
import { type Pace, startClusterRun, startKcm } from './cluster/collectors.ts';
import {
  requestsText,
  type ServedRequests,
  servedBetween,
  servedRequests,
  sumOf,
} from './cluster/served-requests.ts';

const OBJECTS = 10_000;
const OWNERS = 100;
const ROUNDS = 1;
const UNLIMITED: Pace = 5_000;
const TRACERS = 'tracers';
const USUAL_MS = 600_000;

type Side = 'kcm' | 'fleetgc';

/** What one cascade took. */
interface Collected {
  readonly objects: number;
  readonly seconds: number;
  /** Of the collector's process. */
  readonly cpuSeconds: number;
  readonly served: ServedRequests;
}

/** A cascade of ten thousand objects without limits of the clients: its time, and what the API server was asked. */
export async function benchCluster(): Promise<Findings> {
  await using arena = await openClusterArena();
  const rounds = await inTurns(arena, { pace: UNLIMITED, objects: OBJECTS }, ROUNDS);
  return {
    figures: [
      figure(
        'cluster',
        'requests for each deleted object, in one process',
        'requests',
        rounds,
        requestsOf,
        0.55,
      ),
      figure('cluster', 'a cascade of 10,000 without limits of the client', 's', rounds, secondsOf, 0.8),
      figure('cluster', 'the same, processor time of the process', 's', rounds, cpuOf, null),
    ],
    notes: [...NOTES, ...requestNotes(rounds)],
  };
}

/** The same with the limits that each of both has by default. */
export async function benchClusterLimits(): Promise<Findings> {
  await using arena = await openClusterArena();
  const rounds = await inTurns(arena, { pace: null, objects: OBJECTS }, 1);
  const name = 'cluster-limits';
  return {
    figures: [
      figure(name, 'a cascade of 10,000, limits as they come', 's', rounds, secondsOf, 0.45),
      figure(name, 'requests for each deleted object, in one process', 'requests', rounds, requestsOf, 0.55),
    ],
    notes: [
      ...NOTES,
      'Both wait for their own limits most of the time, so the time means something on a busy machine too.',
      ...requestNotes(rounds),
    ],
  };
}

const NOTES = [
  `A ConfigMap is deleted on which ${OWNERS} others depend, and on these all others; "fleetgc cluster run" with its event log in a file, beside kube-controller-manager with its garbage collector alone, in turns on one API server.`,
  'Requests are counted by the API server (apiserver_request_total), those about ConfigMaps and Namespaces, without lists and watches. The time is from the deletion of the root to the last event of a watch.',
];

const cpuOf = ({ cpuSeconds }: Collected): number => cpuSeconds;
const requestsOf = ({ served, objects }: Collected): number => sumOf(served) / objects;
const secondsOf = ({ seconds }: Collected): number => seconds;

async function openClusterArena(): Promise<ApiArena> {
  const arena = await openApiArena();
  await createNamespace(arena, TRACERS);
  return arena;
}

type Rounds = Readonly<Record<Side, readonly Collected[]>>;

async function inTurns(arena: ApiArena, cascade: Cascade, rounds: number): Promise<Rounds> {
  const { pace } = cascade;
  const collected: Record<Side, Collected[]> = { kcm: [], fleetgc: [] };
  for (let round = 1; round <= rounds; round += 1)
    for (const side of ['kcm', 'fleetgc'] as const) {
      say(
        `cluster, ${pace === null ? 'with limits' : 'without limits'}, ${side}, round ${round} of ${rounds}`,
      );
      const one = await collect(arena, {
        ...cascade,
        side,
        namespace: `${side}-${pace ?? 'default'}-${round}`,
      });
      say(
        `  ${one.seconds.toFixed(1)} s, ${one.cpuSeconds.toFixed(1)} s of processor time; ${requestsText(one.served)}`,
      );
      collected[side].push(one);
    }
  return collected;
}

interface Cascade {
  readonly pace: Pace;
  readonly objects: number;
}

interface Turn extends Cascade {
  readonly side: Side;
  readonly namespace: string;
}

async function collect(arena: ApiArena, { side, pace, objects, namespace }: Turn): Promise<Collected> {
  const root = await createCascade(arena, namespace, { owners: OWNERS, objects });
  say('  all are there');
  await using collector = await (side === 'kcm' ? startKcm(arena, pace) : startClusterRun(arena, pace));
  await untilCollecting(arena, TRACERS);
  await using watching = await watchConfigMaps(arena, namespace, root.resourceVersion);
  const before = await servedRequests(arena);
  const cpuMs = usedCpuMs(collector.pid);
  const startMs = performance.now();
  await deleteConfigMap(arena, namespace, root.name);
  const times = await watching.count(objects + 1, USUAL_MS);
  const cpuSeconds = (usedCpuMs(collector.pid) - cpuMs) / 1_000;
  const served = servedBetween(before, await servedRequests(arena));
  return { objects, seconds: (Math.max(...times) - startMs) / 1_000, cpuSeconds, served };
}

function figure(
  benchmark: string,
  name: string,
  unit: string,
  rounds: Rounds,
  value: (of: Collected) => number,
  limit: number | null,
): Figure {
  const aim: Aim | null = limit === null ? null : { kind: 'ratio-at-most', limit };
  return {
    benchmark,
    name,
    unit,
    value: spreadOf(rounds.fleetgc.map(value)),
    baseline: spreadOf(rounds.kcm.map(value)),
    baselineName: 'kube-controller-manager',
    samples: rounds.fleetgc.length,
    aim,
  };
}

const requestNotes = (rounds: Rounds): readonly string[] =>
  (['fleetgc', 'kcm'] as const).flatMap((side) => {
    const last = rounds[side].at(-1);
    return last === undefined ? [] : [`${side}: ${requestsText(last.served)}.`];
  });
