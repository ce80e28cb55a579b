import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pLimit from 'p-limit';
import { knownBy } from '../../../test/support/nodes/api-access.ts';
import { collectedHeap } from '../../soak/process-sample.ts';
import { startScript } from '../child.ts';
import { say } from '../context.ts';
import type { Aim, Figure, Findings } from '../figure.ts';
import { residentBytes } from '../process-usage.ts';
import { spreadOf } from '../statistics.ts';
import {
  type ApiArena,
  createConfigMap,
  createNamespace,
  type Owner,
  openApiArena,
  referencesTo,
} from './cluster-arena.ts';
import { kcmIsSynced, startClusterRun, startKcm, untilReady } from './cluster-collectors.ts';

const OWNERS = 10_000;
const OBJECTS = 100_000;
const AT_ONCE = 48;
const ROUNDS = 2;
/** What a start needs and gives back, it has given back by then. */
const SETTLE_MS = 20_000;
const MEGABYTE = 1e6;
const NAMESPACE = 'large';
const HEAP_HOOK = pathToFileURL(join(import.meta.dirname, '..', '..', 'soak', 'report-heap.ts')).href;

/** Megabytes. */
interface Memory {
  readonly resident: number;
  /** Once garbage is collected; only where the process tells. */
  readonly heap: number;
}

/** A cluster of a hundred thousand objects: what they take in memory, and how long it takes to know them. */
export async function benchClusterLarge(): Promise<Findings> {
  await using arena = await openApiArena();
  const idle = { kcm: await kcmMegabytes(arena), fleetgc: await ownMemory(arena) };
  await fill(arena);
  const full = { kcm: await kcmMegabytes(arena), fleetgc: await ownMemory(arena) };
  const starts: { readonly own: number; readonly bare: number }[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`cluster-large, start, round ${round} of ${ROUNDS}`);
    starts.push({ bare: await bareSeconds(arena), own: await startSeconds(arena) });
  }
  const more = full.fleetgc.resident - idle.fleetgc.resident;
  const kcmMore = full.kcm - idle.kcm;
  return {
    figures: [
      memory('memory for 100,000 objects', [more, kcmMore, 'kube-controller-manager'], 'ratio', 0.25),
      memory(
        'memory with 100,000 objects',
        [full.fleetgc.resident, idle.fleetgc.resident, 'idle'],
        'more',
        40,
      ),
      memory('heap with 100,000 objects', [full.fleetgc.heap, idle.fleetgc.heap, 'idle'], 'more', 40),
      {
        benchmark: 'cluster-large',
        name: 'from its start until it knows 100,000 objects',
        unit: 's',
        value: spreadOf(starts.map(({ own }) => own)),
        baseline: spreadOf(starts.map(({ bare }) => bare)),
        baselineName: 'a bare client that makes the same lists',
        samples: ROUNDS,
        aim: { kind: 'ratio-at-most', limit: 1.5 },
      },
    ],
    notes: [
      `${OBJECTS} objects: ${OWNERS} ReplicaSets of no pods, and ConfigMaps and Pods that they own, in one namespace; "fleetgc cluster run" beside kube-controller-manager with its garbage collector alone.`,
      `Memory is VmRSS ${SETTLE_MS / 1_000} s after all was known, of one process each; with an empty cluster kube-controller-manager has ${idle.kcm.toFixed(0)} MB, and with this one ${full.kcm.toFixed(0)} MB. Heap is what is left once garbage is collected.`,
      'Start: until /readyz says that all was read. The bare client is Node.js alone: pages of 500, four lists at once, parsed and not kept; Pods, Nodes, Jobs and certificate requests whole, all else as metadata, as FleetGC reads them.',
    ],
  };
}

type Beside = readonly [value: number, baseline: number, baselineName: string];

