import { conclude } from '../../../packages/deciders/graph-gc/rules/conclude.ts';
import type { ClusterRule, Outcome } from '../../../packages/deciders/graph-gc/rules/outcome.ts';
import { type OwnershipSettings, settingsOf } from '../../../packages/deciders/graph-gc/rules/settings.ts';
import {
  type ApiOwnerReference,
  CREATED_FORM,
  type Created,
  type ObjectMetadata,
} from '../../../packages/kube-api/metadata.ts';
import { hasPath } from '../../../packages/kube-api/resources.ts';
import {
  type GraphObject,
  sameReferences,
  toldReference,
} from '../../../packages/owner-graph/graph-object.ts';
import { groupOf } from '../../../packages/owner-graph/kinds.ts';
import { DANGLING } from '../../../packages/owner-graph/reference-states.ts';
import type { OwnershipAction } from '../../../schemas/events/cluster-command.ts';
import {
  type ClusterObject,
  FOREGROUND,
  kindName,
  ORPHAN,
  type ServedKind,
} from '../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectRefusal, OwnerFound } from '../../../schemas/events/cluster-result.ts';
import {
  MAX_CANDIDATE_REFERENCES,
  type OwnershipCandidate,
  type OwnershipReference,
  type ReferenceState,
} from '../../../schemas/events/ownership.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import { type Asked, type Judgement, liveObject, type OrphanedOwners } from './judge.ts';
import { definitionName, type Place } from './kinds.ts';
import type { LiveReads } from './live-reads.ts';
import { cut, later, type OwnerEvidence, refused, type Stop, settled } from './order.ts';
import type { ClusterIndex } from './ports.ts';
import { kindKey, ownerKey } from './rates.ts';

/** What an attempt goes by: the object as it is, and what is known of it beside. */
interface Look {
  readonly kind: ServedKind;
  readonly object: ObjectMetadata;
  readonly reads: LiveReads;
  /** `null` where the process has no graph of the cluster. */
  readonly index: ClusterIndex | null;
  readonly orphaned: OrphanedOwners;
  /** How much this executor deleted in the past hour for an owner, and for all owners of a kind, or has in hand beside this object. */
  readonly removed: {
    readonly forOwner: (uid: string) => number;
    readonly forKind: (kind: string) => number;
  };
  readonly profile: ClusterPolicy['profile'];
  /** When the object was created, in epoch milliseconds; `null` where it does not say. */
  readonly createdAtMs: () => Promise<number | null | Stop>;
}

/** Judges what is said to follow from the owners of an object. */
export async function judgeOwnership(asked: Asked, act: OwnershipAction): Promise<Judgement | Stop> {
  const { kind, reads, isFresh } = asked;
  const index = asked.index === null ? null : (asked.index.current() ?? 'not-ready');
  if (index === 'not-ready') return later('api-server-error', 'the owner graph is not read yet');
  const object = await objectOf(asked, isFresh ? null : index);
  if ('kind' in object) return object;
  const { orphaned, record } = asked;
  const { profile } = record.policy;
  const createdAtMs = createdAt(asked, object);
  const look = { kind, object, reads, index, orphaned, profile, createdAtMs, removed: removedBefore(asked) };
  return conclusionOf(look, asked, act);
}

async function conclusionOf(
  look: Look,
  { order, record, approvals }: Asked,
  act: OwnershipAction,
): Promise<Judgement | Stop> {
  const { kind, object, index } = look;
  const facts = await liveFacts(look);
  if ('kind' in facts) return facts;
  order.owners = facts.owners;
  const { rule } = order.item;
  const action = ownJudgement(
    { act, rule },
    {
      facts,
      settings: settingsOf(record.policy, approvals),
      isAlone: index === null,
      wentBack: index?.wentBack ?? false,
      isUnchanged: object.resourceVersion === order.item.object.resourceVersion,
    },
  );
  if ('kind' in action) return action;
  const countsFor = leavingOwners(facts.candidates[0]?.references ?? []).flatMap((owner) => [
    ownerKey(owner.uid),
    kindKey(owner.kind),
  ]);
  return { kind, object, action, record, approvals, countsFor, within: null };
}

