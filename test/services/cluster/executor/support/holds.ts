import { HOUR_MS } from '../../../../../packages/process/durations.ts';
import type { ClusterAction } from '../../../../../schemas/events/cluster-command.ts';
import { kindName } from '../../../../../schemas/events/cluster-objects.ts';
import type { Cascade, OwnershipCandidate } from '../../../../../schemas/events/ownership.ts';
import type { ApprovalRecord, Approved, ApprovedObject } from '../../../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../../../schemas/policy/cluster-policy.ts';
import { IDENTITY } from './executor.ts';

const DOUBTFUL: readonly unknown[] = ['mass-relisted', 'kind-going'];
const DANGLING: readonly unknown[] = ['gone', 'unseen', 'unlisted'];
const LEAVING: readonly unknown[] = [...DANGLING, 'elsewhere', 'waiting'];
const NO_LIMIT = 1_000_000;

/** A candidate and a policy by which nobody has to approve anything: what follows from them is what approvals could free at most. */
export const withoutHolds = (
  candidate: OwnershipCandidate,
  policy: ClusterPolicy,
): { readonly candidate: OwnershipCandidate; readonly policy: ClusterPolicy } => ({
  candidate: {
    ...candidate,
    references: candidate.references.map((each) => ({
      ...each,
      gone: each.gone && { ...each.gone, how: 'watched' },
    })),
  },
  policy: {
    ...policy,
    heldKinds: [],
    limits: { ...policy.limits, cascade: NO_LIMIT, cascadeOfKind: NO_LIMIT },
  },
});

export interface Holding {
  readonly candidate: OwnershipCandidate;
  readonly policy: ClusterPolicy;
  readonly approvals: readonly ApprovalRecord[];
  /** Epoch milliseconds, by the API server's clock. */
  readonly atMs: number;
}

/** What an action has to be approved for, in words, and whether somebody did; judged apart from the product's own rules (cluster S7). */
export function whatHolds(
  act: ClusterAction,
  { candidate, policy, approvals, atMs }: Holding,
): readonly { readonly why: string; readonly isApproved: boolean }[] {
  if (policy.profile === 'kubernetes' || act.action === 'finish') return [];
  const approved = approvals
    .filter(
      (each) =>
        each.cluster === IDENTITY.cluster &&
        each.clusterInstance === IDENTITY.clusterInstance &&
        each.untilMs > atMs,
    )
    .map(({ what }) => what);
  const { object, references, cascades } = candidate;
  const doubtful = references.filter(
    ({ state, gone }) => DANGLING.includes(state) && DOUBTFUL.includes(gone?.how),
  );
  const holds = doubtful.map(({ uid }) => ({
    why: `S3 ${uid}`,
    isApproved: cascades.some(
      (each) => each.ownerUid === uid && isCascadeApproved(each, candidate, approved),
    ),
  }));
  if (act.action === 'drop-references') return holds;
  const { cascade, cascadeOfKind } = policy.limits;
  const wide = cascades.filter(({ objects, ofKind }) => objects > cascade || ofKind > cascadeOfKind);
  const kind = kindName(object);
  const ofHeldKind = policy.heldKinds.includes(kind)
    ? [{ why: `S2 ${kind}`, isApproved: approved.some((what) => namesObject(what, kind, object)) }]
    : [];
  return [
    ...holds,
    ...ofHeldKind,
    ...wide.map((each) => ({
      why: `S1 ${each.ownerUid}`,
      isApproved: isCascadeApproved(each, candidate, approved),
    })),
  ];
}

const namesObject = (what: Approved, kind: string, { uid, namespace, name }: ApprovedObject): boolean =>
  what.kind === 'held-kind' &&
  what.heldKind === kind &&
  what.named.some((each) => each.uid === uid && each.namespace === namespace && each.name === name);

/** Who an owner is, as one of its dependents says it; more than one where it says several things. */
const namesOf = (uid: string, { object, references }: OwnershipCandidate): readonly string[] => [
  ...new Set(
    references
      .filter((each) => each.uid === uid)
      .map(({ name, resolved }) =>
        JSON.stringify([uid, resolved?.namespaced === true ? object.namespace : '', name]),
      ),
  ),
];

/** One owner and the one with which it goes, and no more than was seen: kind, namespace, name and uid. */
function isCascadeApproved(
  { ownerUid, ownerKind, objects, ofKind, within }: Cascade,
  candidate: OwnershipCandidate,
  approved: readonly Approved[],
): boolean {
  const names = namesOf(ownerUid, candidate);
  const [own = ''] = names;
  const owners = [
    ...(names.length === 1 ? [{ kind: ownerKind, is: [own] }] : []),
    ...(within === null
      ? []
      : [
          {
            kind: within.kind,
            is: (within.namespace === null ? ['', candidate.object.namespace] : [within.namespace]).map(
              (namespace) => JSON.stringify([within.uid, namespace, within.name]),
            ),
          },
        ]),
  ];
  return owners.some(({ kind, is }) =>
    approved.some((what) => {
      const isIt = ({ uid, namespace, name }: ApprovedObject): boolean =>
        is.includes(JSON.stringify([uid, namespace, name]));
      if (what.kind === 'owner') return what.ownerKind === kind && isIt(what) && what.objects >= objects;
      return (
        what.kind === 'owner-kind' &&
        what.ownerKind === kind &&
        what.owners.some(isIt) &&
        what.objects >= ofKind
      );
    }),
  );
}

/** What stands for the width of a cascade where nobody has the owner graph: what was deleted for its owner in the past hour. */
export class DeletedForOwners {
  readonly #deleted: { readonly of: string; readonly atMs: number }[] = [];

  add({ references }: OwnershipCandidate, atMs: number): void {
    const names = leavingOf(references).flatMap(({ uid, kind }) => [`owner ${uid}`, `kind ${kind}`]);
    for (const of of new Set(names)) this.#deleted.push({ of, atMs });
  }

  /** The candidate with its cascades, as wide as they are with the candidate itself. */
  withWidths(candidate: OwnershipCandidate | null, atMs: number): OwnershipCandidate | null {
    if (candidate === null) return null;
    const count = (name: string): number =>
      this.#deleted.filter((each) => each.of === name && each.atMs > atMs - HOUR_MS).length;
    const cascades = leavingOf(candidate.references).map(({ uid, kind }) => ({
      ownerUid: uid,
      ownerKind: kind,
      objects: count(`owner ${uid}`) + 1,
      ofKind: count(`kind ${kind}`) + 1,
      within: null,
    }));
    return { ...candidate, cascades };
  }
}

const leavingOf = (references: OwnershipCandidate['references']) =>
  references
    .filter(({ state }) => LEAVING.includes(state))
    .map(({ uid, kind, resolved }) => ({ uid, kind: resolved === null ? kind : kindName(resolved) }));
