import { waitUntil } from '../../../test/support/wait-until.ts';
import type { PlayedStatus } from '../history/history.ts';
import { apiVersionOf, type KindId, kindOf, OWNED_KIND_IDS } from '../history/kinds.ts';
import type { Api, Named, Reference } from './api.ts';
import { answersOf, specOf, statusOf } from './written.ts';

const NAMESPACE = 'tracers';
const TRACED_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Work of a subject's own. */
export interface Trace {
  /** What it asks of a collector. */
  readonly what: string;
  /** Lays it down. */
  put(api: Api, name: string): Promise<void>;
  isDone(api: Api, name: string): Promise<boolean>;
  /** Takes away what a collector leaves of it. */
  clear?(api: Api, name: string): Promise<void>;
}

/** Proves by new work that a collector has come past everything that happened before. */
export class Tracer {
  readonly #api: Api;
  readonly #trace: Trace;
  #rounds = 0;

  constructor(api: Api, trace: Trace) {
    this.#api = api;
    this.#trace = trace;
  }

  async begin(): Promise<void> {
    await this.#api.createNamespace(NAMESPACE);
  }

  /** `look`: has the collector look at what lies there, where it does not by itself. */
  async trace(look: () => Promise<void>): Promise<void> {
    const name = `tracer-${this.#rounds++}`;
    const { what, put, isDone, clear } = this.#trace;
    await put(this.#api, name);
    await look();
    await waitUntil(`the collector to ${what}`, TRACED_MS, () => isDone(this.#api, name));
    await clear?.(this.#api, name);
  }
}

const named = (kind: KindId, name: string): Named => ({
  namespace: kindOf(kind).namespaced ? NAMESPACE : '',
  name,
});
const isThere = async (api: Api, kind: KindId, name: string): Promise<boolean> =>
  (await api.read(kindOf(kind), named(kind, name))) !== null;
const tell = (
  api: Api,
  kind: KindId,
  name: string,
  status: Exclude<PlayedStatus, { of: 'certificateRequest' }>,
) => api.merge(kindOf(kind), named(kind, name), { status: statusOf(status, Date.now()) }, 'status');

/**
 * Objects of every kind whose owner never was: a collector that deletes them has come past everything that happened before on each
 * of its watches, and past what waited before them in its queue.
 */
export const OWNED_TRACE: Trace = {
  what: 'delete an object of each kind whose owner is not there',
  put: async (api, name) => {
    await Promise.all(
      OWNED_KIND_IDS.map((kind) => {
        const ownerReferences = [neverThere(kindOf(kind).namespaced)];
        return api.create(kindOf(kind), named(kind, name), { ownerReferences });
      }),
    );
  },
  isDone: async (api, name) => {
    const found = await Promise.all(OWNED_KIND_IDS.map((kind) => isThere(api, kind, name)));
    return !found.includes(true);
  },
};

function neverThere(namespaced: boolean): Reference {
  const { group, version, kind } = kindOf(namespaced ? 'configMap' : 'clusterRole');
  return { apiVersion: apiVersionOf(group, version), kind, name: 'never', uid: crypto.randomUUID() };
}

/** One pass is about all pods, so one that has to go tells of a whole pass. */
export const POD_TRACE: Trace = {
  what: 'remove a pod from a node that is out of service',
  put: async (api, name) => {
    const spec = specOf({ of: 'node', taint: 'out-of-service' }, String);
    const status = statusOf({ of: 'node', ready: 'False' }, Date.now());
    await api.create(kindOf('node'), named('node', name), {}, { spec, status });
    await api.create(kindOf('pod'), named('pod', name), {}, { spec: { nodeName: name } });
    await tell(api, 'pod', name, { of: 'pod', phase: 'Running', isEvicted: false });
    await api.delete(kindOf('pod'), named('pod', name), null);
  },
  isDone: async (api, name) => !(await isThere(api, 'pod', name)),
  clear: async (api, name) => void (await api.delete(kindOf('node'), named('node', name), null)),
};

/** It stays, since nobody collects dependents here, and is being deleted from then on. */
export const JOB_TRACE: Trace = {
  what: 'delete a Job that is past its TTL',
  put: async (api, name) => {
    const spec = specOf({ of: 'job', ttlSeconds: 0 }, String);
    await api.create(kindOf('job'), named('job', name), {}, { spec });
    await tell(api, 'job', name, { of: 'job', ended: 'Complete', agoMs: HOUR_MS });
  },
  isDone: async (api, name) => {
    const jobs = await api.list(kindOf('job'));
    return jobs.some((job) => job.name === name && job.deletionTimestamp !== undefined);
  },
  clear: (api, name) => api.change(kindOf('job'), named('job', name), () => ({ finalizers: [] })),
};

export const REQUEST_TRACE: Trace = {
  what: 'delete a certificate request that was denied long ago',
  put: async (api, name) => {
    const [kind, request] = [kindOf('certificateRequest'), named('certificateRequest', name)];
    await api.create(kind, request, {});
    const answers = [{ type: 'Denied', agoMs: 2 * HOUR_MS } as const];
    const conditions = answersOf({ of: 'certificateRequest', answers, certificate: null }, Date.now());
    await api.merge(kind, request, { status: { conditions } }, 'approval');
  },
  isDone: async (api, name) => !(await isThere(api, 'certificateRequest', name)),
};
