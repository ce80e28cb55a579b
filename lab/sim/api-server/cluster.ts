import { isDeepStrictEqual } from 'node:util';
import type { ApiKind, ApiObjectName } from '../../../packages/kube-api/resources.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { type Answer, conflict, detailsOf, notFound, ok, refusal } from './answers.ts';
import {
  type ApiObject,
  apiTime,
  apiVersionOf,
  DEPLOYMENT,
  EVENT,
  hasStatusApart,
  JOB,
  NAMESPACE,
  ObjectStore,
  POD,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  SERVED,
  WrittenObject,
} from './objects.ts';

interface ClusterOptions {
  readonly kinds?: readonly ApiKind[];
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** For uids. */
  readonly newId: () => string;
}

interface DeleteOptions {
  /** `null` where nothing is asked for. */
  readonly propagation: Propagation | null;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly isDryRun: boolean;
}

/** What every cluster has. */
const FIRST_NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

/** The objects of a cluster, and what an API server makes of each request about one of them. */
export class SimulatedCluster {
  readonly kinds: readonly ApiKind[];
  readonly store = new ObjectStore();
  readonly #now: () => number;
  readonly #newId: () => string;

  constructor({ kinds = SERVED, now, newId }: ClusterOptions) {
    this.kinds = kinds;
    this.#now = now;
    this.#newId = newId;
    for (const name of FIRST_NAMESPACES) this.create(NAMESPACE, '', { metadata: { name } }, false);
  }

  /** `namespace`: empty for cluster-scoped kinds. */
  create(kind: ApiKind, namespace: string, body: unknown, isDryRun: boolean): Answer {
    const place = kind.namespaced ? { namespace } : {};
    const typed = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    const parsed = WrittenObject.safeParse(mergePatch({ ...typed, metadata: place }, body));
    if (!parsed.success) return invalid(kind, parsed.error.issues);
    const { data } = parsed;
    const named = { namespace, name: data.metadata.name };
    const objection = this.#objectionTo(kind, named, data);
    if (objection !== null) return objection;
    const { resourceVersion: _, ...written } = data.metadata;
    const { status: _told, ...withoutStatus } = data;
    const object: ApiObject = {
      ...(hasStatusApart(kind) ? withoutStatus : data),
      metadata: {
        ...written,
        ...place,
        ...(hasStatusApart(kind) && { generation: 1 }),
        uid: this.#newId(),
        creationTimestamp: apiTime(this.#now()),
        resourceVersion: '',
      },
    };
    return { status: 201, body: isDryRun ? object : this.store.put(kind, object) };
  }

  read(kind: ApiKind, named: ApiObjectName): Answer {
    const object = this.store.get(kind, named);
    return object === undefined ? notFound(kind, named.name) : ok(object);
  }

  delete(kind: ApiKind, named: ApiObjectName, options: DeleteOptions): Answer {
    const object = this.store.get(kind, named);
    if (object === undefined) return notFound(kind, named.name);
    const { uid, resourceVersion } = object.metadata;
    if ((options.uid ?? uid) !== uid)
      return conflict(kind, named.name, `its uid is ${uid}, and not ${options.uid}`);
    if ((options.resourceVersion ?? resourceVersion) !== resourceVersion)
      return conflict(kind, named.name, `its resourceVersion is ${resourceVersion}`);
    const marked = this.#marked(kind, object, options.propagation);
    if (isHeld(marked)) return ok(this.#write(kind, object, marked, options.isDryRun));
    if (kind !== POD) {
      if (!options.isDryRun) this.store.remove(kind, object);
      return ok({ kind: 'Status', apiVersion: 'v1', status: 'Success', details: goneDetails(kind, object) });
    }
    // A pod is marked first, also where it goes at once, and is answered with.
    const last = this.#write(kind, object, marked, options.isDryRun);
    if (!options.isDryRun) this.store.remove(kind, last);
    return ok(last);
  }

  /** Of a kind that has its status apart, its status stays. */
  patch(kind: ApiKind, named: ApiObjectName, patch: unknown, isDryRun: boolean): Answer {
    return this.#patched(kind, named, { patch, isDryRun }, (before, after) => {
      if (!hasStatusApart(kind)) return after;
      const { status: _, ...whole } = after;
      const generation = generationOf(before) + Number(!isDeepStrictEqual(before.spec, after.spec));
      const { status } = before;
      return {
        ...whole,
        metadata: { ...whole.metadata, generation },
        ...(status !== undefined && { status }),
      };
    });
  }

  /** All else stays. */
  patchStatus(kind: ApiKind, named: ApiObjectName, patch: unknown, isDryRun: boolean): Answer {
    return this.#patched(kind, named, { patch, isDryRun }, (before, { status }) => ({ ...before, status }));
  }

