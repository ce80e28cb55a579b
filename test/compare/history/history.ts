import type { Propagation } from '../../../packages/kube-api/write.ts';
import type { KindId } from './kinds.ts';

/** The two namespaces of a run. */
export type Place = 'home' | 'away';

/** What a history makes, known by its number: names and uids differ from run to run. */
export interface PlayedObject {
  readonly id: number;
  readonly kind: KindId;
  /** Of a namespaced object. */
  readonly place: Place;
  readonly finalizers: readonly string[];
  readonly references: readonly PlayedReference[];
}

/** A reference as it is written: what it says need not be so. */
export interface PlayedReference {
  readonly apiVersion: string;
  readonly kind: string;
  /** Whose name it has; `null` for nobody's. */
  readonly nameOf: number | null;
  /** Whose uid; `null` for nobody's. */
  readonly uidOf: number | null;
  /** Not there at all where undefined. */
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `null`: nobody says how. */
export type AskedPropagation = Propagation | null;

export type Step =
  | { readonly do: 'create'; readonly object: PlayedObject }
  | { readonly do: 'delete'; readonly id: number; readonly propagation: AskedPropagation }
  | { readonly do: 'refer'; readonly id: number; readonly references: readonly PlayedReference[] }
  /** Takes the finalizer away that nobody's collector knows. */
  | { readonly do: 'release'; readonly id: number };

/** Steps of a burst are played at once, and the next burst when nothing is left to do for a collector. */
export interface History {
  readonly seed: number;
  /** Deletions of one burst may touch each other: what comes of it can depend on who comes first. */
  readonly isWild: boolean;
  readonly bursts: readonly (readonly Step[])[];
}

export const FOREIGN_FINALIZER = 'compare.fleetgc.io/held';

/** Everything that a history makes, with all references that each object ever has. */
export function everWritten({ bursts }: History): ReadonlyMap<number, readonly PlayedReference[]> {
  const written = new Map<number, readonly PlayedReference[]>();
  for (const step of bursts.flat()) {
    if (step.do === 'create') written.set(step.object.id, step.object.references);
    if (step.do === 'refer') written.set(step.id, [...(written.get(step.id) ?? []), ...step.references]);
  }
  return written;
}
