import { z } from 'zod';
import type { ApiKind, ApiObjectName } from '../../../packages/kube-api/resources.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { POLICY_OBJECTS } from '../../../schemas/policy/policy-object.ts';

const kind = (group: string, name: string, resource: string, namespaced = true): ApiKind => ({
  group,
  version: 'v1',
  kind: name,
  resource,
  namespaced,
});

export const NAMESPACE = kind('', 'Namespace', 'namespaces', false);
export const CONFIG_MAP = kind('', 'ConfigMap', 'configmaps');
export const SECRET = kind('', 'Secret', 'secrets');
export const POD = kind('', 'Pod', 'pods');
export const DEPLOYMENT = kind('apps', 'Deployment', 'deployments');
export const REPLICA_SET = kind('apps', 'ReplicaSet', 'replicasets');
export const REPLICATION_CONTROLLER = kind('', 'ReplicationController', 'replicationcontrollers');
export const JOB = kind('batch', 'Job', 'jobs');
export const EVENT = kind('', 'Event', 'events');
export const LEASE = kind('coordination.k8s.io', 'Lease', 'leases');
export const NODE = kind('', 'Node', 'nodes', false);
export const VOLUME = kind('', 'PersistentVolume', 'persistentvolumes', false);
export const CLUSTER_ROLE = kind('rbac.authorization.k8s.io', 'ClusterRole', 'clusterroles', false);

/** As the definition of such policies makes it. */
export const POLICY: ApiKind = POLICY_OBJECTS;

/** Kinds whose status only a request to it changes, while no other one does. */
export const hasStatusApart = (served: ApiKind): boolean => served === POLICY;

/** What it serves where nothing else is said. */
export const SERVED: readonly ApiKind[] = [
  NAMESPACE,
  CONFIG_MAP,
  SECRET,
  POD,
  DEPLOYMENT,
  REPLICA_SET,
  LEASE,
];

export const apiVersionOf = ({ group, version }: Pick<ApiKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

const MAX_NAME_LENGTH = 253;
const Name = z.string().max(MAX_NAME_LENGTH);

const OwnerReference = z
  .looseObject({
    apiVersion: Name.min(1),
    kind: Name.min(1),
    name: Name.min(1),
    uid: Name.min(1),
    controller: z.boolean().optional(),
  })
  .refine(({ apiVersion, kind }) => apiVersion !== 'v1' || kind !== 'Event', {
    error: 'an Event owns nothing',
  });
const isOnlyController = (references: readonly z.infer<typeof OwnerReference>[]): boolean =>
  references.filter(({ controller }) => controller === true).length <= 1;

/** What a writer may say of an object; what is not named here is kept as it was written. */
const WrittenMetadata = z.looseObject({
  name: Name.regex(/^[^/%]+$/),
  namespace: Name.optional(),
  uid: Name.optional(),
  resourceVersion: Name.optional(),
  finalizers: z.array(Name.min(1)).default([]),
  ownerReferences: z
    .array(OwnerReference)
    .refine(isOnlyController, { error: 'only one reference may have controller: true' })
    .default([]),
});
export const WrittenObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: WrittenMetadata,
});
export type WrittenObject = z.infer<typeof WrittenObject>;

/** An object as it is stored; a write makes another one. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ApiMetadata;
  readonly [field: string]: unknown;
}

interface ApiMetadata {
  readonly name: string;
  /** Not there for cluster-scoped objects. */
  readonly namespace?: string | undefined;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers: readonly string[];
  readonly ownerReferences: readonly object[];
  readonly [field: string]: unknown;
}

/** In whole seconds. */
export const apiTime = (epochMs: number): string => new Date(epochMs).toISOString().replace(/\.\d+Z$/, 'Z');

/** As it is told: empty lists are left away. */
export function toldObject(object: ApiObject): object {
  const { finalizers, ownerReferences, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 && { finalizers }),
      ...(ownerReferences.length > 0 && { ownerReferences }),
    },
  };
}

type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface Change {
  readonly type: ChangeType;
  readonly kind: ApiKind;
  /** With the resourceVersion of the change; what was deleted is as it was before. */
  readonly object: ApiObject;
  readonly version: number;
}

/** All objects at one moment. */
export interface Saved {
  readonly objects: ReadonlyMap<string, { readonly kind: ApiKind; readonly object: ApiObject }>;
  readonly version: number;
}

/** Older changes are forgotten, as a real server forgets them. */
const MAX_CHANGES = 10_000;
/** As of an etcd that has lived a while: what came before the first change is not known. */
const FIRST_VERSION = 1_000;

/** All objects of a cluster, with one count of versions for all kinds. */
export class ObjectStore {
  #objects = new Map<string, { readonly kind: ApiKind; readonly object: ApiObject }>();
  readonly #listeners = new Set<(change: Change) => void>();
  #changes: Change[] = [];
  #oldest = FIRST_VERSION;
  #version = FIRST_VERSION;

  get version(): number {
    return this.#version;
  }

  get(kind: ApiKind, named: ApiObjectName): ApiObject | undefined {
    return this.#objects.get(keyOf(kind, named))?.object;
  }

  /** In the order of their keys. `namespace`: `null` for all. */
  list(kind: ApiKind, namespace: string | null): readonly ApiObject[] {
    return [...this.#objects]
      .filter(([, each]) => each.kind === kind && isIn(each.object, namespace))
      .toSorted(([a], [b]) => compareText(a, b))
      .map(([, { object }]) => object);
  }

  /** Gives back the object in its new version. */
  put(kind: ApiKind, object: ApiObject): ApiObject {
    const key = keyOf(kind, nameOf(object));
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED';
    const written = this.#next(object);
    this.#objects.set(key, { kind, object: written });
    this.#tell(type, kind, written);
    return written;
  }

  remove(kind: ApiKind, object: ApiObject): void {
    this.#objects.delete(keyOf(kind, nameOf(object)));
    this.#tell('DELETED', kind, this.#next(object));
  }

  save(): Saved {
    return { objects: new Map(this.#objects), version: this.#version };
  }

  /** As an etcd that was restored from a snapshot: also versions go back, and nothing is known of what came before. */
  restore({ objects, version }: Saved): void {
    this.#objects = new Map(objects);
    this.#version = version;
    this.#changes = [];
    this.#oldest = version;
  }

  /** What happened after this version; `null` where that is not known any more. */
  changesAfter(version: number): readonly Change[] | null {
    return version < this.#oldest ? null : this.#changes.filter((each) => each.version > version);
  }

  onChange(listener: (change: Change) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #next(object: ApiObject): ApiObject {
    const resourceVersion = String(++this.#version);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }

  #tell(type: ChangeType, kind: ApiKind, object: ApiObject): void {
    const change = { type, kind, object, version: this.#version };
    this.#changes.push(change);
    if (this.#changes.length > 2 * MAX_CHANGES) this.#changes = this.#changes.slice(-MAX_CHANGES);
    this.#oldest = Math.max(this.#oldest, (this.#changes[0]?.version ?? 0) - 1);
    for (const listener of this.#listeners) listener(change);
  }
}

const nameOf = ({ metadata: { namespace = '', name } }: ApiObject): ApiObjectName => ({
  namespace,
  name,
});

export const isIn = ({ metadata }: ApiObject, namespace: string | null): boolean =>
  namespace === null || metadata.namespace === namespace;

const keyOf = ({ group, resource }: ApiKind, { namespace, name }: ApiObjectName): string =>
  `${group}/${resource}/${namespace}/${name}`;
