import { type ObjectMetadata, UNREADABLE_REFERENCE } from '../../../packages/kube-api/metadata.ts';
import { isBuiltIn } from '../../../packages/kube-api/resources.ts';
import { candidacyOf, neighbours } from '../../../packages/owner-graph/candidacy.ts';
import type { CascadeWidth } from '../../../packages/owner-graph/cascade.ts';
import { type GraphObject, isDeletingWith } from '../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { Namesakes } from '../../../packages/owner-graph/namesakes.ts';
import { furtherOf, OwnerIndex } from '../../../packages/owner-graph/owner-index.ts';
import {
  type StatedReference,
  type Surroundings,
  statedReferences,
} from '../../../packages/owner-graph/reference-states.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import type { OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import { type Batch, CandidateTracker, candidateFacts } from './candidates.ts';
import { Definitions, KindRegistry, Listings } from './kinds.ts';
import { MissingOwners } from './missing-owners.ts';
import { graphObject, isNewsTo, isOfThePast } from './observed-object.ts';
import type { ReflectorSink } from './reflector.ts';

interface ClusterGraphOptions {
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  /** Something may be to publish. */
  readonly onWork: () => void;
  /** What is served may have changed. */
  readonly onDefinition: () => void;
  /** A kind cannot be listed or watched, of which nothing is concluded then; told once until it can be. */
  readonly onUnreadable: (kind: ResourceKind, reason: string) => void;
  /** The uid of the namespace `kube-system`; `null` where it does not matter. */
  readonly clusterInstance: string | null;
  /** The cluster was restored to an older state, or another one took its place. */
  readonly onWentBack: (kind: ResourceKind) => void;
}

/** References of all objects beyond ten of each; one takes about half a kilobyte (cluster A1). */
const MAX_FURTHER_REFERENCES = 200_000;

/**
 * After its definition was deleted a kind counts as withdrawn only after so long: upgrades of operators delete definitions and apply them again (cluster S17).
 * @limit Time after which a kind without definition counts as withdrawn (S17).
 */
const WITHDRAWN_AFTER_MS = 60_000;

/** @limit Wait for all kinds before an agent publishes, as upstream (I7). */
const MAX_SYNC_MS = 30_000;

