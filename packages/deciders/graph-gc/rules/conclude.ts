import type { Propagation } from '../../../../schemas/events/cluster-command.ts';
import { FOREGROUND, kindName, ORPHAN } from '../../../../schemas/events/cluster-objects.ts';
import {
  type Cascade,
  LEAST_RESTORED,
  type OwnershipCandidate,
  type OwnershipReference,
  type ReferenceState,
} from '../../../../schemas/events/ownership.ts';
import { approvalFacts, type Reason as HoldReason, heldBy, ownerNamed } from '../../../decision/approvals.ts';
import { keptBecause } from '../../../decision/kept-objects.ts';
import { act, type Confirmation, hold, keep, type Outcome } from './outcome.ts';
import type { OwnershipSettings } from './settings.ts';

/** What a decision knows beside the candidate and the policy. */
interface Circumstances {
  /** The cluster was restored to an older state a short time ago. */
  readonly wentBack: boolean;
}

/**
 * What becomes of one candidate, by rule. It believes nothing that the candidate does not say: agents publish more than has to be
 * done, and what nothing calls for is kept.
 */
export function conclude(
  candidate: OwnershipCandidate,
  settings: OwnershipSettings,
  { wentBack }: Circumstances,
): Outcome {
  const owners = ownersOf(candidate, settings);
  const doubtful = doubts(owners, candidate, { ...settings, wentBack });
  if (owners.orphaning.length > 0) return heldBy(doubtful) ?? dropOrphaning(owners, doubtful);
  if (candidate.object.deletionTimestamp !== null)
    return finish(candidate, wentBack ? heldBy(doubtful) : null);
  return undecided(candidate) ?? collect(candidate, settings, owners, doubtful);
}

/** The owner is there and says so itself, so there is nobody to ask for (cluster E1). */
const dropOrphaning = ({ orphaning }: Owners, approved: readonly Reason[]): Outcome =>
  act('E1', { action: 'drop-references', ownerUids: uidsOf(orphaning) }, [], approvalFacts(approved));

/** An object that is being deleted and waits for its dependents (cluster D17, E3). */
function finish({ object, dependents }: OwnershipCandidate, doubt: Outcome | null): Outcome {
  const { count, blocking } = dependents;
  const has = (finalizer: string): boolean => object.finalizers.includes(finalizer);
  if (has(ORPHAN))
    return count > 0
      ? keep('E3', { dependents: count })
      : (doubt ?? act('E3', { action: 'finish', finalizer: ORPHAN }));
  if (!has(FOREGROUND)) return keep('D3');
  return blocking > 0
    ? keep('D17', { blocking })
    : (doubt ?? act('D17', { action: 'finish', finalizer: FOREGROUND }));
}

/** States of a reference with which nothing can be said of the object, and the rule that says so. */
const UNDECIDED = { scope: 'H2', unresolved: 'D9', pending: 'I10' } as const satisfies Partial<
  Record<ReferenceState, string>
>;

function undecided({ references }: OwnershipCandidate): Outcome | null {
  for (const state of ['scope', 'unresolved', 'pending'] as const) {
    const found = references.find((each) => each.state === state);
    if (found !== undefined)
      return keep(UNDECIDED[state], {
        ownerKind: found.kind,
        apiVersion: found.apiVersion,
        ownerUid: found.uid,
      });
  }
  return null;
}

/** An object whose owners are known one and all (cluster D10). */
function collect(
  candidate: OwnershipCandidate,
  settings: OwnershipSettings,
  owners: Owners,
  doubtful: readonly Reason[],
): Outcome {
  if (candidate.references.length === 0) return keep('D7');
  if (owners.waiting.length + owners.dangling.length === 0) return keepAll(owners);
  const stays = keptByList(candidate, settings) ?? heldBy(doubtful);
  if (stays !== null) return stays;
  if (owners.orphaned.length > 0) return drop('S6', { dangling: owners.orphaned, waiting: [] }, doubtful);
  if (owners.solid.length > 0) return drop('D11', owners, doubtful);
  const reasons = reasonsToHold(candidate, settings);
  return heldBy(reasons) ?? remove(candidate, owners, [...doubtful, ...reasons]);
}

/** Nothing is to be done: its owners are there, or what it names lies elsewhere. */
function keepAll({ solid, elsewhere }: Owners): Outcome {
  const isElsewhere = elsewhere.length > 0 && elsewhere.length === solid.length;
  return isElsewhere
    ? keep('S4', { ownerUid: elsewhere[0]?.uid ?? null })
    : keep('D10', { owners: solid.length });
}