  #patched(
    kind: ApiKind,
    named: ApiObjectName,
    { patch, isDryRun }: { readonly patch: unknown; readonly isDryRun: boolean },
    changed: (before: ApiObject, after: ApiObject) => ApiObject,
  ): Answer {
    const before = this.store.get(kind, named);
    if (before === undefined) return notFound(kind, named.name);
    const parsed = WrittenObject.safeParse(mergePatch(before, patch));
    if (!parsed.success) return invalid(kind, parsed.error.issues);
    const { data } = parsed;
    const objection = changedIdentity(kind, before, data);
    if (objection !== null) return objection;
    const after = changed(before, { ...data, metadata: { ...data.metadata, ...serversOwn(before) } });
    if (addsFinalizer(before, after))
      return refusal(
        'Invalid',
        'no finalizer may be added to what is being deleted',
        detailsOf(kind, named.name),
      );
    if (!isOver(after)) return ok(this.#write(kind, before, after, isDryRun));
    if (!isDryRun) this.store.remove(kind, before);
    return ok(after);
  }

  #objectionTo(kind: ApiKind, named: ApiObjectName, written: WrittenObject): Answer | null {
    const { name, namespace } = named;
    if (written.apiVersion !== apiVersionOf(kind) || written.kind !== kind.kind)
      return refusal('BadRequest', `a ${written.apiVersion}/${written.kind} was sent for ${kind.resource}`);
    if (kind.namespaced && written.metadata.namespace !== namespace)
      return refusal('BadRequest', 'the namespace of the object is not that of the request');
    const home = kind.namespaced ? this.store.get(NAMESPACE, { namespace: '', name: namespace }) : null;
    if (home === undefined) return notFound(NAMESPACE, namespace);
    if (home?.metadata.deletionTimestamp !== undefined)
      return refusal('Forbidden', `the namespace ${namespace} is being deleted`, detailsOf(kind, name));
    return this.store.get(kind, named) === undefined
      ? null
      : refusal('AlreadyExists', `${kind.resource} "${name}" already exists`, detailsOf(kind, name));
  }

  /** As it waits for its finalizers. */
  #marked(kind: ApiKind, object: ApiObject, propagation: Propagation | null): ApiObject {
    const { metadata } = object;
    const { deletionTimestamp = apiTime(this.#now()) } = metadata;
    const finalizers = finalizersAfter(object, kind, propagation);
    const deleting = { deletionTimestamp, deletionGracePeriodSeconds: 0 };
    return { ...object, metadata: { ...metadata, ...deleting, finalizers } };
  }

  /** What changes nothing keeps its version. */
  #write(kind: ApiKind, before: ApiObject, after: ApiObject, isDryRun: boolean): ApiObject {
    if (isDeepStrictEqual(before, after)) return before;
    return isDryRun ? after : this.store.put(kind, after);
  }
}

const generationOf = ({ metadata }: ApiObject): number => Number(metadata.generation ?? 1);

const goneDetails = (kind: ApiKind, { metadata: { name, uid } }: ApiObject): object => ({
  ...detailsOf(kind, name),
  uid,
});

const invalid = (kind: ApiKind, issues: readonly { readonly message: string }[]): Answer =>
  refusal('Invalid', `the ${kind.kind} is invalid: ${issues.map(({ message }) => message).join('; ')}`);

/** What a patch names and does not change is a condition. */
function changedIdentity(
  kind: ApiKind,
  { metadata: before }: ApiObject,
  after: WrittenObject,
): Answer | null {
  const { name, uid, resourceVersion } = after.metadata;
  if (name !== before.name || after.kind !== kind.kind || after.apiVersion !== apiVersionOf(kind))
    return refusal('BadRequest', 'name, kind and apiVersion of an object never change');
  if (resourceVersion !== before.resourceVersion)
    return conflict(
      kind,
      name,
      `its resourceVersion is ${before.resourceVersion}, and not ${resourceVersion}`,
    );
  return uid === before.uid
    ? null
    : refusal('Invalid', `its uid is ${before.uid}, and not ${uid}`, detailsOf(kind, name));
}

/** What no writer changes. */
function serversOwn({ metadata }: ApiObject) {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    uid,
    resourceVersion,
    creationTimestamp,
    ...(deletionTimestamp !== undefined && { deletionTimestamp, deletionGracePeriodSeconds }),
  };
}

/** An object that owns others. */
export interface Owner {
  readonly kind: ApiKind;
  readonly name: ApiObjectName;
}

interface Created extends Owner {
  readonly owner?: Owner;
  readonly fields?: object;
}

interface Deployed {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly replicas: number;
  /** Of the ReplicaSet, as its controller makes it from the template. */
  readonly hash: string;
}

