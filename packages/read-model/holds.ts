import { z } from 'zod';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import {
  type ApprovalRecord,
  type Approved,
  type ApprovedObject,
  approvedName,
  MAX_APPROVAL_MS,
  MAX_APPROVED_OBJECTS,
} from '../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../schemas/policy/own-rule.ts';
import { contentHash } from '../canonical/ids.ts';
import { HOUR_MS } from '../process/durations.ts';
import { FleetGcError } from '../process/errors.ts';
import { counted } from '../text/counted.ts';
import { nearestName } from '../text/nearest-name.ts';
import { shellWord } from '../text/shell-word.ts';
import { timeText } from '../text/time-text.ts';
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
const groupName = (what: Approved): string =>
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

const keyOf = ({ uid, namespace, name }: ApprovedObject): string => JSON.stringify([uid, namespace, name]);

/** Each once, as many as one approval names; those that are left stay held. */
const firstOf = <Item>(items: readonly Item[], key: (item: Item) => string): Item[] =>
  [...new Map(items.map((item) => [key(item), item])).values()].slice(0, MAX_APPROVED_OBJECTS);

/** How many objects its approval lets go. */
export const widthOf = (what: Approved): number =>
  what.kind === 'held-kind' ? what.named.length : what.objects;

/** `apps/Deployment default/web (1f2e…)` */
const shownText = (kind: string, { uid, namespace, name }: ApprovedObject): string =>
  `${kind} ${namespace === '' ? name : `${namespace}/${name}`} (${uid})`;

/** How long an approval is in force where nobody says more. */
const USUAL_HOURS = 1;

/** Of a uid; an approval takes it whole. */
const SHORTEST_BEGINNING = 6;

/** What `fleetgc approve` was asked for. */
export interface ApprovalRequest {
  readonly cluster: string;
  /** The uid of an owner, a kind, or a rule and a kind. */
  readonly name: string;
  /** Where a name means several. */
  readonly as: Approved['kind'] | null;
  /** How many objects people saw. */
  readonly objects: number | null;
  /** What people saw, as `shownMark` has it. */
  readonly shown: string | null;
}

/** Of a SHA-256: whoever would make other names with the same beginning has to try a million million of them. */
const MARK_LENGTH = 16;

/** Stands for what a person saw of it: any other object, owner, node or rule gives another one, and another width the same. */
export const shownMark = (what: Approved): string =>
  contentHash([what.kind, ...shownParts(what)]).slice(0, MARK_LENGTH);

function shownParts(what: Approved): readonly string[] {
  switch (what.kind) {
    case 'owner':
      return [what.ownerKind, keyOf(what)];
    case 'owner-kind':
      return [what.ownerKind, ...what.owners.map(keyOf).toSorted()];
    case 'held-kind':
      return [what.heldKind, ...what.named.map(keyOf).toSorted()];
    case 'rule':
      return [what.rule, what.ruleSha256, what.ofKind];
    case 'pods-of-missing-nodes':
      return what.nodes.toSorted();
  }
}

/** What is held by that name. Throws `NOT_FOUND`, `AMBIGUOUS` and `HOLD_GREW`. */
export function heldByName(holds: readonly Hold[], request: ApprovalRequest): Approved {
  const { cluster, name, as, objects, shown } = request;
  const all = holds.flatMap(({ what }) => what ?? []);
  const named = all.filter((what) => approvedName(what) === name && (as === null || what.kind === as));
  const kinds = [...new Set(named.map(({ kind }) => kind))];
  if (kinds.length > 1)
    throw new FleetGcError('AMBIGUOUS', `${name} means several: say --as ${kinds.join(' or --as ')}`);
  const what = named.toSorted((a, b) => widthOf(b) - widthOf(a))[0];
  if (what === undefined) throw notHeld(cluster, name, all);
  const owners = new Set(named.map(groupName));
  if (owners.size > 1)
    throw new FleetGcError(
      'AMBIGUOUS',
      `Objects of cluster ${cluster} name different owners under the uid ${name}: ${[...owners].join(', ')}. At most one of them existed. Nothing is approved; correct or delete the objects that name a wrong owner`,
    );
  if (objects !== null && widthOf(what) > objects)
    throw new FleetGcError(
      'HOLD_GREW',
      `${widthOf(what)} objects are held now, and ${objects} were to be approved: more came since they were counted, or the number is a typing error. Nothing is approved; run fleetgc held again`,
    );
  if (shown !== null && shown !== shownMark(what))
    throw new FleetGcError(
      'HOLD_GREW',
      `${shown} does not stand for what is held now, which is ${approvedText(what)}: it changed since it was shown, or the value is a typing error. Nothing is approved; run fleetgc held again`,
    );
  return what;
}