/** From the graph where there is one: if it is behind, the API server refuses the deed, and the object is read. */
async function objectOf(asked: Asked, index: ClusterIndex | null): Promise<ObjectMetadata | Created | Stop> {
  const { order, kind, clock, nowMs } = asked;
  const { object: ordered } = order.item;
  const known = clock.at(nowMs()) === null ? undefined : index?.object(ordered.uid);
  if (known !== undefined && isWhere(known, ordered, kind)) return metadataOf(known);
  return liveObject(asked, CREATED_FORM);
}

/** The graph does not know it: an object that comes from there is read for it, once. */
function createdAt(asked: Asked, object: ObjectMetadata | Created): Look['createdAtMs'] {
  if ('createdAtMs' in object) return async () => object.createdAtMs;
  let reading: Promise<Created | Stop> | null = null;
  return async () => {
    reading ??= liveObject(asked, CREATED_FORM);
    const live = await reading;
    return 'kind' in live ? live : live.createdAtMs;
  };
}

const removedBefore = ({ removals, order, nowMs }: Asked): Look['removed'] => ({
  forOwner: (uid) => removals.beside(ownerKey(uid), order.uid, nowMs()),
  forKind: (kind) => removals.beside(kindKey(kind), order.uid, nowMs()),
});

/** As it was read by the agent. The graph changes its objects in place. */
const metadataOf = ({ kind: _, references, ...object }: GraphObject): ObjectMetadata => ({
  ...object,
  ownerReferences: references,
});

const isWhere = (
  known: Pick<ClusterObject, 'namespace' | 'name'>,
  ordered: ClusterObject,
  { namespaced }: ServedKind,
): boolean => known.name === ordered.name && (!namespaced || known.namespace === ordered.namespace);

interface LiveFacts {
  /** More than one where the facts leave several things possible: what is to be done must follow from each. */
  readonly candidates: readonly OwnershipCandidate[];
  readonly owners: readonly OwnerEvidence[];
  /** By the uids of owners: why nobody knows that they went by themselves (cluster S3). */
  readonly doubts: ReadonlyMap<string, string>;
}

/** The object and its owners as the API server has them; nothing that an order says is among it. */
async function liveFacts(look: Look): Promise<LiveFacts | Stop> {
  const { object, index } = look;
  if (object.ownerReferences.length > MAX_CANDIDATE_REFERENCES)
    return refused('kept-by-own-judgement', `it has ${object.ownerReferences.length} owner references`);
  return index === null ? factsAlone(look) : factsWithIndex(look, index);
}

async function factsWithIndex(look: Look, index: ClusterIndex): Promise<LiveFacts | Stop> {
  const { object, kind } = look;
  const known = index.candidate(object.uid);
  if (known === null) return refused('kept-by-own-judgement', 'nothing calls for it, by the owner graph');
  const told = object.ownerReferences.map(toldReference);
  if (kindName(known.object) !== kindName(kind) || !sameReferences(known.references, told))
    return refused('changed', 'the owner graph has not followed yet what changed in it');
  const confirmed = await confirmedOwners(look, (reference, position) => {
    const stated = known.references[position];
    return stated ?? statedAs(reference, 'pending', null);
  });
  if ('kind' in confirmed) return confirmed;
  const references = known.references.map(asConfirmed(confirmed));
  const isInKept = known.object.keptBy === 'namespace' || (await keepsItsNamespace(look));
  if (typeof isInKept !== 'boolean') return isInKept;
  const candidate = {
    ...known,
    object: { ...objectFacts(look), keptBy: keptBy(object, isInKept) },
    references,
  };
  return { candidates: [candidate], owners: confirmed.owners, doubts: confirmed.doubts };
}

/** Of an object that is to be deleted by an order. The graph may not know its namespace, or be behind. */
const keepsItsNamespace = async ({ kind, object, reads }: Look): Promise<boolean | Stop> =>
  kind.namespaced && object.deletionTimestamp === null ? reads.keepsNamespace(object.namespace) : false;

const keptBy = ({ keep }: ObjectMetadata, isInKept: boolean): OwnershipCandidate['object']['keptBy'] => {
  if (keep) return 'object';
  return isInKept ? 'namespace' : null;
};

const objectFacts = ({ kind, object }: Look): Omit<OwnershipCandidate['object'], 'keptBy'> => ({
  ...kind,
  namespace: kind.namespaced ? object.namespace : '',
  name: object.name,
  uid: object.uid,
  resourceVersion: object.resourceVersion,
  deletionTimestamp: object.deletionTimestamp,
  finalizers: [...object.finalizers],
});

