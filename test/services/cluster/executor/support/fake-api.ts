import { z } from 'zod';
import type { ApiAnswer, ApiConnection } from '../../../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../../../packages/kube-api/send.ts';
import { ServerClock } from '../../../../../packages/kube-api/server-clock.ts';
import { apiVersionOf } from '../../../../../packages/owner-graph/kinds.ts';
import { FleetGcError } from '../../../../../packages/process/errors.ts';
import { FOREGROUND, ORPHAN, type ServedKind } from '../../../../../schemas/events/cluster-objects.ts';
import { statusBody } from '../../../../packages/kube-api/support/fake-connection.ts';

/** What the fake API server serves. */
export const SERVED: readonly ServedKind[] = [
  { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps', namespaced: true },
  { group: '', version: 'v1', kind: 'Secret', resource: 'secrets', namespaced: true },
  { group: '', version: 'v1', kind: 'Namespace', resource: 'namespaces', namespaced: false },
  { group: 'apps', version: 'v1', kind: 'ReplicaSet', resource: 'replicasets', namespaced: true },
  { group: '', version: 'v1', kind: 'ServiceAccount', resource: 'serviceaccounts', namespaced: true },
  { group: 'batch', version: 'v1', kind: 'Job', resource: 'jobs', namespaced: true },
  {
    group: 'certificates.k8s.io',
    version: 'v1',
    kind: 'CertificateSigningRequest',
    resource: 'certificatesigningrequests',
    namespaced: false,
  },
  {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    kind: 'ClusterRole',
    resource: 'clusterroles',
    namespaced: false,
  },
];

/** Served where a test wants pods. */
export const POD: ServedKind = { group: '', version: 'v1', kind: 'Pod', resource: 'pods', namespaced: true };
export const NODE: ServedKind = {
  group: '',
  version: 'v1',
  kind: 'Node',
  resource: 'nodes',
  namespaced: false,
};

const PodStatus = z.looseObject({
  phase: z.string().optional(),
  conditions: z.array(z.looseObject({ type: z.string() })).default([]),
});

export const kindNamed = (name: string): ServedKind => {
  const found = SERVED.find(({ kind }) => kind === name);
  if (found === undefined) throw new Error(`nobody serves ${name}`);
  return found;
};

export interface FakeReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface StoredObject {
  readonly kind: ServedKind;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp: string | null;
  readonly finalizers: readonly string[];
  readonly ownerReferences: readonly FakeReference[];
  readonly keep: boolean;
  /** What a whole object has beside its metadata. */
  readonly whole?: Readonly<Record<string, unknown>>;
  readonly creationTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionGracePeriodSeconds?: number;
  readonly generation?: number;
}

type Made = Pick<StoredObject, 'kind' | 'name'> & Partial<StoredObject>;

/** A write as it came, and the object as it was before. */
export interface Write {
  readonly request: ApiRequest;
  readonly before: StoredObject;
  readonly isDryRun: boolean;
}

export const DATE_MS = 1_800_000_000_000;
const DELETED_AT = '2026-11-25T00:00:00Z';

/** An API server in memory: objects are read, deleted and patched as the real one does. */
export class FakeApi {
  readonly asked: ApiRequest[] = [];
  readonly writes: Write[] = [];
  /** What is asked for is done, and the answer is lost. */
  loses: (request: ApiRequest) => boolean = () => false;
  /** An answer in place of the real one. */
  fault: (request: ApiRequest) => Partial<ApiAnswer> | Error | null = () => null;
  /** Somebody is quicker than the write to this object that comes. */
  beforeWrite: (target: StoredObject) => void = () => undefined;
  /** Told of each write that is carried out. */
  onWrite: (write: Write) => void = () => undefined;
  served = SERVED;
  readonly clock = new ServerClock();
  readonly #nowMs: () => number;
  readonly #objects = new Map<string, StoredObject>();
  #version = 100;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.put({ kind: kindNamed('Namespace'), name: 'kube-system', uid: 'the-cluster' });
  }

  get objects(): readonly StoredObject[] {
    return [...this.#objects.values()];
  }

  byUid(uid: string): StoredObject | undefined {
    return this.objects.find((object) => object.uid === uid);
  }

  put(made: Made): StoredObject {
    const namespace = made.kind.namespaced ? (made.namespace ?? 'ns') : '';
    const stored: StoredObject = {
      uid: made.name,
      deletionTimestamp: null,
      finalizers: [],
      ownerReferences: [],
      keep: false,
      ...made,
      namespace,
      resourceVersion: String(++this.#version),
    };
    this.#objects.set(keyOf(stored.kind, namespace, stored.name), stored);
    return stored;
  }

  remove({ kind, namespace, name }: StoredObject): void {
    this.#objects.delete(keyOf(kind, namespace, name));
  }

  /** The same object in a newer state. */
  touch(uid: string, change: Partial<StoredObject> = {}): void {
    const object = this.byUid(uid);
    if (object !== undefined) this.put({ ...object, ...change });
  }

  readonly connection = (): ApiConnection => ({
    clock: this.clock,
    call: async (request, signal) => {
      if (signal?.aborted) throw signal.reason;
      this.asked.push(request);
      const fault = this.fault(request);
      if (fault instanceof Error) throw fault;
      const nowMs = this.#nowMs();
      const dateMs = DATE_MS + Math.floor(nowMs / 1_000) * 1_000;
      this.clock.told({ dateMs, sentAtMs: nowMs, receivedAtMs: nowMs });
      const answer = fault ?? this.#answer(request);
      if (this.loses(request)) throw new FleetGcError('API_UNREACHABLE', 'no answer came');
      return { status: 200, headers: {}, body: '{}', ...answer };
    },
    stream: async () => {
      throw new Error('nobody watches');
    },
    [Symbol.dispose]: () => undefined,
  });

  #answer(request: ApiRequest): Partial<ApiAnswer> {
    const url = new URL(request.path, 'http://x');
    if (url.pathname === '/api') return ok(this.#discovery(({ group }) => group === ''));
    if (url.pathname === '/apis') return ok(this.#discovery(({ group }) => group !== ''));
    const place = placeOf(url.pathname.replace(/\/status$/, ''), this.served);
    if (place === null) return { status: 404, body: '404 page not found' };
    const key = keyOf(place.kind, place.namespace, place.name);
    const target = this.#objects.get(key);
    if (target !== undefined && request.method !== 'GET') this.beforeWrite(target);
    const object = this.#objects.get(key);
    if (object === undefined) return refusal(404, 'NotFound', { name: place.name });
    if (request.method === 'GET') return ok(bodyOf(object, request.accept));
    return this.#write(request, url, object);
  }

  #write(request: ApiRequest, url: URL, object: StoredObject): Partial<ApiAnswer> {
    const body = JSON.parse(request.body ?? '{}');
    const named = request.method === 'DELETE' ? body.preconditions : body.metadata;
    const isDryRun =
      request.method === 'DELETE' ? body.dryRun?.[0] === 'All' : url.searchParams.has('dryRun');
    if (named?.uid !== object.uid || named?.resourceVersion !== object.resourceVersion)
      return refusal(409, 'Conflict', { name: object.name });
    const write = { request, before: object, isDryRun };
    this.writes.push(write);
    this.onWrite(write);
    if (request.method === 'DELETE')
      return object.kind === POD
        ? this.#deletePod(object, isDryRun)
        : this.#delete(object, body.propagationPolicy, isDryRun);
    return url.pathname.endsWith('/status')
      ? this.#patchStatus(object, body.status, isDryRun)
      : this.#patch(object, body.metadata, isDryRun);
  }

  #delete(object: StoredObject, propagation: string, isDryRun: boolean): Partial<ApiAnswer> {
    const others = object.finalizers.filter((each) => each !== ORPHAN && each !== FOREGROUND);
    const added = { Orphan: [ORPHAN], Foreground: [FOREGROUND] }[propagation] ?? [];
    const finalizers = [...others, ...added];
    if (finalizers.length === 0) {
      if (!isDryRun) this.remove(object);
      return ok({ kind: 'Status', status: 'Success', details: { name: object.name, uid: object.uid } });
    }
    const left = { ...object, finalizers, deletionTimestamp: DELETED_AT };
    return ok(bodyOf(isDryRun ? left : this.put(left)));
  }

  /** Without grace only finalizers hold a pod; the answer has the time of its deletion in any case. */
  #deletePod(object: StoredObject, isDryRun: boolean): Partial<ApiAnswer> {
    const left = { ...object, deletionTimestamp: DELETED_AT, deletionGracePeriodSeconds: 0 };
    if (isDryRun) return ok(bodyOf(left));
    if (object.finalizers.length > 0) return ok(bodyOf(this.put(left)));
    this.remove(object);
    return ok(bodyOf(left));
  }

  /** Conditions are merged by their types. */
  #patchStatus(object: StoredObject, patch: unknown, isDryRun: boolean): Partial<ApiAnswer> {
    const before = PodStatus.parse(object.whole?.status);
    const change = PodStatus.parse(patch);
    const others = before.conditions.filter(({ type }) =>
      change.conditions.every((each) => each.type !== type),
    );
    const status = { ...before, ...change, conditions: [...others, ...change.conditions] };
    const left = { ...object, whole: { ...object.whole, status } };
    return ok(bodyOf(isDryRun ? { ...left, resourceVersion: 'never' } : this.put(left)));
  }

  #patch(
    object: StoredObject,
    { ownerReferences = object.ownerReferences, finalizers = object.finalizers }: Partial<StoredObject>,
    isDryRun: boolean,
  ): Partial<ApiAnswer> {
    const left = { ...object, ownerReferences, finalizers };
    // Nobody may go on from a state that never was.
    if (isDryRun) return ok(bodyOf({ ...left, resourceVersion: 'never' }));
    const stored = this.put(left);
    if (stored.deletionTimestamp !== null && finalizers.length === 0) this.remove(stored);
    return ok(bodyOf(stored));
  }

  #discovery(isOne: (kind: ServedKind) => boolean) {
    const groups = Map.groupBy(this.served.filter(isOne), ({ group }) => group);
    return {
      kind: 'APIGroupDiscoveryList',
      items: [...groups].map(([group, kinds]) => ({
        metadata: { name: group },
        versions: [
          {
            version: 'v1',
            resources: kinds.map(({ kind, resource, namespaced, version }) => ({
              resource,
              responseKind: { group, version, kind },
              scope: namespaced ? 'Namespaced' : 'Cluster',
              verbs: ['delete', 'get', 'list', 'patch', 'watch'],
            })),
          },
        ],
      })),
    };
  }
}

