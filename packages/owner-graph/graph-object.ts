import type { ResourceKind } from './kinds.ts';

/** An owner as a dependent names it: it has no namespace (cluster A2). */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** `null` where it is not written, which means the same as false. */
  readonly controller: boolean | null;
  readonly blockOwnerDeletion: boolean | null;
}

/** The owner with which a cascade began. */
export interface CascadeRoot {
  readonly uid: string;
  /** As `kindName` of the schemas writes it. */
  readonly kind: string;
  /** Empty for one that lies in none; `null` for one that was never seen, of whose kind the scope is not known. */
  readonly namespace: string | null;
  /** As it was seen, else as a reference says. */
  readonly name: string;
}

/** What the graph knows of an object; all of it is metadata (cluster A1). */
export interface GraphObject {
  /** That of the subscription, not what stands in the object (cluster A4). */
  readonly kind: ResourceKind;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** As the API server wrote it; `null` for an object that is not being deleted. */
  readonly deletionTimestamp: string | null;
  readonly finalizers: readonly string[];
  readonly references: readonly OwnerReference[];
  /** It has the annotation that keeps it. */
  readonly keep: boolean;
}

export const isDeletingWith = (
  { deletionTimestamp, finalizers }: Pick<GraphObject, 'deletionTimestamp' | 'finalizers'>,
  finalizer: string,
): boolean => deletionTimestamp !== null && finalizers.includes(finalizer);

/** Whether it lists this uid, and whether it holds its owner back (cluster D17). */
export const blocks = ({ references }: Pick<GraphObject, 'references'>, ownerUid: string): boolean =>
  references.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true);

/** As facts tell it: they know no difference between false and not written. */
export const toldReference = ({ controller, blockOwnerDeletion, ...reference }: OwnerReference) => ({
  ...reference,
  controller: controller === true,
  blockOwnerDeletion: blockOwnerDeletion === true,
});

export const sameReferences = (one: readonly OwnerReference[], other: readonly OwnerReference[]): boolean =>
  one === other ||
  (one.length === other.length &&
    one.every((reference, index) => {
      const against = other[index];
      return against !== undefined && sameReference(reference, against);
    }));

const FIELDS = ['uid', 'name', 'kind', 'apiVersion', 'controller', 'blockOwnerDeletion'] as const;
const sameReference = (one: OwnerReference, other: OwnerReference): boolean =>
  FIELDS.every((field) => one[field] === other[field]);