const statedAs = (
  reference: ApiOwnerReference,
  state: ReferenceState,
  resolved: ServedKind | null,
): OwnershipReference => ({ ...toldReference(reference), state, resolved, gone: null });

/**
 * From reads alone. How an owner went that no order let go, whether its uid lies elsewhere, and who lists the object, nobody knows
 * then; of the last all that matters is tried.
 */
async function factsAlone(look: Look): Promise<LiveFacts | Stop> {
  const { object, kind, reads, orphaned } = look;
  const stated = new Map<ApiOwnerReference, OwnershipReference>();
  for (const reference of object.ownerReferences) {
    const owner = await reads.kinds.named(reference.apiVersion, reference.kind);
    const gone = orphaned.has(reference.uid) ? ORPHANED : null;
    stated.set(reference, { ...statedAs(reference, stateByKind(owner, kind), owner), gone });
  }
  const confirmed = await confirmedOwners(
    look,
    (reference) => stated.get(reference) ?? statedAs(reference, 'pending', null),
  );
  if ('kind' in confirmed) return confirmed;
  const isInKept = await keepsItsNamespace(look);
  if (typeof isInKept !== 'boolean') return isInKept;
  const references = object.ownerReferences
    .map((reference) => stated.get(reference) ?? statedAs(reference, 'pending', null))
    .map(asConfirmed(confirmed));
  const candidate = {
    object: { ...objectFacts(look), keptBy: keptBy(object, isInKept) },
    references,
    cascades: removedCascades(references, look),
  } as const;
  return {
    candidates: possibleDependents(object).map((dependents) => ({ ...candidate, dependents })),
    owners: confirmed.owners,
    doubts: confirmed.doubts,
  };
}

const stateByKind = (owner: ServedKind | null, { namespaced }: ServedKind): ReferenceState => {
  if (owner === null) return 'unresolved';
  return !namespaced && owner.namespaced ? 'scope' : 'unseen';
};

const ORPHANED = { how: 'watched', orphaned: true } as const;

const NOBODY = { count: 0, blocking: 0, oneWaits: false } as const;
/** Somebody lists it, and holds it back; and that one waits itself. */
const SOMEBODY = [
  { count: 1, blocking: 1, oneWaits: false },
  { count: 1, blocking: 1, oneWaits: true },
] as const;

/**
 * Of an object that is being deleted and waits for dependents, that none is left is the decision's word: it was to go anyway, and
 * those that it leaves are spared where they are to be (`OrphanedOwners`).
 */
const possibleDependents = ({
  deletionTimestamp,
}: ObjectMetadata): readonly OwnershipCandidate['dependents'][] =>
  deletionTimestamp === null ? [NOBODY, ...SOMEBODY] : [NOBODY];

/** What went of a cascade stands for its width (cluster S1). */
const removedCascades = (
  references: readonly OwnershipReference[],
  { removed }: Look,
): OwnershipCandidate['cascades'] =>
  leavingOwners(references).map(({ uid, kind }) => ({
    ownerUid: uid,
    ownerKind: kind,
    objects: removed.forOwner(uid) + 1,
    ofKind: removed.forKind(kind) + 1,
    within: null,
  }));

/** Owners that let an object go, each with its kind as decisions name it. */
const leavingOwners = (
  references: readonly OwnershipReference[],
): readonly { readonly uid: string; readonly kind: string }[] =>
  references
    .filter(({ state }) => state === 'waiting' || DANGLING.has(state))
    .map(({ uid, kind, resolved }) => ({ uid, kind: resolved === null ? kind : kindName(resolved) }));

type Stated = Pick<OwnershipReference, 'state' | 'resolved' | 'gone'>;

interface ConfirmedOwners {
  /** By the place of the reference. */
  readonly states: readonly ReferenceState[];
  readonly owners: readonly OwnerEvidence[];
  /** By their uids: why nobody knows that they went by themselves. */
  readonly doubts: ReadonlyMap<string, string>;
}

interface ConfirmedOwner {
  readonly state: ReferenceState;
  readonly found: OwnerFound | null;
  /** `null` where there is none. */
  readonly doubt: string | null;
}

