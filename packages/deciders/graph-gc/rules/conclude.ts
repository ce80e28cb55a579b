import type { Propagation } from '../../../../schemas/events/cluster-command.ts';
import { FOREGROUND, ORPHAN } from '../../../../schemas/events/cluster-objects.ts';
import type { OwnershipCandidate, ReferenceState } from '../../../../schemas/events/ownership.ts';
import { approvalFacts, heldBy } from '../../../decision/approvals.ts';
import { doubts, keptByList, type Reason, reasonsToHold } from './holds.ts';
import { act, keep, type Outcome } from './outcome.ts';
import { confirmations, type Owners, ownersOf, uidsOf } from './owners.ts';
import type { OwnershipSettings } from './settings.ts';

/** What a decision knows beside the candidate and the policy. */
export interface Circumstances {
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
