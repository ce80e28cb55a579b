import { setTimeout as sleep } from 'node:timers/promises';
import { readMetadata } from '../../../packages/kube-api/metadata.ts';
import { jsonOf } from '../../../packages/kube-api/status.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { spreadOf } from '../statistics.ts';
import { type ApiArena, openApiArena } from './cluster/api-arena.ts';
import {
  configMapsOf,
  createCascade,
  createNamespace,
  deleteConfigMap,
  untilCollecting,
  watchConfigMaps,
} from './cluster/cascade.ts';
import { startClusterRun, startKcm } from './cluster/collectors.ts';
import {
  requestsText,
  type ServedRequests,
  servedBetween,
  servedRequests,
  sumOf,
} from './cluster/served-requests.ts';

const OBJECTS = 1_000;
const OWNERS = 20;
/** At once; each is updated again as soon as it has been. */
const WRITERS = 8;
const TRACERS = 'tracers';
const USUAL_MS = 120_000;
const NOT_FOUND = 404;

type Side = 'kcm' | 'fleetgc';

interface Collected {
  readonly seconds: number;
  readonly updates: number;
  /** Without the updates. */
  readonly served: ServedRequests;
}

/** A cascade of objects that others change all the time: what it costs the API server, and whether all of them go. */
export async function benchClusterBusy(): Promise<Findings> {
  await using arena = await openApiArena();
  await createNamespace(arena, TRACERS);
  const kcm = await collect(arena, 'kcm');
  const fleetgc = await collect(arena, 'fleetgc');
  const figure = (
    name: string,
    unit: string,
    value: (of: Collected) => number,
    aim: Figure['aim'] = null,
  ): Figure => ({
    benchmark: 'cluster-busy',
    name,
    unit,
    value: spreadOf([value(fleetgc)]),
    baseline: spreadOf([value(kcm)]),
    baselineName: 'kube-controller-manager',
    samples: 1,
    aim,
  });
  return {
    figures: [
      figure('requests for each deleted object that is updated all the time', 'requests', requestsOf, {
        kind: 'value-at-most',
        limit: 2.1,
      }),
      figure('the same, the whole cascade', 's', ({ seconds }) => seconds),
      figure(
        'the same, updates a second meanwhile',
        'updates/s',
        ({ updates, seconds }) => updates / seconds,
      ),
    ],
    notes: [
      `A ConfigMap is deleted on which ${OWNERS} others depend, and on these all others, ${OBJECTS} in all; ${WRITERS} writers change one after the other, from before the deletion until none is left. All limits as they come. All of them went on both sides.`,
      'Requests are counted by the API server, without lists, watches and the updates.',
      `fleetgc: ${requestsText(fleetgc.served)}. kube-controller-manager: ${requestsText(kcm.served)}.`,
    ],
  };
}

const requestsOf = ({ served }: Collected): number => sumOf(served) / OBJECTS;

async function collect(arena: ApiArena, side: Side): Promise<Collected> {
  const namespace = `busy-${side}`;
  say(`cluster-busy: ${side}`);
  const root = await createCascade(arena, namespace, { owners: OWNERS, objects: OBJECTS });
  await using collector = await (side === 'kcm' ? startKcm(arena, null) : startClusterRun(arena, null));
  await untilCollecting(arena, TRACERS);
  await using watching = await watchConfigMaps(arena, namespace, root.resourceVersion);
  const busy = new BusyObjects(arena, namespace, await namesIn(arena, namespace));
  const writing = busy.write();
  await untilUpdated(busy);
  const [before, updatesBefore] = [await servedRequests(arena), busy.updates];
  const startMs = performance.now();
  await deleteConfigMap(arena, namespace, root.name);
  const times = await watching.count(OBJECTS + 1, USUAL_MS);
  const served = servedBetween(before, await servedRequests(arena));
  await writing;
  say(`  process ${collector.pid}: ${busy.updates} updates; ${requestsText(served)}`);
  return {
    seconds: (Math.max(...times) - startMs) / 1_000,
    updates: busy.updates - updatesBefore,
    served: new Map([...served].filter(([name]) => !name.startsWith('PATCH'))),
  };
}

/** Every object has been changed at least once. */
async function untilUpdated(busy: BusyObjects): Promise<void> {
  while (busy.updates < OBJECTS) await sleep(50);
}

async function namesIn({ ask }: ApiArena, namespace: string): Promise<readonly string[]> {
  const path = `${configMapsOf(namespace)}?limit=${2 * OBJECTS}`;
  const listed: { readonly items: readonly unknown[] } = JSON.parse(await ask({ method: 'GET', path }));
  const names = listed.items.flatMap((item) => readMetadata(item)?.name ?? []);
  return names.filter((name) => name !== 'root' && name !== 'kube-root-ca.crt');
}

/** Changes objects one after the other, again and again, until all are gone. */
class BusyObjects {
  readonly #arena: ApiArena;
  readonly #namespace: string;
  #left: readonly string[];
  #next = 0;
  updates = 0;

  constructor(arena: ApiArena, namespace: string, names: readonly string[]) {
    this.#arena = arena;
    this.#namespace = namespace;
    this.#left = names;
  }

  async write(): Promise<void> {
    await Promise.all(Array.from({ length: WRITERS }, () => this.#writeOn()));
  }

  async #writeOn(): Promise<void> {
    for (let name = this.#take(); name !== undefined; name = this.#take()) await this.#update(name);
  }

  #take(): string | undefined {
    return this.#left[this.#next++ % Math.max(1, this.#left.length)];
  }

  async #update(name: string): Promise<void> {
    const answer = await this.#arena.connection.call({
      method: 'PATCH',
      path: `${configMapsOf(this.#namespace)}/${name}`,
      contentType: 'application/merge-patch+json',
      body: JSON.stringify({ data: { key: `${this.updates}` } }),
    });
    if (answer.status === NOT_FOUND) this.#left = this.#left.filter((each) => each !== name);
    else if (readMetadata(jsonOf(answer.body)) !== null) this.updates += 1;
  }
}