/** What people and the controllers of workloads do in a simulated cluster. Whatever is refused is a fault of the script. */
export class Deeds {
  readonly #cluster: SimulatedCluster;

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster;
  }

  createNamespace(name: string): void {
    this.create({ kind: NAMESPACE, name: { namespace: '', name } });
  }

  create({ kind, name: { namespace, name }, owner, fields = {} }: Created): Owner {
    const ownerReferences = owner === undefined ? [] : [this.#referenceTo(owner)];
    const body = { ...fields, metadata: { name, ownerReferences } };
    carriedOut(this.#cluster.create(kind, namespace, body, false));
    return { kind, name: { namespace, name } };
  }

  /** A Deployment, and what its controllers make of it. */
  deploy({ namespace, name, image, replicas, hash }: Deployed): Owner {
    const template = { spec: { containers: [{ name, image }] } };
    const kindNamed = (kind: ApiKind, each: string) => ({ kind, name: { namespace, name: each } });
    const spec = { replicas, template };
    const deployment = this.create({ ...kindNamed(DEPLOYMENT, name), fields: { spec } });
    const replicaSet = kindNamed(REPLICA_SET, `${name}-${hash}`);
    this.create({ ...replicaSet, owner: deployment, fields: { spec } });
    for (let replica = 1; replica <= replicas; replica++)
      this.create({
        ...kindNamed(POD, `${name}-${hash}-${replica}`),
        owner: replicaSet,
        fields: { ...template, status: { phase: 'Running' } },
      });
    return deployment;
  }

  /** As `kubectl get -o yaml` and `kubectl apply -n` copy it: the references to owners come along. */
  copy({ kind, name }: Owner, namespace: string): void {
    const { metadata, ...fields } = this.#found({ kind, name });
    const { ownerReferences } = metadata;
    const body = { ...fields, metadata: { name: metadata.name, ownerReferences } };
    carriedOut(this.#cluster.create(kind, namespace, body, false));
  }

  delete({ kind, name }: Owner, propagation: Propagation): void {
    carriedOut(this.#cluster.delete(kind, name, { propagation, isDryRun: false }));
  }

  uidOf(owner: Owner): string {
    return this.#found(owner).metadata.uid;
  }

  isThere({ kind, name }: Owner): boolean {
    return this.#cluster.store.get(kind, name) !== undefined;
  }

  #found({ kind, name }: Owner): ApiObject {
    const object = this.#cluster.store.get(kind, name);
    if (object === undefined) throw new FleetGcError('INTERNAL', `there is no ${kind.kind} ${name.name}`);
    return object;
  }

  #referenceTo(owner: Owner): object {
    const { kind, name } = owner;
    return {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      name: name.name,
      uid: this.uidOf(owner),
      controller: true,
      blockOwnerDeletion: true,
    };
  }
}

function carriedOut({ status, body }: Answer): void {
  if (status >= 400)
    throw new FleetGcError('INTERNAL', `the simulated cluster refused: ${JSON.stringify(body)}`);
}

export const PROPAGATIONS = ['Background', 'Foreground', 'Orphan'] as const;
export type Propagation = (typeof PROPAGATIONS)[number];

const FINALIZERS: Readonly<Record<Propagation, readonly string[]>> = {
  Background: [],
  Foreground: ['foregroundDeletion'],
  Orphan: ['orphan'],
};
const OF_PROPAGATION: ReadonlySet<string> = new Set(Object.values(FINALIZERS).flat());

const ORPHANING: ReadonlySet<ApiKind> = new Set([REPLICATION_CONTROLLER, JOB]);
/** They own nothing, so nobody waits for what they own. */
const ALWAYS_AT_ONCE: ReadonlySet<ApiKind> = new Set([EVENT]);

/**
 * What a deletion makes of the finalizers: those of others stay, and of the two for dependents the one that was asked for. Where
 * nothing is asked for, the one that is there counts, and without one the kind (cluster G1, G2, G3).
 */
function finalizersAfter(
  { metadata: { finalizers } }: ApiObject,
  kind: ApiKind,
  asked: Propagation | null,
): readonly string[] {
  const others = finalizers.filter((each) => !OF_PROPAGATION.has(each));
  if (ALWAYS_AT_ONCE.has(kind)) return others;
  const own = finalizers.find((each) => OF_PROPAGATION.has(each));
  if (asked === null && own !== undefined) return [...others, own];
  return [...others, ...FINALIZERS[asked ?? (ORPHANING.has(kind) ? 'Orphan' : 'Background')]];
}

/** Whether a deleted object has to wait for somebody. */
const isHeld = (object: ApiObject): boolean =>
  object.metadata.finalizers.length > 0 || object.kind === 'Namespace';

/** What was deleted and waits for nobody any more. */
const isOver = (object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && !isHeld(object);

/** Once it is being deleted, finalizers may only be taken away. */
const addsFinalizer = (before: ApiObject, after: ApiObject): boolean =>
  before.metadata.deletionTimestamp !== undefined &&
  after.metadata.finalizers.some((each) => !before.metadata.finalizers.includes(each));

/** JSON merge patch (RFC 7386): `null` takes a field away, objects are merged, and all else is replaced. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlain(patch)) return patch;
  const merged = new Map(Object.entries(isPlain(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
