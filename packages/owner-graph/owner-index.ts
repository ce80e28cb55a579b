import { ORPHAN, UNKNOWN_OWNERS_UID } from '../../schemas/events/cluster-objects.ts';
import type { GoneHow } from '../../schemas/events/ownership.ts';
import { rootOfDependent } from './cascade-root.ts';
import { GoneObjects, goneObject } from './gone-objects.ts';
import { type GraphObject, isDeletingWith, sameReferences } from './graph-object.ts';
import type { GraphView } from './graph-view.ts';
import { Interned } from './interned.ts';
import { isSameKind, type ResourceKind } from './kinds.ts';
import { countOf, firstOf, type Members, withMember, withoutMember } from './members.ts';

/** Changed in place, so that whoever points at it sees the newest state. */
type Node = { -readonly [Field in keyof GraphObject]: GraphObject[Field] };

const NO_KINDS: readonly ResourceKind[] = [];

/** Hardly an object has more. */
const USUAL_REFERENCES = 10;

/** How many references of an object count for the room that all objects share. */
export const furtherOf = ({ references }: Pick<GraphObject, 'references'>): number =>
  Math.max(0, references.length - USUAL_REFERENCES);

/** How an object goes of whose deletion the watch of its kind told. */
const TOLD_BY_WATCH: ReadonlySet<GoneHow> = new Set<GoneHow>(['watched', 'kind-going']);

/** It is not being deleted, and not all that it lists was read. */
const hasUnknownOwners = ({ deletionTimestamp, references }: GraphObject): boolean =>
  deletionTimestamp === null && references.at(-1)?.uid === UNKNOWN_OWNERS_UID;

/**
 * The owner graph of one cluster: uid to object, and owner uid to the objects that list it. An owner that nobody has seen needs no
 * entry of its own, so nothing has to be linked when it is seen at last (cluster B2, B6).
 */
export class OwnerIndex implements GraphView {
  readonly gone = new GoneObjects((uid) => this.countDependents(uid) > 0);
  readonly #nodes = new Map<string, Node>();
  readonly #dependents = new Map<string, Members<Node>>();
  /** None are left of those that only one kind tells of by now. */
  readonly #otherKinds = new Map<string, readonly ResourceKind[]>();
  /** Objects that were seen being deleted so that their dependents stay. */
  readonly #orphaning = new Set<string>();
  readonly #interned = new Interned();
  #furtherReferences = 0;
  /** Objects of which not all owners are known, by namespace. */
  readonly #unknownOwners = new Map<string, Set<string>>();
  #unknownOwnersChanged = false;

  get size(): number {
    return this.#nodes.size;
  }

  /** References of all objects beyond the usual ones of each. */
  get furtherReferences(): number {
    return this.#furtherReferences;
  }

  get(uid: string): GraphObject | undefined {
    return this.#nodes.get(uid);
  }

  otherKinds(uid: string): readonly ResourceKind[] {
    return this.#otherKinds.get(uid) ?? NO_KINDS;
  }

  /** If all that is known of it was told by one kind: another one, which others may serve, could have said what is not so. */
  toldByOneKind(uid: string): GraphObject | undefined {
    return this.#otherKinds.has(uid) ? undefined : this.get(uid);
  }

  dependents(uid: string): Iterable<GraphObject> {
    return this.#dependents.get(uid) ?? [];
  }