/** All that is known of one cluster in one session: what reflectors read comes in, and candidates go out. */
export class ClusterGraph implements ReflectorSink {
  readonly kinds: KindRegistry;
  readonly index = new OwnerIndex();
  readonly missing: MissingOwners;
  readonly #options: ClusterGraphOptions;
  readonly #startedMs: number;
  readonly #definitions = new Definitions();
  readonly #firstSeen = new FirstSeen();
  readonly #keptNamespaces = new KeptNamespaces();
  readonly #namesakes: Namesakes;
  readonly #listings = new Listings(this.index, this.#definitions);
  readonly #tracker: CandidateTracker;
  readonly #surroundings: Surroundings = {
    graph: this.index,
    kinds: { find: (apiVersion, kind) => this.kinds.find(apiVersion, kind) },
    isSettled: (uid) => this.#firstSeen.isSettled(uid),
    isWithdrawn: (kind) => this.#isWithdrawn(kind),
  };

  constructor(options: ClusterGraphOptions) {
    this.#options = options;
    this.#startedMs = options.nowMs();
    this.missing = new MissingOwners(this.index, this.#definitions);
    this.#namesakes = new Namesakes(this.index, options.nowMs);
    this.kinds = new KindRegistry({
      nowMs: options.nowMs,
      isDefined: (kind) => this.#definitions.isDefined(kind),
    });
    this.#tracker = new CandidateTracker({
      count: (uid) => this.#count(uid),
      look: (uid) => this.candidate(uid),
      isThere: (uid) => this.index.get(uid) !== undefined,
      all: () => [...this.index.objects()].map(({ uid }) => uid),
      nowMs: options.nowMs,
    });
  }

  countObjects(kind: ResourceKind): number {
    return this.index.uidsOf(kind).length;
  }

  /** Whether the namespace bears the annotation that keeps all in it (cluster S5). */
  isKeptNamespace(namespace: string): boolean {
    return this.#keptNamespaces.has(namespace);
  }

  /** Whether anything may be published (cluster I10). */
  get isReady(): boolean {
    return this.kinds.isSettled || this.#options.nowMs() - this.#startedMs >= MAX_SYNC_MS;
  }

  /** Objects that were published as candidates, and still are. */
  get publishedCandidates(): number {
    return this.#tracker.published;
  }

  /**
   * Whether objects of the kind lie where all of the cluster does, so that an older state of one is one of the cluster (cluster S3). What
   * another server says, behind an aggregated API, concerns that server alone.
   */
  tellsOfRestore(kind: ResourceKind): boolean {
    return isBuiltIn(kind) || this.#definitions.uidOf(kind) !== null;
  }

  /** The object as it is now; `null` for one that is no candidate, or not there. */
  candidate(uid: string): OwnershipCandidate | null {
    const object = this.index.get(uid);
    if (object === undefined) return null;
    const candidacy = candidacyOf(object, this.#surroundings);
    if (candidacy === null) return null;
    return candidateFacts(candidacy, {
      widths: this.missing.widths,
      graph: this.index,
      namesakes: this.#namesakes,
      isKeptNamespace: (namespace) => this.isKeptNamespace(namespace),
    });
  }

  /** Whether the object is a candidate; what lets it go is noted then. */
  #count(uid: string): boolean {
    const object = this.index.get(uid);
    const candidacy = object === undefined ? null : candidacyOf(object, this.#surroundings);
    if (candidacy !== null) this.missing.note(candidacy);
    this.#namesakes.note(
      { uid },
      candidacy?.references.some((each) => this.#namesakes.of(candidacy.object, each) !== undefined) ?? false,
    );
    return candidacy !== null;
  }

  /** Whether an owner was seen to be deleted whose kind was withdrawn since; false for all that is not sure (cluster S17). */
  isGoneWithItsKind(uid: string): boolean {
    const gone = this.index.gone.get(uid);
    return gone?.how === 'kind-going' && gone.isDeletionSeen && this.#isWithdrawn(gone.kind);
  }

  /**
   * The watch told that the definition of the kind was deleted, no other one came since, and all that the API server serves was told
   * and lacks the kind. Another definition would be known: definitions are listed and watched (cluster S17).
   */
  #isWithdrawn(kind: ResourceKind): boolean {
    const deletedAtMs = this.#definitions.deletedAtMs(kind);
    if (deletedAtMs === null || this.#options.nowMs() - deletedAtMs < WITHDRAWN_AFTER_MS) return false;
    const definitions = this.kinds.find('apiextensions.k8s.io/v1', 'CustomResourceDefinition');
    return definitions.state === 'watched' && definitions.synced && this.kinds.isUnserved(kind);
  }

  /** How much goes with a missing owner of this kind (cluster S1). */
  widthOf(ownerUid: string, ownerKind: string): CascadeWidth {
    return this.missing.widths.of(ownerUid, ownerKind);
  }

  /** What each owner reference of an object comes to as things are now. */
  references(object: GraphObject): readonly StatedReference[] {
    return statedReferences(object, this.#surroundings);
  }

  /** What is to be published now. */
  take(): Batch {
    for (const uid of this.#firstSeen.takeSettled(this.#options.nowMs())) this.#tracker.touch(uid);
    if (this.index.takeUnknownOwnersChanged()) this.#touchWaiting();
    this.missing.widths.tidy();
    this.#namesakes.tidy();
    return this.#tracker.take();
  }

  /** Owners that wait for objects of which not all owners are known, or did. */
  #touchWaiting(): void {
    for (const object of this.index.objects())
      if (isDeletingWith(object, FOREGROUND) || isDeletingWith(object, ORPHAN))
        this.#tracker.touch(object.uid);
  }

  /** What is known of kinds has changed, or may have by time alone. */
  lookAtAll(): void {
    this.#tracker.touchAll();
    this.#options.onWork();
  }

  /** Something else may be decided of what was published. */
  tellAgain(): void {
    this.#tracker.tellAgain();
  }

  /**
   * The kind is not served any more, and nobody defines it. Nothing follows of its objects; should it come back without those that
   * others name as owners, they went with it (cluster I9, S3).
   */
  withdraw(kind: ResourceKind): void {
    this.#listings.withdraw(kind);
    const left = this.index.withdraw(kind);
    this.missing.noteWithdrawn(left);
    for (const object of left) {
      this.#forget(object, null);
      this.#touch(object);
    }
    this.lookAtAll();
  }

  beginList(kind: ResourceKind): void {
    this.#listings.begin(kind);
  }

  listed(kind: ResourceKind, objects: readonly ObjectMetadata[]): void {
    const listing = this.#listings.of(kind);
    if (listing === undefined) return;
    for (const object of objects) this.#put(graphObject(kind, object), (each) => listing.put(each));
  }

  endList(kind: ResourceKind, isWatched: boolean): void {
    this.#listings.end(kind, (gone) => {
      for (const object of gone) {
        this.#forget(object, null);
        this.#touch(object);
      }
      if (this.#definitions.isGoing(kind)) this.#noteGoingKinds();
    });
    if (isWatched) this.watched(kind);
  }

  watched(kind: ResourceKind): void {
    if (this.kinds.synced(kind)) this.lookAtAll();
    else this.#options.onWork();
  }

  put(kind: ResourceKind, object: ObjectMetadata): void {
    this.#put(graphObject(kind, object), (each) => this.index.put(each));
    this.#options.onWork();
  }

  gone(kind: ResourceKind, object: ObjectMetadata): void {
    const before = [...neighbours(object.uid, this.index)];
    const how = this.#definitions.isGoing(kind) ? 'kind-going' : 'watched';
    const last = this.index.remove(object.uid, kind, how);
    if (last === null) return;
    this.#forget(last, this.#options.nowMs());
    for (const uid of before) this.#tracker.touch(uid);
    this.#options.onWork();
  }

  failed(kind: ResourceKind, reason: string): void {
    this.#listings.failed(kind);
    if (this.kinds.failed(kind, reason)) this.#options.onUnreadable(kind, reason);
  }

  wentBack(kind: ResourceKind): void {
    this.#options.onWentBack(kind);
  }

  #put(read: GraphObject, into: (object: GraphObject) => readonly string[]): void {
    const object = this.#withinRoom(read);
    const known = this.index.get(object.uid);
    if (this.tellsOfRestore(object.kind) && isOfThePast(object, this.index, this.missing.remembered))
      this.#options.onWentBack(object.kind);
    if (known === undefined) this.#firstSeen.note(object.uid, this.#options.nowMs());
    const isNews = known === undefined || isNewsTo(known, object);
    const left = into(object);
    if (!isNews) return;
    for (const uid of left) this.#tracker.touch(uid);
    this.#touch(object);
    if (isNamespace(object)) this.#noteNamespace(object);
    if (Definitions.isDefining(object)) this.#definitionChanged(this.#definitions.put(object));
  }

  /** Whoever may create objects could name millions of owners: beyond the room that all share an object is kept without a look at what it lists. */
  #withinRoom(object: GraphObject): GraphObject {
    const further = furtherOf(object);
    const known = this.index.get(object.uid);
    const others = this.index.furtherReferences - (known === undefined ? 0 : furtherOf(known));
    return further === 0 || others + further <= MAX_FURTHER_REFERENCES
      ? object
      : { ...object, references: [UNREADABLE_REFERENCE] };
  }

  #definitionChanged(isKindGoing: boolean): void {
    this.#options.onDefinition();
    if (isKindGoing) this.#noteGoingKinds();
  }

  #noteGoingKinds(): void {
    for (const uid of this.missing.noteGoingKinds()) this.#tracker.touch(uid);
  }

  #noteNamespace(namespace: GraphObject): void {
    const { clusterInstance, onWentBack } = this.#options;
    if (isOfAnotherCluster(namespace, clusterInstance)) onWentBack(namespace.kind);
    if (this.#keptNamespaces.put(namespace)) this.#tracker.touchAll();
  }

  /** `deletedAtMs`: when the watch told of its deletion; `null` where it only left. */
  #forget(object: GraphObject, deletedAtMs: number | null): void {
    this.#firstSeen.forget(object.uid);
    if (Definitions.isDefining(object)) this.#definitionChanged(this.#definitions.gone(object, deletedAtMs));
    if (isNamespace(object)) this.#keptNamespaces.gone(object);
  }

  /** The object, those that list it and those that it lists, whether it is still there or not. */
  #touch({ uid, references }: GraphObject): void {
    for (const each of neighbours(uid, this.index)) this.#tracker.touch(each);
    for (const reference of references) this.#tracker.touch(reference.uid);
  }
}

