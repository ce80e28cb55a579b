/** Who did it: somebody over the API, where only the product comes in, or the life of the cluster. */
export type Hand = 'product' | 'life';

export interface TrueReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blocks: boolean;
}

/** What the judge has to know of an object in one state. */
export interface TrueObject {
  readonly group: string;
  readonly kind: string;
  /** Empty where it lies in none. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly version: string;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly references: readonly TrueReference[];
  /** Bears the annotation that keeps it. */
  readonly isKept: boolean;
  /** When its time is over; `null` for what has none. */
  readonly endsAtMs: number | null;
  /** A pod that has ended. */
  readonly isEnded: boolean;
}

/** What happened at the API server, as it is written down there, apart from everything that the product says. */
export type TruthLine =
  | { readonly atMs: number; readonly kind: 'is'; readonly by: Hand; readonly object: TrueObject }
  /** As it was before. */
  | { readonly atMs: number; readonly kind: 'gone'; readonly by: Hand; readonly object: TrueObject }
  /** From now on these are all there are. */
  | { readonly atMs: number; readonly kind: 'restored'; readonly objects: readonly TrueObject[] };
