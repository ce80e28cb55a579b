import { ORPHAN, UNKNOWN_OWNERS_UID } from '../../schemas/events/cluster-objects.ts';
import type { GoneHow } from '../../schemas/events/ownership.ts';
import { rootOfDependent } from './cascade.ts';
import { GoneObjects, goneObject } from './gone-objects.ts';
import { type GraphObject, isDeletingWith, type OwnerReference, sameReferences } from './graph-object.ts';
import { isSameKind, type ResourceKind } from './kinds.ts';
import type { GraphView } from './reference-states.ts';

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

/** So many different lists of finalizers and namespaces are kept once; further ones are kept as they come. */
const MOST_INTERNED = 10_000;
const NONE: readonly string[] = [];
const NO_REFERENCES: readonly OwnerReference[] = [];

/** Equal texts and lists once in memory: parsed objects each bring their own. */
class Interned {
  readonly #texts = new Map<string, string>();
  readonly #lists = new Map<string, readonly string[]>();

  text(text: string): string {
    return once(this.#texts, text, () => text);
  }

  list(list: readonly string[]): readonly string[] {
    return list.length === 0 ? NONE : once(this.#lists, list.join('\n'), () => [...list]);
  }

  /**
   * The references of an object, of which `sibling` has the same owner: the pods of a ReplicaSet have one list between them. `uid`
   * gives the text of an owner's uid that is in memory already.
   */
  references(
    references: readonly OwnerReference[],
    sibling: GraphObject | undefined,
    ownerOf: (uid: string) => GraphObject | undefined,
  ): readonly OwnerReference[] {
    if (references.length === 0) return NO_REFERENCES;
    if (sibling !== undefined && sameReferences(references, sibling.references)) return sibling.references;
    return references.map((reference) => this.#reference(reference, ownerOf(reference.uid)));
  }

  #reference(reference: OwnerReference, owner: GraphObject | undefined): OwnerReference {
    return {
      apiVersion: this.text(reference.apiVersion),
      kind: this.text(reference.kind),
      name: owner?.name === reference.name ? owner.name : reference.name,
      uid: owner?.uid ?? reference.uid,
      controller: reference.controller,
      blockOwnerDeletion: reference.blockOwnerDeletion,
    };
  }
}

function once<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  if (known.size < MOST_INTERNED) known.set(key, made);
  return made;
}

/**
 * A set of objects in the form that takes the least memory: most owners have a handful of dependents, for which a list is an eighth
 * of a `Set`; of thousands a list cannot be searched.
 */
type Members<Member> = readonly Member[] | Set<Member>;

const MOST_IN_LIST = 16;

/** The set with this member; it may be the same object, changed. */
function withMember<Member>(members: Members<Member> | undefined, member: Member): Members<Member> {
  if (members === undefined) return [member];
  if (members instanceof Set) return members.add(member);
  if (members.includes(member)) return members;
  return members.length < MOST_IN_LIST ? [...members, member] : new Set([...members, member]);
}

/** The set without this member, `undefined` if nothing is left; it may be the same object, changed. */
function withoutMember<Member>(
  members: Members<Member> | undefined,
  member: Member,
): Members<Member> | undefined {
  if (members === undefined) return undefined;
  if (members instanceof Set) {
    members.delete(member);
    return members.size > 0 ? members : undefined;
  }
  const left = members.filter((each) => each !== member);
  return left.length > 0 ? left : undefined;
}

const countOf = (members: Members<unknown> | undefined): number =>
  members === undefined ? 0 : members instanceof Set ? members.size : members.length;

const firstOf = <Member>(members: Members<Member> | undefined): Member | undefined =>
  members?.values().next().value;

/** From so many objects on, a list that lacks half of them is doubted (cluster S3). */
const LEAST_FOR_MASS = 20;

/** One complete list of a kind, page by page. What it lacks is only known at its end (cluster A14). */
export class Listing {
  readonly #index: OwnerIndex;
  readonly #kind: ResourceKind;
  /** `null` at the first list of a kind, when nothing can be lacking. */
  readonly #before: Set<string> | null;
  readonly #total: number;

  constructor(index: OwnerIndex, kind: ResourceKind, isFirst: boolean) {
    this.#index = index;
    this.#kind = kind;
    this.#before = isFirst ? null : new Set(index.uidsOf(kind));
    this.#total = this.#before?.size ?? 0;
  }

  /** Returns as `OwnerIndex.put`. */
  put(object: GraphObject): readonly string[] {
    this.#before?.delete(object.uid);
    return this.#index.put(object);
  }

  /** The list is complete: returns the objects that are gone. */
  complete(): readonly GraphObject[] {
    const lacking = this.#before ?? new Set();
    const isMass = this.#total >= LEAST_FOR_MASS && lacking.size * 2 >= this.#total;
    const how: GoneHow = isMass ? 'mass-relisted' : 'relisted';
    return [...lacking].flatMap((uid) => this.#index.remove(uid, this.#kind, how) ?? []);
  }
}