/** An object has to be known for so long before it counts that its owner is not: the owner's event may be behind. */
const SETTLED_AFTER_MS = 1_000;

/** Since when new objects are known; of older ones nothing is kept. */
class FirstSeen {
  /** In order of time. */
  readonly #sinceMs = new Map<string, number>();

  note(uid: string, nowMs: number): void {
    if (!this.#sinceMs.has(uid)) this.#sinceMs.set(uid, nowMs);
  }

  forget(uid: string): void {
    this.#sinceMs.delete(uid);
  }

  isSettled(uid: string): boolean {
    return !this.#sinceMs.has(uid);
  }

  /** Objects that have become old enough. */
  takeSettled(nowMs: number): readonly string[] {
    const settled: string[] = [];
    for (const [uid, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs < SETTLED_AFTER_MS) break;
      this.#sinceMs.delete(uid);
      settled.push(uid);
    }
    return settled;
  }
}

const isNamespace = ({ kind: { kind, group } }: GraphObject): boolean => kind === 'Namespace' && group === '';

/** Whether the namespace is that by which clusters are told apart, and another one's than `clusterInstance`, its uid. */
const isOfAnotherCluster = ({ name, uid }: GraphObject, clusterInstance: string | null): boolean =>
  name === 'kube-system' && clusterInstance !== null && uid !== clusterInstance;

/** Namespaces that bear the annotation that keeps all in them (cluster S5). */
class KeptNamespaces {
  readonly #names = new Set<string>();

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Returns whether it changes what is kept. */
  put({ name, keep }: GraphObject): boolean {
    const wasKept = this.#names.has(name);
    if (keep) this.#names.add(name);
    else this.#names.delete(name);
    return wasKept !== keep;
  }

  gone({ name }: GraphObject): void {
    this.#names.delete(name);
  }
}