const drop = (
  rule: 'D11' | 'S6',
  owners: Pick<Owners, 'dangling' | 'waiting'>,
  approved: readonly Reason[],
): Outcome =>
  act(
    rule,
    { action: 'drop-references', ownerUids: uidsOf([...owners.dangling, ...owners.waiting]) },
    confirmations(owners),
    approvalFacts(approved),
  );

/** Nobody holds the object (cluster D12, D13, D14). */
function remove(
  { object, dependents }: OwnershipCandidate,
  owners: Owners,
  approved: readonly Reason[],
): Outcome {
  const facts = {
    waiting: owners.waiting.length,
    dangling: owners.dangling.length,
    dependents: dependents.count,
    ...approvalFacts(approved),
  };
  if (owners.waiting.length > 0 && dependents.count > 0) {
    const unblock = dependents.oneWaits;
    const deletion = { action: 'delete', propagation: 'Foreground', unblock } as const;
    return act(unblock ? 'D12' : 'D13', deletion, confirmations(owners), facts);
  }
  const propagation = propagationOf(object.finalizers);
  return act('D14', { action: 'delete', propagation, unblock: false }, confirmations(owners), facts);
}

const propagationOf = (finalizers: readonly string[]): Propagation => {
  if (finalizers.includes(ORPHAN)) return 'Orphan';
  return finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background';
};

/** Why an object stays though upstream would change it, in profile `fleetgc`; `null` for no reason. */
function keptByList({ object }: OwnershipCandidate, settings: OwnershipSettings): Outcome | null {
  if (settings.profile === 'kubernetes') return null;
  const because = keptBecause(object, settings.keep);
  return because && keep('S5', because);
}

type Reason = HoldReason<Outcome>;

/** How owners went that make nobody sure of it. */
const DOUBTFUL: readonly unknown[] = ['mass-relisted', 'kind-going'];

/** What makes it doubtful that owners are gone; nothing is done on them without approval (cluster S3). */
function doubts(
  { dangling }: Owners,
  candidate: OwnershipCandidate,
  settings: OwnershipSettings & { readonly wentBack: boolean },
): readonly Reason[] {
  if (settings.profile === 'kubernetes') return [];
  // It ends by itself, and nobody can know yet what is approved.
  if (settings.wentBack) return [{ outcome: hold('S3', WENT_BACK), approval: null }];
  return dangling
    .filter(({ gone }) => DOUBTFUL.includes(gone?.how))
    .map((owner) => doubtOf(owner, candidate, settings));
}

const WENT_BACK = { why: 'the cluster was restored to an older state' };

function doubtOf(
  owner: OwnershipReference,
  candidate: OwnershipCandidate,
  { approved }: OwnershipSettings,
): Reason {
  const cascade = candidate.cascades.find(({ ownerUid }) => ownerUid === owner.uid);
  const why =
    owner.gone?.how === 'kind-going'
      ? 'the owner went while its definition was being deleted'
      : 'half of the kind of the owner went in one list';
  const facts =
    cascade === undefined
      ? { ownerUid: owner.uid }
      : { ...ownerFacts(cascade, candidate), objects: cascade.objects };
  return {
    outcome: hold('S3', {
      why,
      ...facts,
      ofKind: cascade?.ofKind ?? null,
      ...(cascade !== undefined && approved.otherwiseNamed(cascade, candidate)),
    }),
    approval: cascade === undefined ? null : approved.ofCascade(cascade, candidate),
  };
}

/** Why an object that is to go is held (cluster S1, S2, S16). */
function reasonsToHold(candidate: OwnershipCandidate, settings: OwnershipSettings): readonly Reason[] {
  if (settings.profile === 'kubernetes') return [];
  return [
    ...ofHeldKind(candidate, settings),
    ...wideCascades(candidate, settings),
    ...ofRestored(candidate, settings),
  ];
}

function ofHeldKind(
  { object }: OwnershipCandidate,
  { heldKinds, approved }: OwnershipSettings,
): readonly Reason[] {
  const kind = kindName(object);
  if (!heldKinds.has(kind)) return [];
  return [{ outcome: hold('S2', { kind }), approval: approved.ofObject(object) }];
}