/** A reference as its owner was found. Of one whose definition says nothing of how it went, it counts that it went with that (cluster S3). */
const asConfirmed =
  ({ states, doubts }: ConfirmedOwners) =>
  (reference: OwnershipReference, position: number): OwnershipReference => {
    const { uid, gone } = reference;
    const isDoubted = doubts.has(uid);
    return {
      ...reference,
      state: states[position] ?? 'pending',
      gone: isDoubted ? { how: 'kind-going', orphaned: gone?.orphaned ?? false } : gone,
    };
  };

async function confirmedOwners(
  look: Look,
  statedOf: (reference: ApiOwnerReference, position: number) => Stated,
): Promise<ConfirmedOwners | Stop> {
  const states: ReferenceState[] = [];
  const owners: OwnerEvidence[] = [];
  const doubts = new Map<string, string>();
  for (const [position, reference] of look.object.ownerReferences.entries()) {
    const confirmed = await confirmedOwner(look, reference, statedOf(reference, position));
    if ('kind' in confirmed) return confirmed;
    states.push(confirmed.state);
    if (confirmed.found !== null) owners.push({ uid: reference.uid, found: confirmed.found });
    if (confirmed.doubt !== null) doubts.set(reference.uid, confirmed.doubt);
  }
  return { states, owners, doubts };
}

/** An owner is asked for where the graph, or discovery, says that something follows from it. */
async function confirmedOwner(
  look: Look,
  reference: ApiOwnerReference,
  stated: Stated,
): Promise<ConfirmedOwner | Stop> {
  if (!matters(stated, look)) return { state: stated.state, found: null, doubt: null };
  const place = await placeOf(reference, stated, look);
  if (place === null) return withdrawnOwner(look, reference, stated);
  const found = await look.reads.owner(place, reference.uid);
  if (typeof found !== 'string') return found;
  const state = CONFIRMED[found](stated.state);
  const doubt = found === 'absent' && DANGLING.has(state) ? await doubtOf(place.kind, look) : null;
  return doubt === null || typeof doubt === 'string' ? { state, found, doubt } : doubt;
}

const UNRESOLVED: ConfirmedOwner = { state: 'unresolved', found: null, doubt: null };

/**
 * An owner whose kind is not served is absent only if the owner graph of this process saw it go and its kind withdrawn, and reads of
 * this moment prove the same. In profile `fleetgc` its dependents are held even so (cluster S17).
 */
async function withdrawnOwner(
  { kind: ofDependent, object, reads, index, profile }: Look,
  { apiVersion, kind, name, uid }: ApiOwnerReference,
  { state, resolved: owner }: Stated,
): Promise<ConfirmedOwner | Stop> {
  if (state !== 'gone' || owner === null || index?.isGoneWithItsKind(uid) !== true) return UNRESOLVED;
  if (owner.kind !== kind || owner.group !== groupOf(apiVersion)) return UNRESOLVED;
  const named = { namespace: owner.namespaced ? object.namespace : '', name };
  if ((!ofDependent.namespaced && owner.namespaced) || !hasPath(owner, named)) return UNRESOLVED;
  const objection = await reads.objectionToWithdrawn({ kind: owner, named });
  if (objection !== null) return objection;
  const doubt = `the owner is not there, and its definition ${definitionName(owner)} was deleted`;
  return { state, found: 'absent', doubt: profile === 'kubernetes' ? null : doubt };
}

/**
 * A definition takes all objects of its kind along, so absence while it is being deleted, or under one that is not older than the object,
 * does not say that the owner was deleted by itself. What is being deleted goes anyway.
 */
async function doubtOf(owner: ServedKind, look: Look): Promise<string | null | Stop> {
  if (look.profile === 'kubernetes' || look.object.deletionTimestamp !== null) return null;
  const definition = await look.reads.definitionOf(owner);
  if (definition === 'none') return null;
  if ('kind' in definition) return definition;
  const name = definitionName(owner);
  if (definition.isGoing) return `the owner is not there, and its definition ${name} is being deleted`;
  const createdAtMs = await look.createdAtMs();
  if (createdAtMs !== null && typeof createdAtMs !== 'number') return createdAtMs;
  const { createdAtMs: definedAtMs } = definition;
  return createdAtMs !== null && definedAtMs !== null && definedAtMs < createdAtMs
    ? null
    : `the owner is not there, and its definition ${name} (${timeWords(definedAtMs)}) is not older than the object (${timeWords(createdAtMs)}): it may have gone with an earlier one`;
}

