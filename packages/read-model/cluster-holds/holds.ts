import { z } from 'zod';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import {
  type Approved,
  type ApprovedObject,
  approvedName,
  MAX_APPROVED_OBJECTS,
} from '../../../schemas/policy/approval.ts';
import type { CandidateTopic, HeldObject } from './held-objects.ts';

/** What is held for one reason. */
export interface Hold {
  readonly rule: string;
  /** What approves it; `null` for what ends by itself. */
  readonly what: Approved | null;
  /** Objects that are held now. More may go with them. */
  readonly objects: number;
  /** In words. */
  readonly why: string;
  readonly sinceMs: number;
}

const Owner = z.object({
  ownerUid: z.string(),
  ownerKind: z.string(),
  ownerName: z.string(),
  ownerNamespace: z.string(),
});
/** Of what goes with one owner. */
const OwnerFacts = Owner.extend({ objects: z.number() });
/** Of what goes with all missing owners of a kind. */
const KindFacts = Owner.extend({ ofKind: z.number() });
const NodeFacts = z.object({ nodeName: z.string(), ofKind: z.number() });
const RuleFacts = z.object({
  ownRule: z.string(),
  ruleSha256: z.string(),
  kind: z.string(),
  dueAtMs: z.number(),
  over: z.number(),
  objects: z.number(),
});
const Why = z.object({ why: z.string() });

interface Reason {
  readonly what: Approved | null;
  readonly why: string;
}

/** Held objects together by what would let them go. */
export function holdsOf(held: readonly HeldObject[]): readonly Hold[] {
  const groups = Map.groupBy(ofKinds(held.map(withReason)), ({ object, reason }) =>
    JSON.stringify([object.verdict.rule, reason.what?.kind, reason.what && groupName(reason.what)]),
  );
  return [...groups.values()]
    .map(holdOf)
    .toSorted((a, b) => compareText(a.rule, b.rule) || b.objects - a.objects);
}

/** Two owners that are told under one uid are two: an approval is of one of them. */
export const groupName = (what: Approved): string =>
  what.kind === 'owner' ? shownText(what.ownerKind, what) : approvedName(what);

interface Reasoned {
  readonly object: HeldObject;
  readonly reason: Reason;
}

const withReason = (object: HeldObject): Reasoned => ({ object, reason: reasonOf(object) });

type ReasonOf = (object: HeldObject) => Reason | null;

const ofHeldKind: ReasonOf = ({ object }) => {
  const { uid, namespace, name } = object;
  return {
    why: 'of a kind that is held',
    what: { kind: 'held-kind', heldKind: kindName(object), named: [{ uid, namespace, name }] },
  };
};

const doubtful: ReasonOf = ({ verdict: { facts } }) => {
  const owner = OwnerFacts.safeParse(facts).data;
  const { why = '' } = Why.safeParse(facts).data ?? {};
  return {
    why: why === WITH_ITS_DEFINITION ? `${why}${LEFT_BY_ITS_KIND}` : why,
    what: owner === undefined ? null : ofOwner(owner),
  };
};

/** As graph-gc says it. */
const WITH_ITS_DEFINITION = 'the owner went while its definition was being deleted';
/** An executor apart from the agent did not see the owner go, and nobody can be asked for it (cluster S17). */
const LEFT_BY_ITS_KIND =
  ' (while its kind is not served, "fleetgc cluster run" removes what is approved, and "fleetgc cluster executor" keeps it)';

