import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { type ClusterObject, kindName } from '../../schemas/events/cluster-objects.ts';
import type { Cascade, OwnershipCandidate } from '../../schemas/events/ownership.ts';
import type { ApprovalRecord, Approved, ApprovedObject } from '../../schemas/policy/approval.ts';

/** What one approval says, with its id. */
type Given<Kind extends Approved['kind']> = { readonly id: string } & Extract<
  Approved,
  { readonly kind: Kind }
>;

/** What a rule of the policy would take. */
export interface Taken {
  readonly rule: string;
  readonly ruleSha256: string;
  readonly kind: string;
  /** From when on it may go, by the API server's clock. */
  readonly dueAtMs: number;
  /** Objects of the kind whose time is over; `null` where nobody counted. */
  readonly over: number | null;
}

/** What people let go of what is held, as it was when they looked: all that was shown has to be so (cluster S7). Each answer is the id of an approval. */
export class Approvals {
  /** By the uid of the owner. */
  readonly #owners = new Map<string, Given<'owner'>>();
  readonly #ownerKinds = new Map<string, Given<'owner-kind'> & Named>();
  readonly #heldKinds = new Map<string, Given<'held-kind'> & Named>();
  readonly #rules = new Map<string, Given<'rule'>>();
  #podsOfMissingNodes: (Given<'pods-of-missing-nodes'> & { readonly onNodes: ReadonlySet<string> }) | null =
    null;

  /** Those that are in force for the cluster. */
  constructor(approvals: readonly ApprovalRecord[]) {
    for (const { id, what } of approvals) this.#take(id, what);
  }

  #take(id: string, what: Approved): void {
    switch (what.kind) {
      case 'owner':
        this.#owners.set(what.uid, { id, ...what });
        return;
      case 'owner-kind':
        this.#ownerKinds.set(what.ownerKind, { id, ...what, byUid: byUid(what.owners) });
        return;
      case 'held-kind':
        this.#heldKinds.set(what.heldKind, { id, ...what, byUid: byUid(what.named) });
        return;
      case 'rule':
        this.#rules.set(ruleKey(what.rule, what.ofKind), { id, ...what });
        return;
      case 'pods-of-missing-nodes':
        this.#podsOfMissingNodes = { id, ...what, onNodes: new Set(what.nodes) };
    }
  }

  /** Of what goes with an owner, or with that one with which it goes itself; `null` where it is wider than was approved, or another owner than was shown. */
  ofCascade(cascade: Cascade, candidate: Candidate): string | null {
    const owners = ownersOf(cascade, candidate);
    for (const owner of owners) {
      const given = this.#owners.get(owner.uid);
      if (given?.ownerKind === owner.kind && isShown(given, owner) && cascade.objects <= given.objects)
        return given.id;
    }
    for (const owner of owners) {
      const given = this.#ownerKinds.get(owner.kind);
      if (
        given !== undefined &&
        isShown(given.byUid.get(owner.uid), owner) &&
        cascade.ofKind <= given.objects
      )
        return given.id;
    }
    return null;
  }

  /** For the record: an approval that names the uid of such an owner, and shows another object under it. */
  otherwiseNamed(cascade: Cascade, candidate: Candidate): ClusterVerdict['facts'] {
    const { ownerUid: uid, ownerKind: kind } = cascade;
    const [owner] = ownersOf({ ...cascade, within: null }, candidate);
    const isOther = (shown: ApprovedObject | undefined, shownKind: string | undefined): boolean =>
      shown !== undefined && (shownKind !== kind || owner === undefined || !isShown(shown, owner));
    const given = this.#owners.get(uid);
    if (given !== undefined && isOther(given, given.ownerKind)) return { shownOtherwise: given.id };
    const ofKind = this.#ownerKinds.get(kind);
    return ofKind !== undefined && isOther(ofKind.byUid.get(uid), kind) ? { shownOtherwise: ofKind.id } : {};
  }

  /** Of an object of a kind that is held. */
  ofObject(object: Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name' | 'uid'>): string | null {
    const given = this.#heldKinds.get(kindName(object));
    const shown = given?.byUid.get(object.uid);
    return given !== undefined && isShown(shown, { ...object, namespaces: [object.namespace] })
      ? given.id
      : null;
  }

  /** Of an object that a rule would take; `null` where the rule was changed since, more of its kind is over than was approved, or its own time was not over then. */
  ofRule({ rule, ruleSha256, kind, dueAtMs, over }: Taken): string | null {
    const given = this.#rules.get(ruleKey(rule, kind));
    if (given === undefined || given.ruleSha256 !== ruleSha256 || over === null) return null;
    return over <= given.objects && dueAtMs <= given.overByMs ? given.id : null;
  }

  /** Of a pod whose node is missing; `null` where more pods are on missing nodes than was approved, or its node was not shown. */
  ofPodsOfMissingNodes(pods: number, nodeName: string): string | null {
    const given = this.#podsOfMissingNodes;
    return given?.onNodes.has(nodeName) && pods <= given.objects ? given.id : null;
  }
}