function notHeld(cluster: string, name: string, all: readonly Approved[]): FleetGcError {
  const names = [...new Set(all.map(approvedName))];
  const begun = name.length < SHORTEST_BEGINNING ? undefined : names.find((each) => each.startsWith(name));
  const meant = begun ?? nearestName(name, names);
  return new FleetGcError(
    'NOT_FOUND',
    names.length === 0
      ? `nothing is held in cluster ${cluster}, so nothing of the name ${name}: nothing is approved. If the cluster has another name, fleetgc held lists what is held in each`
      : `nothing of the name ${name} is held in cluster ${cluster}; held are: ${listText(names)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Nothing is approved; fleetgc held lists what is held`,
  );
}

/** The command that approves a hold, to be typed in a shell; `null` where it ends by itself. */
export function approveCommand(cluster: string, { what }: Hold, policy: ClusterPolicy | null): string | null {
  if (what === null) return null;
  const as = what.kind === 'owner' ? [] : ['--as', what.kind];
  const words = ['fleetgc approve', shellWord(cluster), shellWord(approvedName(what)), ...as];
  const needed = neededHours(what, policy);
  const duration = needed <= USUAL_HOURS ? [] : [`--for ${Math.min(needed, MAX_APPROVAL_MS / HOUR_MS)}h`];
  return [...words, `--objects ${widthOf(what)}`, `--shown ${shownMark(what)}`, ...duration].join(' ');
}

/** Until all of it has gone, where the policy lets only so many go in an hour (cluster S10). */
export function neededHours(what: Approved, policy: ClusterPolicy | null): number {
  const ofRule = (name: string): OwnRule | undefined => policy?.rules?.find((rule) => rule.name === name);
  const anHour = what.kind === 'rule' ? ofRule(what.rule) : policy?.limits;
  return anHour === undefined ? USUAL_HOURS : Math.ceil(widthOf(what) / anHour.removalsPerHour);
}

/** In words: `the owner apps/Deployment default/web (1f2e…)`. */
export function approvedText(what: Approved): string {
  switch (what.kind) {
    case 'owner':
      return `owner ${shownText(what.ownerKind, what)}`;
    case 'owner-kind':
      return `owners of kind ${what.ownerKind}: ${listText(what.owners.map(nameText))}`;
    case 'held-kind':
      return `objects of kind ${what.heldKind}: ${listText(what.named.map(nameText))}`;
    case 'rule':
      return `rule ${what.rule}, objects of kind ${what.ofKind} that were over by ${timeText(what.overByMs)}`;
    case 'pods-of-missing-nodes':
      return `pods of missing nodes: ${listText(what.nodes)}`;
  }
}

/** In words: what it lets go, where, how much, and until when. */
export const approvalText = ({ what, cluster, untilMs }: ApprovalRecord): string =>
  `${approvedText(what)} in cluster ${cluster}, ${counted(widthOf(what), 'object')}, until ${timeText(untilMs)}`;

/** Of so many each is named; the machine formats have all of them. */
const MOST_NAMED = 10;

const nameText = ({ namespace, name }: ApprovedObject): string =>
  namespace === '' ? name : `${namespace}/${name}`;

function listText(names: readonly string[]): string {
  const left = names.length - MOST_NAMED;
  const first = names.slice(0, MOST_NAMED).join(', ');
  return left > 0 ? `${first} and ${left} more` : first;
}