const ofMissingNodes: ReasonOf = ({ verdict: { facts } }) => {
  const told = NodeFacts.safeParse(facts).data;
  if (told === undefined) return null;
  const { nodeName, ofKind: objects } = told;
  return {
    why: `more than ${facts.limit} pods`,
    what: { kind: 'pods-of-missing-nodes', nodes: [nodeName], objects },
  };
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
    S16: doubtful,
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

const shownOwner = ({ ownerUid, ownerNamespace, ownerName }: z.infer<typeof Owner>): ApprovedObject => ({
  uid: ownerUid,
  namespace: ownerNamespace,
  name: ownerName,
});

const ofOwner = (facts: z.infer<typeof OwnerFacts>): Approved => ({
  kind: 'owner',
  ownerKind: facts.ownerKind,
  ...shownOwner(facts),
  objects: facts.objects,
});

const ofOwners = (facts: z.infer<typeof KindFacts>): Approved => ({
  kind: 'owner-kind',
  ownerKind: facts.ownerKind,
  owners: [shownOwner(facts)],
  objects: facts.ofKind,
});

const isDoubted = ({ verdict: { rule } }: HeldObject): boolean => rule === 'S3' || rule === 'S16';

/** Several doubtful owners of one kind went together, and are approved together (cluster S3, S16). */
function ofKinds(all: readonly Reasoned[]): readonly Reasoned[] {
  const doubted = all.filter(({ object, reason }) => isDoubted(object) && reason.what !== null);
  const byKind = Map.groupBy(doubted, ({ reason: { what } }) =>
    what?.kind === 'owner' ? what.ownerKind : '',
  );
  const ownersOf = new Map([...byKind].map(([kind, of]) => [kind, new Set(of.map(nameOf)).size]));
  return all.map((one) => {
    const { object, reason } = one;
    const ofKind = KindFacts.safeParse(object.verdict.facts).data;
    if (!isDoubted(object) || reason.what === null || ofKind === undefined) return one;
    const owners = ownersOf.get(ofKind.ownerKind) ?? 0;
    return owners < 2 ? one : { object, reason: { why: reason.why, what: ofOwners(ofKind) } };
  });
}

const nameOf = ({ reason: { what } }: Reasoned): string | null => what && groupName(what);

function holdOf(group: readonly Reasoned[]): Hold {
  const [first] = group;
  return {
    rule: first?.object.verdict.rule ?? '',
    why: first?.reason.why ?? '',
    what: allOf(
      group.toSorted((a, b) => a.object.lastMs - b.object.lastMs).flatMap(({ reason }) => reason.what ?? []),
    ),
    objects: new Set(group.map(({ object: { object } }) => object.uid)).size,
    sinceMs: group.reduce((first, { object }) => Math.min(first, object.sinceMs), Number.POSITIVE_INFINITY),
  };
}

/** All of them, those that were told last at the end: each object, owner and node, with what was told last of all at once, or the widest. */
function allOf(whats: readonly Approved[]): Approved | null {
  const last = whats.at(-1);
  switch (last?.kind) {
    case undefined:
      return null;
    case 'held-kind': {
      const named = whats.flatMap((each) => (each.kind === last.kind ? each.named : []));
      return { ...last, named: firstOf(named, keyOf) };
    }
    case 'owner-kind': {
      const owners = whats.flatMap((each) => (each.kind === last.kind ? each.owners : []));
      return { ...last, owners: firstOf(owners, keyOf), objects: widest(whats) };
    }
    case 'pods-of-missing-nodes': {
      const nodes = whats.flatMap((each) => (each.kind === last.kind ? each.nodes : []));
      return { ...last, nodes: firstOf(nodes, (name) => name) };
    }
    case 'rule': {
      const overByMs = whats.flatMap((each) =>
        each.kind === last.kind && each.ruleSha256 === last.ruleSha256 ? each.overByMs : [],
      );
      return { ...last, overByMs: overByMs.reduce((a, b) => Math.max(a, b), last.overByMs) };
    }
    case 'owner':
      return { ...last, objects: widest(whats) };
  }
}

const widest = (whats: readonly Approved[]): number =>
  whats.reduce((most, what) => Math.max(most, widthOf(what)), 0);

export const keyOf = ({ uid, namespace, name }: ApprovedObject): string =>
  JSON.stringify([uid, namespace, name]);

/** Each once, as many as one approval names; those that are left stay held. */
const firstOf = <Item>(items: readonly Item[], key: (item: Item) => string): Item[] =>
  [...new Map(items.map((item) => [key(item), item])).values()].slice(0, MAX_APPROVED_OBJECTS);

/** How many objects its approval lets go. */
export const widthOf = (what: Approved): number =>
  what.kind === 'held-kind' ? what.named.length : what.objects;

/** `apps/Deployment default/web (1f2e…)` */
export const shownText = (kind: string, { uid, namespace, name }: ApprovedObject): string =>
  `${kind} ${namespace === '' ? name : `${namespace}/${name}`} (${uid})`;
