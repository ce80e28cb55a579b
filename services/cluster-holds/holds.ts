import { z } from 'zod';
import { compareText } from '../../schemas/events/text-order.ts';
import { type Approved, approvedName, MAX_APPROVED_OBJECTS } from '../../schemas/policy/approval.ts';
import type { CandidateTopic, HeldObject } from './held-objects.ts';

/** What is held for one reason. */
export interface Hold {
  readonly rule: string;
  /** What approves it; `null` for what ends by itself. */
  readonly what: Approved | null;
  /** Objects that are held now. More may go with them. */
  readonly objects: number;
  /** In words, from the decision. */
  readonly why: string;
  readonly sinceMs: number;
}

const OwnerFacts = z.object({
  ownerUid: z.string(),
  ownerKind: z.string(),
  ownerName: z.string(),
  ownerNamespace: z.string(),
  objects: z.number(),
});
const KindFacts = z.object({ ownerKind: z.string(), ofKind: z.number() });
const RuleFacts = z.object({
  ownRule: z.string(),
  ruleSha256: z.string(),
  kind: z.string(),
  dueAtMs: z.number(),
  over: z.number(),
  objects: z.number(),
});
const HeldKindFacts = z.object({ kind: z.string() });
const Why = z.object({ why: z.string() });

interface Reason {
  readonly what: Approved | null;
  readonly why: string;
}

/** Held objects together by what would let them go. */
export function holdsOf(held: readonly HeldObject[]): readonly Hold[] {
  const groups = Map.groupBy(ofKinds(held.map(withReason)), ({ object, reason }) =>
    JSON.stringify([object.verdict.rule, reason.what?.kind, reason.what && approvedName(reason.what)]),
  );
  return [...groups.values()]
    .map(holdOf)
    .toSorted((a, b) => compareText(a.rule, b.rule) || b.objects - a.objects);
}

interface Reasoned {
  readonly object: HeldObject;
  readonly reason: Reason;
}

const withReason = (object: HeldObject): Reasoned => ({ object, reason: reasonOf(object) });

type ReasonOf = (object: HeldObject) => Reason | null;

const ofHeldKind: ReasonOf = ({ uid, verdict: { facts } }) => {
  const heldKind = HeldKindFacts.safeParse(facts).data?.kind;
  return heldKind === undefined
    ? null
    : { why: 'of a kind that is held', what: { kind: 'held-kind', heldKind, uids: [uid] } };
};

const doubtful: ReasonOf = ({ verdict: { facts } }) => {
  const owner = OwnerFacts.safeParse(facts).data;
  return { why: Why.safeParse(facts).data?.why ?? '', what: owner === undefined ? null : ofOwner(owner) };
};

const ofMissingNodes: ReasonOf = ({ verdict: { facts } }) => {
  const objects = KindFacts.safeParse(facts).data?.ofKind;
  return objects === undefined
    ? null
    : { why: `more than ${facts.limit} pods`, what: { kind: 'pods-of-missing-nodes', objects } };
};

const byRule: ReasonOf = ({ verdict: { facts } }) => {
  const told = RuleFacts.safeParse(facts).data;
  if (told === undefined) return { why: 'nobody counted how much of its kind would go', what: null };
  const { ownRule, ruleSha256, kind, dueAtMs, over, objects } = told;
  return {
    why: `${over} of ${objects} are over`,
    what: { kind: 'rule', rule: ownRule, ruleSha256, ofKind: kind, objects: over, overByMs: dueAtMs },
  };
};

/** By what was told of the object, and the rule that holds it. */
const REASONS: Readonly<Record<CandidateTopic, Readonly<Record<string, ReasonOf>>>> = {
  clusterOwnership: {
    S1: (object) => wideOwner(object) ?? wideKind(object),
    S2: ofHeldKind,
    S3: doubtful,
  },
  clusterPods: { S1: ofMissingNodes, S2: ofHeldKind, S3: doubtful },
  clusterExpiry: { S2: ofHeldKind, S11: byRule },
};

