import { jobStateOf } from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { expiringForm } from '../../../packages/kube-api/expiring.ts';
import { readClusterInstance } from '../../../packages/kube-api/list.ts';
import {
  type ApiOwnerReference,
  CREATED_FORM,
  METADATA_FORM,
  type ObjectForm,
  type ObjectMetadata,
  readMetadata,
  wholeForm,
} from '../../../packages/kube-api/metadata.ts';
import { type NodeFacts, readNode } from '../../../packages/kube-api/pods.ts';
import { isPathUnserved, type LiveObject, readObject } from '../../../packages/kube-api/read.ts';
import { type ApiObjectName, hasPath, isBuiltIn } from '../../../packages/kube-api/resources.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { FOREGROUND, ORPHAN, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import type { OwnerFound } from '../../../schemas/events/cluster-result.ts';
import type { JobState } from '../../../schemas/events/expiry.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import {
  KindCatalog,
  type KindDefinition,
  KindDefinitions,
  objectionToWithdrawn,
  type Place,
} from './kinds.ts';
import { maySoonBeKnown, refused, type Stop } from './order.ts';
import { Proofs } from './proofs.ts';

const NAMESPACES = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  resource: 'namespaces',
  namespaced: false,
} as const satisfies ServedKind;

const NODES = {
  group: '',
  version: 'v1',
  kind: 'Node',
  resource: 'nodes',
  namespaced: false,
} as const satisfies ServedKind;

const JOBS = {
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  resource: 'jobs',
  namespaced: true,
} as const satisfies ServedKind;

const JOB_FORM = expiringForm(JOBS, null);

const NODE_FORM = wholeForm<ObjectMetadata & { readonly node: NodeFacts | null }>((value) => {
  const metadata = readMetadata(value);
  return metadata && { ...metadata, node: readNode(value) };
});

/** What a node was found to be right before something was done. */
type NodeAsFound =
  | { readonly is: 'absent' }
  | { readonly is: 'there' | 'out-of-service'; readonly isReady: boolean };

/** What attempts share. */
export interface SharedReads {
  readonly kinds: KindCatalog;
  readonly instance: SameInstance;
  /** With when that was answered. */
  readonly absent: Proofs<number>;
  readonly definitions: KindDefinitions;
  /** Kinds that were proved to be withdrawn. */
  readonly withdrawn: Proofs<true>;
  readonly keptNamespaces: Proofs<boolean>;
  readonly nowMs: () => number;
}

export const sharedReads = (instance: SameInstance, nowMs: () => number): SharedReads => ({
  kinds: new KindCatalog(nowMs),
  instance,
  absent: new Proofs(nowMs),
  definitions: new KindDefinitions(nowMs),
  withdrawn: new Proofs(nowMs),
  keptNamespaces: new Proofs(nowMs),
  nowMs,
});

type Unknown = Extract<LiveObject, { kind: 'unknown' }>;

/** What the API server says right now, to one attempt. Each rejects with what the connection rejects with. */
export class LiveReads {
  readonly #connection: ApiConnection;
  readonly #shared: SharedReads;
  #provedSinceMs = Number.POSITIVE_INFINITY;
  /** When an owner was found absent last. */
  #absentAtMs = Number.NEGATIVE_INFINITY;

  constructor(connection: ApiConnection, shared: SharedReads) {
    this.#connection = connection;
    this.#shared = shared;
  }

  /** Of when the oldest is of what was found of owners, nodes and namespaces; for ever while nothing was. */
  get provedSinceMs(): number {
    return this.#provedSinceMs;
  }

