import { kindOf, type PlayedKind, servedKind } from '../history/kinds.ts';
import { nameOf, type ObjectState, type RunState, type StatedReference } from './state.ts';

/** What a collector still has to do about an object, and the rule that says so. */
export interface Left {
  readonly id: number;
  readonly what: string;
}

/** What a collector still has to do in a run, at this time of the API server. */
export type LeftToDo = (state: RunState, nowMs: number) => readonly Left[];

/**
 * What the rules of section D and E still call for in this state: nothing, once a collector has come to its end. Judged apart from
 * the product's own rules; it says when to look, and never what is right.
 */
export function leftToDo(state: RunState): readonly Left[] {
  return [...state.values()].flatMap((object) => {
    const what = object.isDeleting ? ofDeleting(object, state) : ofOwned(object, state);
    return what === null ? [] : [{ id: object.id, what }];
  });
}

function ofDeleting({ id, finalizers }: ObjectState, state: RunState): string | null {
  if (finalizers.includes('orphan')) return 'lets its dependents go (cluster E1, E3)';
  if (!finalizers.includes('foregroundDeletion')) return null;
  return isBlocked(id, state) ? null : 'nobody blocks it (cluster D17)';
}

const isBlocked = (owner: number, state: RunState): boolean =>
  [...state.values()].some(({ references }) =>
    references.some(({ uidOf, blockOwnerDeletion }) => uidOf === owner && blockOwnerDeletion === true),
  );

type Judged = 'solid' | 'waiting' | 'dangling' | 'undecided';

function ofOwned(object: ObjectState, state: RunState): string | null {
  const judged = new Set(object.references.map((reference) => judge(object, reference, state)));
  if (judged.has('undecided') || !(judged.has('waiting') || judged.has('dangling'))) return null;
  return judged.has('solid') ? 'loses references (cluster D11)' : 'is deleted (cluster D13, D14)';
}

function judge(object: ObjectState, reference: StatedReference, state: RunState): Judged {
  const kind = servedKind(reference.apiVersion, reference.kind);
  if (kind === null || (object.place === null && kind.namespaced)) return 'undecided';
  const owner = reference.uidOf === null ? undefined : state.get(reference.uidOf);
  if (owner === undefined || !isNamed(object, reference, kind, owner)) return 'dangling';
  return owner.isDeleting && owner.finalizers.includes('foregroundDeletion') ? 'waiting' : 'solid';
}

/** Whether a look under that kind and name finds this owner. */
function isNamed(
  { place }: ObjectState,
  { name }: StatedReference,
  { group, kind, namespaced }: PlayedKind,
  owner: ObjectState,
): boolean {
  const its = kindOf(owner.kind);
  const isThere = namespaced ? owner.place === place : owner.place === null;
  return isThere && name === nameOf(owner.id) && its.group === group && its.kind === kind;
}