const wideOwner: ReasonOf = ({ verdict: { facts } }) => {
  const owner = OwnerFacts.safeParse(facts).data;
  return owner === undefined ? null : { why: `more than ${facts.limit} objects`, what: ofOwner(owner) };
};

const wideKind: ReasonOf = ({ verdict: { facts } }) => {
  const ofKind = KindFacts.safeParse(facts).data;
  return ofKind === undefined ? null : { why: `more than ${facts.limit} objects`, what: ofOwners(ofKind) };
};

const UNKNOWN: Reason = { why: 'by a rule that this release does not know', what: null };

/** A rule is what the log says, which may be no name of one. */
function reasonOf(object: HeldObject): Reason {
  const { rule } = object.verdict;
  const reasons = REASONS[object.topic];
  return (Object.hasOwn(reasons, rule) ? reasons[rule]?.(object) : null) ?? UNKNOWN;
}

const ofOwner = (facts: z.infer<typeof OwnerFacts>): Approved => ({
  kind: 'owner',
  uid: facts.ownerUid,
  ownerKind: facts.ownerKind,
  namespace: facts.ownerNamespace,
  name: facts.ownerName,
  objects: facts.objects,
});

const ofOwners = ({ ownerKind, ofKind }: z.infer<typeof KindFacts>): Approved => ({
  kind: 'owner-kind',
  ownerKind,
  objects: ofKind,
});

/** Several doubtful owners of one kind went together, and are approved together (cluster S3). */
function ofKinds(all: readonly Reasoned[]): readonly Reasoned[] {
  const doubted = all.filter(({ object, reason }) => object.verdict.rule === 'S3' && reason.what !== null);
  const owners = Map.groupBy(doubted, ({ reason: { what } }) =>
    what?.kind === 'owner' ? what.ownerKind : '',
  );
  return all.map((one) => {
    const { object, reason } = one;
    const ofKind = KindFacts.safeParse(object.verdict.facts).data;
    if (object.verdict.rule !== 'S3' || reason.what === null || ofKind === undefined) return one;
    const uids = new Set(
      owners.get(ofKind.ownerKind)?.map(({ reason: { what } }) => what && approvedName(what)),
    );
    return uids.size < 2 ? one : { object, reason: { why: reason.why, what: ofOwners(ofKind) } };
  });
}

function holdOf(group: readonly Reasoned[]): Hold {
  const [first] = group;
  return {
    rule: first?.object.verdict.rule ?? '',
    why: first?.reason.why ?? '',
    what: group
      .toSorted((a, b) => a.object.lastMs - b.object.lastMs)
      .map(({ reason }) => reason.what)
      .reduce(together, null),
    objects: new Set(group.map(({ object }) => object.uid)).size,
    sinceMs: Math.min(...group.map(({ object }) => object.sinceMs)),
  };
}

/** All of them, those that were told last at the end: each object, what was told last of all at once, or the widest. */
function together(one: Approved | null, other: Approved | null): Approved | null {
  if (one === null || other === null) return one ?? other;
  if (one.kind === 'held-kind' || other.kind === 'held-kind') return ofObjects(one, other);
  if (one.kind === 'rule' && other.kind === 'rule' && one.ruleSha256 === other.ruleSha256)
    return { ...other, overByMs: Math.max(one.overByMs, other.overByMs) };
  if (other.kind === 'rule') return other;
  return other.kind === 'pods-of-missing-nodes' || other.objects > one.objects ? other : one;
}

function ofObjects(one: Approved, other: Approved): Approved {
  if (one.kind !== 'held-kind' || other.kind !== 'held-kind') return one;
  return { ...one, uids: [...new Set([...one.uids, ...other.uids])].slice(0, MAX_APPROVED_OBJECTS) };
}

/** How many objects its approval lets go. */
export const widthOf = (what: Approved): number =>
  what.kind === 'held-kind' ? what.uids.length : what.objects;
