import type { Cascade } from '../../../schemas/events/ownership.ts';
import type { ApprovalRecord } from '../../../schemas/policy/approval.ts';

interface ApprovedWidth {
  /** Id of the approval. */
  readonly id: string;
  readonly objects: number;
}

/** What people let go of what is held, as it was when they looked (cluster S7). Each answer is the id of an approval. */
export class Approvals {
  readonly #owners = new Map<string, ApprovedWidth>();
  readonly #ownerKinds = new Map<string, ApprovedWidth>();
  readonly #objects = new Map<string, string>();

  /** Those that are in force for the cluster. */
  constructor(approvals: readonly ApprovalRecord[]) {
    for (const { id, what } of approvals) {
      if (what.kind === 'owner') this.#owners.set(what.uid, { id, objects: what.objects });
      if (what.kind === 'owner-kind') this.#ownerKinds.set(what.ownerKind, { id, objects: what.objects });
      if (what.kind === 'held-kind')
        for (const uid of what.uids) this.#objects.set(`${what.heldKind} ${uid}`, id);
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
    return this.#objects.get(`${kind} ${uid}`) ?? null;
  }
}

function covering(
  approved: ReadonlyMap<string, ApprovedWidth>,
  names: readonly (string | undefined)[],
  width: number,
): string | null {
  for (const name of names) {
    const found = name === undefined ? undefined : approved.get(name);
    if (found !== undefined && width <= found.objects) return found.id;
  }
  return null;
}