  /** Kinds as they are served, over this connection. */
  get kinds() {
    const { kinds } = this.#shared;
    return {
      of: (object: Parameters<KindCatalog['kindOf']>[0]) => kinds.kindOf(object, this.#connection),
      named: (apiVersion: string, kind: string) => kinds.ownerKind(apiVersion, kind, this.#connection),
    };
  }

  /** Why nothing may be done, where the API server is that of another cluster by now. */
  otherInstance(): Promise<Stop | null> {
    return this.#shared.instance.objection(this.#connection);
  }

  object(place: Place): Promise<LiveObject> {
    return this.whole(place, METADATA_FORM);
  }

  /** With what such a form reads beside metadata. */
  whole<Seen extends ObjectMetadata>(
    { kind, named }: Place,
    form: ObjectForm<Seen>,
  ): Promise<LiveObject<Seen>> {
    return readObject(this.#connection, kind, named, form);
  }

  /** An owner by its uid: under its name another object may be by now, and then it is absent (cluster D5, D9). */
  async owner(place: Place, uid: string): Promise<OwnerFound | Stop> {
    const { kind, named } = place;
    const key = JSON.stringify([kind.group, kind.version, kind.resource, named.namespace, named.name, uid]);
    const found = await this.#shared.absent.obtain(key, () => this.#askForOwner(place, uid, key));
    if (typeof found !== 'number') return found;
    this.#absentAtMs = Math.max(this.#absentAtMs, found);
    this.#noteAge(this.#shared.absent.askedAtMs(key));
    return 'absent';
  }

  async #askForOwner({ kind, named }: Place, uid: string, key: string): Promise<OwnerFound | Stop | number> {
    const { absent, nowMs } = this.#shared;
    const askedAtMs = nowMs();
    this.#noteAge(askedAtMs);
    const found = await this.object({ kind, named });
    if (found.kind === 'unknown') return unknownOwner(found, `the owner ${kind.kind} ${named.name}`);
    if (found.kind === 'found' && found.object.uid === uid) return stateOf(found.object);
    const answeredAtMs = nowMs();
    absent.add(key, answeredAtMs, askedAtMs);
    return answeredAtMs;
  }

  /** What defines the kind of an owner that was found absent, read after that (cluster S3). */
  async definitionOf(owner: ServedKind): Promise<KindDefinition | 'none' | Stop> {
    const { kinds, definitions } = this.#shared;
    if (isBuiltIn(owner) || !(await kinds.hasDefinitions(this.#connection))) return 'none';
    return definitions.of(owner, this.#absentAtMs, (place) => this.whole(place, CREATED_FORM));
  }

  /**
   * Why nobody may say that an owner is absent whose kind was withdrawn; `null` where its path, discovery, services and definitions all
   * say so, the definition last: that is the first to be there again (cluster S17).
   */
  async objectionToWithdrawn({ kind, named }: Place): Promise<Stop | null> {
    const { kinds, withdrawn, nowMs } = this.#shared;
    const askedAtMs = nowMs();
    const owner = await this.object({ kind, named });
    const what = `the owner ${kind.kind} ${named.name}`;
    if (owner.kind !== 'unknown')
      return refused('owner-unknown', `${what} is of a kind that is served again`);
    if (!isPathUnserved(owner.answer)) return unknownOwner(owner, what);
    const key = JSON.stringify([kind.group, kind.version, kind.resource]);
    const proof = await withdrawn.obtain(key, async () => {
      const startedMs = nowMs();
      const objection = await objectionToWithdrawn(kind, {
        isUnserved: () => kinds.isUnserved(kind, this.#connection),
        read: (place, form) => this.whole(place, form),
      });
      if (objection === null) withdrawn.add(key, true, startedMs);
      return objection ?? true;
    });
    if (proof !== true) return proof;
    this.#noteAge(Math.min(askedAtMs, withdrawn.askedAtMs(key) ?? askedAtMs));
    return null;
  }

  /** By its name alone: nothing else of it stands in a pod (cluster J7). That it is not there holds as long as of owners. */
  async node(name: string): Promise<NodeAsFound | Stop> {
    const named = { namespace: '', name };
    if (!hasPath(NODES, named)) return refused('owner-unknown', 'no node can have such a name');
    const key = JSON.stringify(['node', name]);
    const found = await this.#shared.absent.obtain(key, () => this.#askForNode(named, key));
    if (typeof found !== 'number') return found;
    this.#noteAge(this.#shared.absent.askedAtMs(key));
    return { is: 'absent' };
  }

  async #askForNode(named: ApiObjectName, key: string): Promise<NodeAsFound | Stop> {
    const { absent, nowMs } = this.#shared;
    const askedAtMs = nowMs();
    this.#noteAge(askedAtMs);
    const found = await this.whole({ kind: NODES, named }, NODE_FORM);
    if (found.kind === 'unknown') return unknownOwner(found, `the node ${named.name}`);
    if (found.kind === 'absent') {
      absent.add(key, nowMs(), askedAtMs);
      return { is: 'absent' };
    }
    const { node } = found.object;
    return node === null
      ? { is: 'there', isReady: true }
      : { is: node.isOutOfService ? 'out-of-service' : 'there', isReady: node.isReady };
  }

  /** How far the Job is that owns a pod, by its uid. Of one that is not there, or cannot be read, nothing is known (cluster S15). */
  async job(
    namespace: string,
    { name, uid }: Pick<ApiOwnerReference, 'name' | 'uid'>,
  ): Promise<JobState | Stop> {
    const named = { namespace, name };
    if (!hasPath(JOBS, named)) return 'unknown';
    const found = await this.whole({ kind: JOBS, named }, JOB_FORM);
    if (found.kind === 'unknown') return maySoonBeKnown(found) ?? 'unknown';
    if (found.kind === 'absent' || found.object.uid !== uid) return 'unknown';
    return jobStateOf(found.object.expiring?.facts ?? null);
  }

  /** Whether the namespace bears the annotation that keeps all in it (cluster S5). */
  async keepsNamespace(name: string): Promise<boolean | Stop> {
    const { keptNamespaces } = this.#shared;
    const keeps = await keptNamespaces.obtain(name, () => this.#askForNamespace(name));
    this.#noteAge(keptNamespaces.askedAtMs(name));
    return keeps;
  }

  #noteAge(askedAtMs: number | undefined): void {
    this.#provedSinceMs = Math.min(this.#provedSinceMs, askedAtMs ?? this.#provedSinceMs);
  }

  async #askForNamespace(name: string): Promise<boolean | Stop> {
    const { keptNamespaces, nowMs } = this.#shared;
    const askedAtMs = nowMs();
    const found = await this.object({ kind: NAMESPACES, named: { namespace: '', name } });
    if (found.kind === 'unknown') return unknownNamespace(found, name);
    const keeps = found.kind === 'found' && found.object.keep;
    keptNamespaces.add(name, keeps, askedAtMs);
    return keeps;
  }
}

/** Of an owner that is there (cluster D8). As everywhere, who has both finalizers orphans (cluster C13). */
function stateOf({ deletionTimestamp, finalizers }: ObjectMetadata): OwnerFound {
  if (deletionTimestamp === null) return 'there';
  if (finalizers.includes(ORPHAN)) return 'orphaning';
  return finalizers.includes(FOREGROUND) ? 'waiting' : 'there';
}

const unknownOwner = (unknown: Unknown, what: string): Stop =>
  maySoonBeKnown(unknown) ?? refused('owner-unknown', `${what} cannot be read: ${unknown.message}`);

const unknownNamespace = (unknown: Unknown, name: string): Stop =>
  maySoonBeKnown(unknown) ??
  refused(
    'kept-by-policy',
    `whether the namespace ${name} has the annotation that keeps it cannot be read: ${unknown.message}`,
  );

const SAME = 'same';
/** @limit Period in which an executor checks the identity of the cluster. */
const LOOK_EVERY_MS = 10_000;

/**
 * Whether the API server is still that of the cluster whose orders are carried out: behind one address another cluster can come up.
 * What was found to be another one stays so.
 */
export class SameInstance {
  readonly #identity: ClusterIdentity;
  readonly #nowMs: () => number;
  readonly #proofs: Proofs<true>;
  #other: string | null = null;

  constructor(identity: ClusterIdentity, nowMs: () => number) {
    this.#identity = identity;
    this.#nowMs = nowMs;
    this.#proofs = new Proofs(nowMs);
  }

  /** Why nothing may be done there. Rejects where the API server does not tell. */
  async objection(connection: ApiConnection): Promise<Stop | null> {
    await this.#proofs.obtain(SAME, () => this.#ask(connection));
    return this.#other === null ? null : refused('other-instance', this.#text(this.#other));
  }

  /** Looks until the signal aborts. Rejects with `API_REPLACED` when it is another one. */
  async watch(connection: ApiConnection, sleep: Sleep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#ask(connection).catch(notNow);
      if (this.#other !== null) throw new FleetGcError('API_REPLACED', this.#text(this.#other));
      await sleep(LOOK_EVERY_MS, signal);
    }
  }

  async #ask(connection: ApiConnection): Promise<void> {
    const askedAtMs = this.#nowMs();
    const found = await readClusterInstance(connection);
    if (found !== this.#identity.clusterInstance) this.#other ??= found;
    else if (this.#other === null) this.#proofs.add(SAME, true, askedAtMs);
  }

  #text(other: string): string {
    const { cluster, clusterInstance } = this.#identity;
    return `the API server is that of another cluster now (kube-system ${other}), and the orders are about ${cluster} (kube-system ${clusterInstance}); started again, this executor works for the other one`;
  }
}

/** An API server that is away is no other one. */
function notNow(error: unknown): void {
  const foreseen = toFleetGcError(error);
  if (!foreseen.retry) throw foreseen;
}
