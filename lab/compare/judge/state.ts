import type { Place } from '../history/history.ts';
import type { KindId } from '../history/kinds.ts';
import type { Says, Times } from './says.ts';

/** A reference as it stands on the API server, in words that are the same in all runs. */
export interface StatedReference {
  readonly apiVersion: string;
  readonly kind: string;
  /** `o7` is the name of object 7, wherever that lies. */
  readonly name: string;
  /** Whose uid it is; `null` for nobody's. */
  readonly uidOf: number | null;
  /** What is not there is told apart from what is false. */
  readonly controller: boolean | null;
  readonly blockOwnerDeletion: boolean | null;
}

/** What is left of an object that a history made. */
export interface ObjectState {
  readonly id: number;
  readonly kind: KindId;
  /** `null` for a cluster-scoped object. */
  readonly place: Place | null;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly references: readonly StatedReference[];
  /** Where more than its metadata matters. */
  readonly says?: Says;
  /** Not compared: runs are not at the same time. */
  readonly times?: Times;
}

/** All survivors of one run, by their numbers. */
export type RunState = ReadonlyMap<number, ObjectState>;

export const nameOf = (id: number): string => `o${id}`;

/**
 * References of one uid side by side: the API server sorts them so for upstream's patch, which names references by their uids, and not
 * for one that writes the whole list (cluster D11). An owner that is listed twice is one owner.
 */
export function groupedByUid(references: readonly StatedReference[]): readonly StatedReference[] {
  const groups = Map.groupBy(references, (reference) => reference.uidOf ?? reference);
  return [...groups.values()].flat();
}

/** The same text for the same state. */
export const stateText = (state: RunState): string =>
  [...state.values()]
    .toSorted((a, b) => a.id - b.id)
    .map(({ times: _, ...compared }) => JSON.stringify(compared))
    .join('\n');
