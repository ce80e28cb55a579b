import { z } from 'zod';
import { compareText } from '../../schemas/events/text-order.ts';
import { type Approved, approvedName, MAX_APPROVED_OBJECTS } from '../../schemas/policy/approval.ts';
import type { HeldObject } from './held-objects.ts';

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
const HeldKindFacts = z.object({ kind: z.string() });
const Why = z.object({ why: z.string() });

interface Reason {
  readonly what: Approved | null;
  readonly why: string;
}

/** Held objects together by what would let them go. */
export function holdsOf(held: readonly HeldObject[]): readonly Hold[] {
  const groups = Map.groupBy(together(held.map(withReason)), ({ object, reason }) =>
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

/** By the rule that holds. */
const REASONS: Readonly<Record<string, ReasonOf>> = {
  S1: (object) => wideOwner(object) ?? wideKind(object),
  S2: ({ uid, verdict: { facts } }) => {
    const heldKind = HeldKindFacts.safeParse(facts).data?.kind;
    return heldKind === undefined
      ? null
      : { why: 'of a kind that is held', what: { kind: 'held-kind', heldKind, uids: [uid] } };
  },
  S3: ({ verdict: { facts } }) => {
    const owner = OwnerFacts.safeParse(facts).data;
    return { why: Why.safeParse(facts).data?.why ?? '', what: owner === undefined ? null : ofOwner(owner) };
  },
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

const reasonOf = (object: HeldObject): Reason => REASONS[object.verdict.rule]?.(object) ?? UNKNOWN;

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
function together(all: readonly Reasoned[]): readonly Reasoned[] {
  const doubtful = all.filter(({ object, reason }) => object.verdict.rule === 'S3' && reason.what !== null);
  const owners = Map.groupBy(doubtful, ({ reason: { what } }) =>
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
    what: group.map(({ reason }) => reason.what).reduce(widest, null),
    objects: group.length,
    sinceMs: Math.min(...group.map(({ object }) => object.sinceMs)),
  };
}

/** All of them: the widest that was told, or each object. */
function widest(one: Approved | null, other: Approved | null): Approved | null {
  if (one === null || other === null) return one ?? other;
  if (one.kind === 'held-kind' && other.kind === 'held-kind')
    return { ...one, uids: [...new Set([...one.uids, ...other.uids])].slice(0, MAX_APPROVED_OBJECTS) };
  if (one.kind === 'held-kind' || other.kind === 'held-kind') return one;
  return other.objects > one.objects ? other : one;
}

/** How many objects its approval lets go. */
export const widthOf = (what: Approved): number =>
  what.kind === 'held-kind' ? what.uids.length : what.objects;