  countDependents(uid: string): number {
    return countOf(this.#dependents.get(uid));
  }

  countUnknownDependents({ namespace }: Pick<GraphObject, 'namespace'>): number {
    if (namespace !== '') return this.#unknownOwners.get(namespace)?.size ?? 0;
    return [...this.#unknownOwners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Whether a namespace has got the first object of which not all owners are known, or lost the last one, since it was asked last. */
  takeUnknownOwnersChanged(): boolean {
    const haveChanged = this.#unknownOwnersChanged;
    this.#unknownOwnersChanged = false;
    return haveChanged;
  }

  objects(): Iterable<GraphObject> {
    return this.#nodes.values();
  }

  /** An object as it is now. Returns the owners that it listed before and does not any more. */
  put(object: GraphObject): readonly string[] {
    if (isDeletingWith(object, ORPHAN)) this.#orphaning.add(object.uid);
    const node = this.#nodes.get(object.uid);
    if (node === undefined) {
      this.#insert(object);
      return [];
    }
    if (!isSameKind(node.kind, object.kind)) this.#addKind(node, object.kind);
    else node.kind = object.kind;
    return this.#update(node, object);
  }

  /**
   * The object is not served under this kind any more. Returns its last state if that was its only kind: then it is gone
   * (cluster C14).
   */
  remove(uid: string, kind: ResourceKind, how: GoneHow): GraphObject | null {
    const node = this.#takeOut(uid, kind);
    if (node === null) return null;
    const orphaned = this.#orphaning.has(uid);
    const isDeletionSeen = TOLD_BY_WATCH.has(how);
    this.gone.add(
      uid,
      goneObject(node, how, { orphaned, within: rootOfDependent(node, this), isDeletionSeen }),
    );
    this.#orphaning.delete(uid);
    return node;
  }

  /**
   * All objects of a kind that is not served any more. They leave without counting as gone, since nobody deleted them (cluster I9).
   */
  withdraw(kind: ResourceKind): readonly GraphObject[] {
    const uids = [...this.#ofKind(kind)];
    const left = uids.flatMap((uid) => this.#takeOut(uid, kind) ?? []);
    for (const { uid } of left) this.#orphaning.delete(uid);
    return left;
  }

  /** Uids of the objects that are served under this kind. */
  uidsOf(kind: ResourceKind): readonly string[] {
    return [...this.#ofKind(kind)];
  }

  *#ofKind(kind: ResourceKind): Iterable<string> {
    const isOne = (each: ResourceKind): boolean => isSameKind(each, kind);
    for (const [uid, node] of this.#nodes) {
      if (isOne(node.kind) || this.otherKinds(uid).some(isOne)) yield uid;
    }
  }

  #insert(object: GraphObject): void {
    const node: Node = {
      kind: object.kind,
      namespace: this.#interned.text(object.namespace),
      name: object.name,
      uid: object.uid,
      resourceVersion: object.resourceVersion,
      deletionTimestamp: object.deletionTimestamp,
      finalizers: this.#interned.list(object.finalizers),
      references: this.#shared(object),
      keep: object.keep,
    };
    this.gone.forget(node.uid);
    this.#nodes.set(node.uid, node);
    this.#furtherReferences += furtherOf(node);
    this.#noteUnknownOwners(node);
    for (const { uid } of node.references) this.#link(uid, node);
  }

  #update(node: Node, object: GraphObject): readonly string[] {
    if (node.namespace !== object.namespace) this.#forgetUnknownOwners(node);
    const left = this.#overwrite(node, object);
    this.#noteUnknownOwners(node);
    return left;
  }

  #noteUnknownOwners(node: GraphObject): void {
    if (!hasUnknownOwners(node)) {
      this.#forgetUnknownOwners(node);
      return;
    }
    const known = this.#unknownOwners.get(node.namespace) ?? new Set<string>();
    if (known.size === 0) this.#unknownOwnersChanged = true;
    this.#unknownOwners.set(node.namespace, known.add(node.uid));
  }

  #forgetUnknownOwners({ uid, namespace }: GraphObject): void {
    const known = this.#unknownOwners.get(namespace);
    if (known?.delete(uid) !== true || known.size > 0) return;
    this.#unknownOwners.delete(namespace);
    this.#unknownOwnersChanged = true;
  }

  #overwrite(node: Node, object: GraphObject): readonly string[] {
    node.namespace = this.#interned.text(object.namespace);
    node.name = object.name === node.name ? node.name : object.name;
    node.resourceVersion = object.resourceVersion;
    node.deletionTimestamp = object.deletionTimestamp;
    node.finalizers = this.#interned.list(object.finalizers);
    node.keep = object.keep;
    if (sameReferences(node.references, object.references)) return [];
    const before = node.references;
    this.#furtherReferences -= furtherOf(node);
    node.references = this.#shared(object);
    this.#furtherReferences += furtherOf(node);
    const now = new Set(node.references.map(({ uid }) => uid));
    for (const uid of now) this.#link(uid, node);
    const left = [...new Set(before.map(({ uid }) => uid))].filter((uid) => !now.has(uid));
    for (const uid of left) this.#unlink(uid, node);
    return left;
  }

  #shared({ references }: GraphObject): GraphObject['references'] {
    const sibling = firstOf(this.#dependents.get(references[0]?.uid ?? ''));
    return this.#interned.references(references, sibling, (uid) => this.#nodes.get(uid));
  }

  #addKind(node: Node, kind: ResourceKind): void {
    const others = this.otherKinds(node.uid).filter((each) => !isSameKind(each, kind));
    this.#otherKinds.set(node.uid, [...others, kind]);
  }

  /** `null` where the object is not known, or still served under another kind. */
  #takeOut(uid: string, kind: ResourceKind): Node | null {
    const node = this.#nodes.get(uid);
    if (node === undefined) return null;
    const kinds = [node.kind, ...this.otherKinds(uid)];
    const [first, ...left] = kinds.filter((each) => !isSameKind(each, kind));
    if (left.length + 1 === kinds.length && first !== undefined) return null;
    if (first !== undefined) {
      this.#otherKinds.set(uid, left);
      node.kind = first;
      return null;
    }
    this.#otherKinds.delete(uid);
    this.#nodes.delete(uid);
    this.#furtherReferences -= furtherOf(node);
    this.#forgetUnknownOwners(node);
    for (const reference of node.references) this.#unlink(reference.uid, node);
    return node;
  }

  #link(ownerUid: string, node: Node): void {
    this.#dependents.set(ownerUid, withMember(this.#dependents.get(ownerUid), node));
  }

  #unlink(ownerUid: string, node: Node): void {
    const left = withoutMember(this.#dependents.get(ownerUid), node);
    if (left === undefined) this.#dependents.delete(ownerUid);
    else this.#dependents.set(ownerUid, left);
  }
}