function memory(
  name: string,
  [value, baseline, baselineName]: Beside,
  kind: 'ratio' | 'more',
  limit: number,
): Figure {
  const aim: Aim =
    kind === 'ratio' ? { kind: 'ratio-at-most', limit } : { kind: 'difference-at-most', limit };
  return {
    benchmark: 'cluster-large',
    name,
    unit: 'MB',
    value: spreadOf([value]),
    baseline: spreadOf([baseline]),
    baselineName,
    samples: 1,
    aim,
  };
}

async function kcmMegabytes(arena: ApiArena): Promise<number> {
  await using kcm = await startKcm(arena);
  await kcmIsSynced(kcm);
  await sleep(SETTLE_MS);
  const megabytes = residentBytes(kcm.pid) / MEGABYTE;
  say(`cluster-large: kube-controller-manager has ${megabytes.toFixed(0)} MB`);
  return megabytes;
}

async function ownMemory(arena: ApiArena): Promise<Memory> {
  const heapFile = join(arena.directory, 'heap');
  const environment = { NODE_OPTIONS: `--import=${HEAP_HOOK}`, SOAK_HEAP_FILE: heapFile };
  await using run = await startClusterRun(arena, environment);
  await untilReady(run);
  await sleep(SETTLE_MS);
  const resident = residentBytes(run.pid) / MEGABYTE;
  const heap = (await collectedHeap(run.pid, heapFile)).heapBytes / MEGABYTE;
  say(`cluster-large: cluster run has ${resident.toFixed(0)} MB, heap ${heap.toFixed(0)} MB`);
  return { resident, heap };
}

async function startSeconds(arena: ApiArena): Promise<number> {
  const startMs = performance.now();
  await using run = await startClusterRun(arena);
  await untilReady(run);
  return (performance.now() - startMs) / 1_000;
}

async function bareSeconds({ kubeconfig }: ApiArena): Promise<number> {
  const { server, authority, token } = await knownBy(kubeconfig);
  const startMs = performance.now();
  const given = { server, authority: String(authority), token: token ?? '' };
  await using client = await startScript('list-all', given);
  const seconds = (performance.now() - startMs) / 1_000;
  say(`  ${client.output().trim().replace('\n', ', ')}`);
  return seconds;
}

/** Each owner has ConfigMaps and Pods. */
async function fill(arena: ApiArena): Promise<void> {
  say(`cluster-large: creating ${OBJECTS} objects`);
  await createNamespace(arena, NAMESPACE);
  const inTurn = pLimit(AT_ONCE);
  const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);
  const owners = await Promise.all(
    numbers(OWNERS).map((at) => inTurn(() => createReplicaSet(arena, `service-${at}`))),
  );
  await Promise.all(
    numbers(OBJECTS - OWNERS).map((at) => {
      const owner = owners[at % OWNERS] ?? null;
      const name = `${owner?.name}-${Math.floor(at / OWNERS)}`;
      return inTurn(async () => {
        if (at % 2 === 0) await createConfigMap(arena, NAMESPACE, { name, owner });
        else await createPod(arena, name, owner);
      });
    }),
  );
}

const TEMPLATE = {
  metadata: { labels: { app: 'service' } },
  spec: { containers: [{ name: 'app', image: 'registry.example.com/team/app:1.4.2' }] },
};

async function createReplicaSet({ ask }: ApiArena, name: string): Promise<Owner> {
  const body = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, labels: { app: name }, annotations: { 'deployment.kubernetes.io/revision': '3' } },
    spec: { replicas: 0, selector: { matchLabels: { app: 'service' } }, template: TEMPLATE },
  };
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/replicasets`;
  const made: { readonly metadata: Pick<Owner, 'uid'> } = JSON.parse(
    await ask({ method: 'POST', path, body: JSON.stringify(body) }),
  );
  return { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: made.metadata.uid };
}

async function createPod({ ask }: ApiArena, name: string, owner: Owner | null): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'service' }, ownerReferences: referencesTo(owner) },
    spec: TEMPLATE.spec,
  };
  await ask({ method: 'POST', path: `/api/v1/namespaces/${NAMESPACE}/pods`, body: JSON.stringify(body) });
}
