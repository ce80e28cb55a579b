import { z } from 'zod';
import { ObjectUid } from './identity.ts';

/** The two finalizers of the control plane's collector (cluster N8). */
export const ORPHAN = 'orphan';
export const FOREGROUND = 'foregroundDeletion';

/** Stands at the end of an object's owner references for those that were not read; no object has it. */
export const UNKNOWN_OWNERS_UID = '-';

/** What is longer in an object is kept without a look at it. */
const MAX_NAME_LENGTH = 320;
const MAX_VERSION_LENGTH = 128;

export const ObjectText = z.string().max(MAX_NAME_LENGTH);

/** One instant by the clock of the API server, as far as its answers tell it. */
export const ClusterInstant = z.object({
  /** Epoch milliseconds that its clock showed at least. */
  serverMs: z.int().nonnegative(),
  /** How much later it may have been. */
  spreadMs: z.int().nonnegative(),
});
export type ClusterInstant = z.infer<typeof ClusterInstant>;

/** A kind of object by the words of its paths; `group` is empty for the core group. */
export const ServedKind = z.object({
  group: ObjectText,
  version: ObjectText.min(1),
  kind: ObjectText.min(1),
  resource: ObjectText.min(1),
  namespaced: z.boolean(),
});
export type ServedKind = z.infer<typeof ServedKind>;

/** An object of a cluster in one state; `namespace` is empty for those that lie in none. */
export const ClusterObject = z.object({
  ...ServedKind.shape,
  namespace: ObjectText,
  name: ObjectText.min(1),
  uid: ObjectUid,
  resourceVersion: z.string().min(1).max(MAX_VERSION_LENGTH),
});
export type ClusterObject = z.infer<typeof ClusterObject>;

/** Tells kinds apart, whatever the version: `apps/ReplicaSet`. */
export const kindName = ({ group, kind }: Pick<ServedKind, 'group' | 'kind'>): string =>
  group === '' ? kind : `${group}/${kind}`;