const timeWords = (atMs: number | null): string =>
  atMs === null ? 'of an unknown time' : new Date(atMs).toISOString();

/** With these nothing is done, whatever the owner is. */
const UNDECIDED: ReadonlySet<ReferenceState> = new Set(['scope', 'unresolved', 'pending']);

/** An object that is being deleted waits for its dependents, whatever its owners are, unless one of them orphans. */
const matters = ({ state }: Stated, { object, index }: Look): boolean =>
  !UNDECIDED.has(state) && (object.deletionTimestamp === null || index === null || state === 'orphaning');

/** What was said of an owner, and what it was found to be. Where they do not agree, it stays open until they do. */
const CONFIRMED: Readonly<Record<OwnerFound, (said: ReferenceState) => ReferenceState>> = {
  absent: (said) => (DANGLING.has(said) ? said : 'pending'),
  waiting: () => 'waiting',
  orphaning: () => 'orphaning',
  there: () => 'held',
};

/** Where the owner is asked for; `null` where no such place can be. */
async function placeOf(
  { apiVersion, kind, name, uid }: ApiOwnerReference,
  { state }: Stated,
  { kind: ofDependent, object, reads, index }: Look,
): Promise<Place | null> {
  // An owner that orphans is left by all that list its uid, however they describe it (cluster E1).
  const known = state === 'orphaning' ? index?.object(uid) : undefined;
  if (known !== undefined) return { kind: known.kind, named: known };
  const owner = await reads.kinds.named(apiVersion, kind);
  if (owner === null || (!ofDependent.namespaced && owner.namespaced)) return null;
  const named = { namespace: owner.namespaced ? object.namespace : '', name };
  return hasPath(owner, named) ? { kind: owner, named } : null;
}

/** What an order says is to be done, and by which rule. */
interface Ordered {
  readonly act: OwnershipAction;
  readonly rule: string;
}

interface Judged {
  readonly facts: LiveFacts;
  readonly settings: OwnershipSettings;
  readonly wentBack: boolean;
  /** The object is in the state that the order names. */
  readonly isUnchanged: boolean;
  /** Without the owner graph nobody can tell who lists the object, nor how its owners went. */
  readonly isAlone: boolean;
}

/**
 * What is done: what the order asks for, if it follows from the live facts by the rules of graph-gc under the policy in force. An
 * order chooses only among what may go.
 */
function ownJudgement({ act, rule }: Ordered, judged: Judged): OwnershipAction | Stop {
  const { facts, settings, wentBack, isUnchanged } = judged;
  if (act.action === 'finish') {
    const objection = objectionToFinish(act.finalizer, judged);
    if (objection !== null) return objection;
  }
  const outcomes = facts.candidates.map((candidate) => conclude(candidate, settings, { wentBack }));
  const kept = outcomes.find((outcome) => outcome.kind !== 'act');
  if (kept !== undefined) return refusedBy(kept, judged);
  if (act.action === 'delete' && isLeftByOrphaned(judged))
    return refused('kept-by-own-judgement', 'an owner of it was to be let go so that its dependents stay');
  if (outcomes.some((outcome) => outcome.kind === 'act' && allows(outcome, { act, rule }, judged)))
    return act;
  return refused(isUnchanged ? 'kept-by-own-judgement' : 'changed', `by ${wordsOf(outcomes)}, not this`);
}

/** Alone in each profile: whoever let the owner go too early may wait for another policy (cluster S6). */
const isLeftByOrphaned = ({ facts, isAlone }: Judged): boolean =>
  isAlone &&
  facts.candidates.some(({ references }) =>
    references.some(({ state, gone }) => DANGLING.has(state) && gone?.orphaned === true),
  );