/** One approved owner lets nothing go that another one holds. */
const wideCascades = (candidate: OwnershipCandidate, settings: OwnershipSettings): readonly Reason[] =>
  candidate.cascades.flatMap((cascade) => {
    const outcome = tooWide(cascade, candidate, settings);
    return outcome === null ? [] : [{ outcome, approval: settings.approved.ofCascade(cascade, candidate) }];
  });

function tooWide(
  cascade: Cascade,
  candidate: OwnershipCandidate,
  { limits, approved }: OwnershipSettings,
): Outcome | null {
  const { objects, ofKind } = cascade;
  const owner = { ...ownerFacts(cascade, candidate), ...approved.otherwiseNamed(cascade, candidate) };
  if (objects > limits.cascade) return hold('S1', { ...owner, objects, limit: limits.cascade });
  return ofKind > limits.cascadeOfKind ? hold('S1', { ...owner, ofKind, limit: limits.cascadeOfKind }) : null;
}

/** Many objects at once name owners that were never seen, and whose names others bear: a backup was restored (cluster S16). */
function ofRestored(candidate: OwnershipCandidate, { approved }: OwnershipSettings): readonly Reason[] {
  const { references, cascades, withNamesakes = 0 } = candidate;
  if (withNamesakes < LEAST_RESTORED) return [];
  return references.flatMap(({ uid, namesakeUid }) => {
    if (namesakeUid === undefined) return [];
    const cascade = cascades.find(({ ownerUid }) => ownerUid === uid);
    const facts =
      cascade === undefined
        ? { ownerUid: uid }
        : {
            ...ownerFacts(cascade, candidate),
            objects: cascade.objects,
            ofKind: cascade.ofKind,
            ...approved.otherwiseNamed(cascade, candidate),
          };
    return [
      {
        outcome: hold('S16', { why: NAMESAKE, ...facts, namesakeUid, withNamesakes }),
        approval: cascade === undefined ? null : approved.ofCascade(cascade, candidate),
      },
    ];
  });
}

const NAMESAKE = 'an owner of that name lives with another uid, as after a restore from a backup';

/** Where an owner lies is not in a reference: in none, or beside its dependent. One of which that is not known has no name here, and no approval. */
function ownerFacts({ ownerUid, ownerKind }: Cascade, candidate: OwnershipCandidate): Outcome['facts'] {
  const named = ownerNamed(ownerUid, candidate);
  return {
    ownerUid,
    ownerKind,
    ...(named !== null && { ownerName: named.name, ownerNamespace: named.namespace }),
  };
}

/** The references of a candidate, by what they do to it. */
interface Owners {
  readonly orphaning: readonly OwnershipReference[];
  /** They hold the object: one of them is enough (cluster D10). */
  readonly solid: readonly OwnershipReference[];
  readonly waiting: readonly OwnershipReference[];
  /** Said to be absent. */
  readonly dangling: readonly OwnershipReference[];
  /** Of those that dangle: owners that went so that their dependents stay (cluster S6). */
  readonly orphaned: readonly OwnershipReference[];
  readonly elsewhere: readonly OwnershipReference[];
}

/** In profile `fleetgc` a reference that describes another object than its uid has holds the object (cluster S4). */
function ownersOf({ references }: OwnershipCandidate, { profile }: OwnershipSettings): Owners {
  const isFleetgc = profile === 'fleetgc';
  const of = (...states: OwnershipReference['state'][]) =>
    references.filter(({ state }) => states.includes(state));
  const dangling = of('gone', 'unseen', 'unlisted', ...(isFleetgc ? [] : (['elsewhere'] as const)));
  return {
    orphaning: of('orphaning'),
    solid: of('held', ...(isFleetgc ? (['elsewhere'] as const) : [])),
    waiting: of('waiting'),
    dangling,
    orphaned: isFleetgc ? dangling.filter(({ gone }) => gone?.orphaned === true) : [],
    elsewhere: of('elsewhere'),
  };
}

const confirmations = ({
  dangling,
  waiting,
}: Pick<Owners, 'dangling' | 'waiting'>): readonly Confirmation[] => [
  ...dangling.map((owner) => ({ owner, is: 'absent' as const })),
  ...waiting.map((owner) => ({ owner, is: 'waiting' as const })),
];

const uidsOf = (references: readonly OwnershipReference[]): string[] => [
  ...new Set(references.map(({ uid }) => uid)),
];
