import { z } from 'zod';
import { HALF_A_CHARACTER } from '../events/broken-texts.ts';
import { OwnRuleName } from '../events/cluster-command.ts';
import { ObjectText } from '../events/cluster-objects.ts';
import { type ClusterIdentity, ClusterName, ObjectUid } from '../events/identity.ts';

/**
 * No approval holds longer: what was put back after that approves nothing any more.
 * @limit Longest approval.
 */
export const MAX_APPROVAL_MS = 30 * 86_400_000;
/** @limit Objects that one approval names. */
export const MAX_APPROVED_OBJECTS = 1_000;
const MAX_TEXT_LENGTH = 1_000;

const whole = <Text extends z.ZodType<string>>(text: Text): Text =>
  text.refine((each) => each.isWellFormed(), { error: HALF_A_CHARACTER });

/** As `kindName` writes it: `apps/ReplicaSet`. */
const KindText = whole(z.string().min(1).max(700));
/** A name or a reason, as somebody wrote it. */
export const WrittenText = whole(z.string().max(MAX_TEXT_LENGTH));
const Width = z.int().positive();

/** An object as people saw it: all of it has to be so when something is removed (cluster S7). */
export const ApprovedObject = z.strictObject({
  uid: whole(ObjectUid),
  /** Empty for an object that lies in none. */
  namespace: whole(ObjectText),
  name: whole(ObjectText),
});
export type ApprovedObject = z.infer<typeof ApprovedObject>;
const ApprovedObjects = z.array(ApprovedObject).min(1).max(MAX_APPROVED_OBJECTS);

/** What an approval lets go, as people saw it. What is wider by now, or was not there then, stays held (cluster S7). */
export const Approved = z.discriminatedUnion('kind', [
  /** What goes with this owner, as long as that is not more than so many objects. */
  z.strictObject({
    kind: z.literal('owner'),
    ownerKind: KindText,
    ...ApprovedObject.shape,
    objects: Width,
  }),
  /** What goes with these missing owners of this kind, as long as no more goes with all missing owners of the kind. */
  z.strictObject({
    kind: z.literal('owner-kind'),
    ownerKind: KindText,
    owners: ApprovedObjects,
    objects: Width,
  }),
  /** These objects of a kind that is held (cluster S2). */
  z.strictObject({
    kind: z.literal('held-kind'),
    heldKind: KindText,
    named: ApprovedObjects,
  }),
  /** What a rule of the policy takes of a kind, as long as the time of no more of its objects is over (cluster S11). */
  z.strictObject({
    kind: z.literal('rule'),
    rule: OwnRuleName,
    /** Of the rule as it was: what a changed one takes nobody has looked at. */
    ruleSha256: z.string().regex(/^[0-9a-f]{64}$/),
    ofKind: KindText,
    objects: Width,
    /** Epoch milliseconds, by the API server's clock: what was not over by then nobody has looked at. */
    overByMs: z.int().nonnegative(),
  }),
  /** Pods of these missing nodes, as long as no more pods are on missing nodes (cluster S1). */
  z.strictObject({
    kind: z.literal('pods-of-missing-nodes'),
    nodes: z
      .array(whole(ObjectText.min(1)))
      .min(1)
      .max(MAX_APPROVED_OBJECTS),
    objects: Width,
  }),
]);
export type Approved = z.infer<typeof Approved>;
/** What can be approved, in the words of `fleetgc approve --as`. */
export const ApprovedKind = z.enum(Approved.options.map(({ shape }) => shape.kind.value));
export type ApprovedKind = z.infer<typeof ApprovedKind>;

/** State, keyed by `approvalKey`: lets go in one cluster what is held there, until it ends or is withdrawn. */
export const ApprovalRecord = z
  .strictObject({
    type: z.literal('fleetgc.approval'),
    version: z.literal(1),
    id: z.string().min(1).max(200),
    cluster: ClusterName,
    /** Of what was looked at: a cluster that was made anew under this name has nothing in common with it. */
    clusterInstance: whole(ObjectUid),
    what: Approved,
    /** Epoch milliseconds, by the clock of who approved. */
    approvedAtMs: z.int().nonnegative(),
    /** Epoch milliseconds: it holds for what was seen before, by the API server's clock. */
    untilMs: z.int().nonnegative(),
    /** As whoever approved calls themselves; what proves it is the signature. */
    by: WrittenText,
    reason: WrittenText,
  })
  .refine(
    ({ approvedAtMs, untilMs }) => untilMs > approvedAtMs && untilMs <= approvedAtMs + MAX_APPROVAL_MS,
    {
      error: 'an approval has to end within 30 days',
    },
  );
export type ApprovalRecord = z.infer<typeof ApprovalRecord>;

/** No policy can have this name, and no pause this key. */
const APPROVAL_KEY = '!approval ';

/** Under which name it is approved, among those of its kind. */
export function approvedName(what: Approved): string {
  switch (what.kind) {
    case 'owner':
      return what.uid;
    case 'owner-kind':
      return what.ownerKind;
    case 'held-kind':
      return what.heldKind;
    case 'rule':
      return `${what.rule}/${what.ofKind}`;
    case 'pods-of-missing-nodes':
      return 'Pod';
  }
}

/** The record key of an approval: approving the same again replaces it. */
export const approvalKey = ({ cluster, what }: Pick<ApprovalRecord, 'cluster' | 'what'>): string =>
  `${APPROVAL_KEY}${JSON.stringify([cluster, what.kind, approvedName(what)])}`;

export const isApprovalKey = (key: string): boolean => key.startsWith(APPROVAL_KEY);

const KeyParts = z.tuple([ClusterName, ApprovedKind, z.string()]);

/** The cluster of the approvals that can lie under this key; `null` where none can. */
export function clusterOfApprovalKey(key: string): string | null {
  if (!isApprovalKey(key)) return null;
  try {
    return KeyParts.safeParse(JSON.parse(key.slice(APPROVAL_KEY.length))).data?.[0] ?? null;
  } catch {
    return null;
  }
}

/** Those that hold in a cluster at this time, in epoch milliseconds by the API server's clock. */
export const approvalsInForce = (
  approvals: readonly ApprovalRecord[],
  { cluster, clusterInstance }: ClusterIdentity,
  atMs: number,
): readonly ApprovalRecord[] =>
  approvals.filter(
    (each) => each.cluster === cluster && each.clusterInstance === clusterInstance && atMs < each.untilMs,
  );