const keyOf = ({ group, resource }: ServedKind, namespace: string, name: string): string =>
  JSON.stringify([group, resource, namespace, name]);

const ok = (body: unknown): Partial<ApiAnswer> => ({ status: 200, body: JSON.stringify(body) });
const refusal = (status: number, reason: string, details: object): Partial<ApiAnswer> => ({
  status,
  body: JSON.stringify(statusBody(status, reason, details)),
});

const bodyOf = ({ keep, kind, whole, annotations, ...metadata }: StoredObject, accept?: string) => ({
  ...(accept === 'application/json'
    ? { apiVersion: apiVersionOf(kind), kind: kind.kind, ...whole }
    : { kind: 'PartialObjectMetadata' }),
  metadata: {
    ...metadata,
    deletionTimestamp: metadata.deletionTimestamp ?? undefined,
    annotations: { ...annotations, ...(keep && { 'fleetgc.io/keep': '' }) },
  },
});

function placeOf(
  path: string,
  served: readonly ServedKind[],
): { readonly kind: ServedKind; readonly namespace: string; readonly name: string } | null {
  const parts = path.split('/').slice(1).map(decodeURIComponent);
  const group = parts[0] === 'api' ? '' : parts[1];
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const isInNamespace = rest.length === 4 && rest[0] === 'namespaces';
  const [resource, name] = isInNamespace ? rest.slice(2) : rest;
  const kind = served.find(
    (each) => each.group === group && each.resource === resource && each.namespaced === isInNamespace,
  );
  if (kind === undefined || name === undefined || rest.length !== (isInNamespace ? 4 : 2)) return null;
  return { kind, namespace: isInNamespace ? (rest[1] ?? '') : '', name };
}