interface Named {
  readonly byUid: ReadonlyMap<string, ApprovedObject>;
}

const byUid = (objects: readonly ApprovedObject[]): ReadonlyMap<string, ApprovedObject> =>
  new Map(objects.map((each) => [each.uid, each]));

/** No name has a space. */
const ruleKey = (rule: string, kind: string): string => `${rule} ${kind}`;

type Candidate = Pick<OwnershipCandidate, 'references'> & {
  readonly object: Pick<OwnershipCandidate['object'], 'namespace'>;
};

/** An owner as it is known where something is to be removed. */
interface KnownOwner extends Pick<ApprovedObject, 'uid' | 'name'> {
  readonly kind: string;
  /** One of these; where the scope of its kind is not known, two are possible. */
  readonly namespaces: readonly string[];
}

const isShown = (
  shown: ApprovedObject | undefined,
  { uid, name, namespaces }: Pick<KnownOwner, 'uid' | 'name' | 'namespaces'>,
): boolean =>
  shown !== undefined && shown.uid === uid && shown.name === name && namespaces.includes(shown.namespace);

/** The owner of a cascade, as this object names it, and the one with which that owner goes. */
function ownersOf(cascade: Cascade, candidate: Candidate): readonly KnownOwner[] {
  const { ownerUid: uid, ownerKind: kind, within } = cascade;
  const named = ownerNamed(uid, candidate);
  return [
    ...(named === null ? [] : [{ uid, kind, name: named.name, namespaces: [named.namespace] }]),
    ...(within === null ? [] : [{ ...within, namespaces: rootNamespaces(within, candidate) }]),
  ];
}

/** An owner lies in no namespace, or in that of all that goes with it (cluster H1). */
const rootNamespaces = (
  { namespace }: NonNullable<Cascade['within']>,
  { object }: Candidate,
): readonly string[] => (namespace === null ? ['', object.namespace] : [namespace]);

/** An owner by the references of one of its dependents; `null` where they do not agree, or the scope of its kind is not known. */
export function ownerNamed(
  ownerUid: string,
  { object, references }: Candidate,
): Pick<ApprovedObject, 'namespace' | 'name'> | null {
  const [reference, ...others] = references.filter(({ uid }) => uid === ownerUid);
  if (reference === undefined || reference.resolved === null) return null;
  const { name, resolved } = reference;
  const agree = others.every(
    (other) => other.name === name && other.resolved?.namespaced === resolved.namespaced,
  );
  return agree ? { namespace: resolved.namespaced ? object.namespace : '', name } : null;
}

/** A reason to hold what is to be done. */
export interface Reason<Outcome> {
  readonly outcome: Outcome;
  /** Id of the approval that ends the hold; `null` while nobody gave one (cluster S7). */
  readonly approval: string | null;
}

/** The first that nobody has approved. */
export const heldBy = <Outcome>(reasons: readonly Reason<Outcome>[]): Outcome | null =>
  reasons.find(({ approval }) => approval === null)?.outcome ?? null;

/** For the record of what goes because somebody approved it. */
export function approvalFacts(reasons: readonly Reason<unknown>[]): ClusterVerdict['facts'] {
  const ids = new Set(reasons.flatMap(({ approval }) => approval ?? []));
  return ids.size === 0 ? {} : { approvals: [...ids].join(' ') };
}