function objectionToFinish(finalizer: string, { facts, settings, isAlone }: Judged): Stop | null {
  if (finalizer !== ORPHAN && finalizer !== FOREGROUND)
    return refused('forbidden-finalizer', `no order takes the finalizer ${finalizer} away`);
  // Who let an owner go too early would have its dependents after it: only profile `fleetgc` spares them then (cluster S6).
  if (isAlone && finalizer === ORPHAN && settings.profile === 'kubernetes')
    return refused(
      'kept-by-own-judgement',
      'in profile kubernetes an owner that orphans is let go only beside an agent, which knows its dependents',
    );
  // One that stayed would not be known as orphaning any more, and its dependents would go with it later (cluster C13).
  if (isAlone && finalizer === ORPHAN && hasOtherFinalizers(facts))
    return refused(
      'kept-by-own-judgement',
      'it has other finalizers too: without an agent an owner that orphans is let go once that is its last one',
    );
  return null;
}

const hasOtherFinalizers = ({ candidates }: LiveFacts): boolean =>
  candidates.some(({ object }) => object.finalizers.some((each) => each !== ORPHAN));

type Acts = Extract<Outcome, { kind: 'act' }>;

/**
 * Alone, an object that would go may lose the references to owners that are absent in place of that: how they went only an agent
 * knows (cluster S6). By the rule that an owner is let go, the journal knows whether its dependents are to stay.
 */
function allows(own: Acts, { act, rule }: Ordered, { facts, settings, isAlone }: Judged): boolean {
  if (act.action === 'finish') return covers(own.act, act) && own.rule === rule;
  if (covers(own.act, act)) return true;
  const mayBeLeft = settings.profile === 'fleetgc' && (own.act.action === 'delete' || own.rule === 'S6');
  if (!isAlone || !mayBeLeft || act.action !== 'drop-references') return false;
  const absent = facts.owners.filter(({ found }) => found === 'absent').map(({ uid }) => uid);
  return act.ownerUids.every((uid) => absent.includes(uid));
}

/** Whether one action is the other, or a part of it: losing fewer references is. */
function covers(own: OwnershipAction, ordered: OwnershipAction): boolean {
  switch (own.action) {
    case 'delete':
      return (
        ordered.action === 'delete' &&
        ordered.propagation === own.propagation &&
        ordered.unblock === own.unblock
      );
    case 'drop-references':
      return (
        ordered.action === 'drop-references' && ordered.ownerUids.every((uid) => own.ownerUids.includes(uid))
      );
    case 'finish':
      return ordered.action === 'finish' && ordered.finalizer === own.finalizer;
  }
}

/** What says more than that the object stays. */
const REASONS: Readonly<Partial<Record<ClusterRule, ClusterObjectRefusal>>> = {
  S5: 'kept-by-policy',
  D9: 'owner-unknown',
  D10: 'owner-there',
};

function refusedBy(kept: Outcome, { facts: { doubts }, isUnchanged }: Judged): Stop {
  const { kind, rule, facts } = kept;
  const doubt = kind === 'hold' ? doubts.get(String(facts.ownerUid)) : undefined;
  if (doubt !== undefined) return heldInDoubt(rule, { ...facts, why: doubt });
  const message = `${kind} by ${factsText(rule, facts)}`;
  if (kind === 'hold') return refused('not-approved', message);
  return refused(REASONS[rule] ?? (isUnchanged ? 'kept-by-own-judgement' : 'changed'), message);
}

/** The decision did not know it, so people learn of it from here (cluster S3, S7). */
const heldInDoubt = (rule: ClusterRule, facts: Outcome['facts']): Stop =>
  settled({
    outcome: 'refused',
    reason: 'not-approved',
    message: cut(`hold by ${factsText(rule, facts)}; fleetgc held prints the command that approves it`),
    hold: { rule, facts },
  });

const factsText = (rule: ClusterRule, facts: Outcome['facts']): string => {
  const told = Object.entries(facts).map(([name, value]) => `${name}: ${String(value)}`);
  return `${rule}${told.length === 0 ? '' : ` (${told.join(', ')})`}`;
};

const wordsOf = (outcomes: readonly Outcome[]): string =>
  [
    ...new Set(
      outcomes.map((outcome) =>
        outcome.kind === 'act' ? `${outcome.rule} ${actionWords(outcome.act)}` : outcome.rule,
      ),
    ),
  ].join(' or ');

function actionWords(action: OwnershipAction): string {
  switch (action.action) {
    case 'delete':
      return `delete ${action.propagation}${action.unblock ? ' after unblocking' : ''}`;
    case 'drop-references':
      return `drop references to ${action.ownerUids.length} owners`;
    case 'finish':
      return `finish ${action.finalizer}`;
  }
}
