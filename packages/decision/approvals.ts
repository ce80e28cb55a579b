import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { Cascade } from '../../schemas/events/ownership.ts';
import type { ApprovalRecord, Approved } from '../../schemas/policy/approval.ts';

interface ApprovedWidth {
  /** Id of the approval. */
  readonly id: string;
  readonly objects: number;
}
type ApprovedRule = ApprovedWidth & Pick<Extract<Approved, { kind: 'rule' }>, 'ruleSha256' | 'overByMs'>;

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

/** What people let go of what is held, as it was when they looked (cluster S7). Each answer is the id of an approval. */
export class Approvals {
  readonly #owners = new Map<string, ApprovedWidth>();
  readonly #ownerKinds = new Map<string, ApprovedWidth>();
  readonly #objects = new Map<string, string>();
  readonly #rules = new Map<string, ApprovedRule>();
  #podsOfMissingNodes: ApprovedWidth | null = null;

  /** Those that are in force for the cluster. */
  constructor(approvals: readonly ApprovalRecord[]) {
    for (const { id, what } of approvals) this.#take(id, what);
  }

  #take(id: string, what: Approved): void {
    switch (what.kind) {
      case 'owner':
        this.#owners.set(what.uid, { id, objects: what.objects });
        return;
      case 'owner-kind':
        this.#ownerKinds.set(what.ownerKind, { id, objects: what.objects });
        return;
      case 'held-kind':
        for (const uid of what.uids) this.#objects.set(objectKey(what.heldKind, uid), id);
        return;
      case 'rule':
        this.#rules.set(ruleKey(what.rule, what.ofKind), {
          id,
          ruleSha256: what.ruleSha256,
          objects: what.objects,
          overByMs: what.overByMs,
        });
        return;
      case 'pods-of-missing-nodes':
        this.#podsOfMissingNodes = { id, objects: what.objects };
    }
  }

  /** Of what goes with an owner, or with that one with which it goes itself; `null` where it is wider than was approved. */
  ofCascade({ ownerUid, ownerKind, objects, ofKind, within }: Cascade): string | null {
    return (
      covering(this.#owners, [ownerUid, within?.uid], objects) ??
      covering(this.#ownerKinds, [ownerKind, within?.kind], ofKind)
    );
  }

  /** Of an object of a kind that is held. */
  ofObject(kind: string, uid: string): string | null {
    return this.#objects.get(objectKey(kind, uid)) ?? null;
  }

  /** Of an object that a rule would take; `null` where the rule was changed since, more of its kind is over than was approved, or its own time was not over then. */
  ofRule({ rule, ruleSha256, kind, dueAtMs, over }: Taken): string | null {
    const given = this.#rules.get(ruleKey(rule, kind));
    if (given === undefined || given.ruleSha256 !== ruleSha256 || over === null) return null;
    return over <= given.objects && dueAtMs <= given.overByMs ? given.id : null;
  }

  /** Of pods whose nodes are missing; `null` where there are more than was approved. */
  ofPodsOfMissingNodes(pods: number): string | null {
    return idWhere(this.#podsOfMissingNodes, pods);
  }
}

/** No name has a space. */
const objectKey = (kind: string, uid: string): string => `${kind} ${uid}`;
const ruleKey = (rule: string, kind: string): string => `${rule} ${kind}`;

function covering(
  approved: ReadonlyMap<string, ApprovedWidth>,
  names: readonly (string | undefined)[],
  width: number,
): string | null {
  for (const name of names) {
    const id = name === undefined ? null : idWhere(approved.get(name) ?? null, width);
    if (id !== null) return id;
  }
  return null;
}

const idWhere = (approved: ApprovedWidth | null, width: number): string | null =>
  approved !== null && width <= approved.objects ? approved.id : null;

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
