import { z } from 'zod';
import { ClusterObject, ObjectText } from './cluster-objects.ts';
import { ObjectUid } from './identity.ts';
import { MAX_CANDIDATE_REFERENCES } from './ownership.ts';
import { ABOUT, commandHeader } from './subject-headers.ts';

/** Why a pod goes, whatever its owners (cluster J3, J5, J8, J9). */
export const PodRemovalCause = z.enum(['terminated', 'out-of-service', 'node-gone', 'unscheduled']);
export type PodRemovalCause = z.infer<typeof PodRemovalCause>;

export const CLUSTER_COMMAND_VERSION = 1;
/** @limit Objects in one cluster command. Keep it at or above `MAX_CANDIDATES`. */
export const MAX_CLUSTER_COMMAND_ITEMS = 500;

/** What becomes of the dependents of an object that is deleted. */
export const Propagation = z.enum(['Background', 'Foreground', 'Orphan']);
export type Propagation = z.infer<typeof Propagation>;

/** What follows from the owners of an object. */
export const OwnershipAction = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('delete'),
    propagation: Propagation,
    /** First the references stop blocking their owners (cluster D12). */
    unblock: z.boolean(),
  }),
  /** The object stays and loses its references to these owners (cluster D11, E1). */
  z.strictObject({
    action: z.literal('drop-references'),
    ownerUids: z.array(ObjectUid).min(1).max(MAX_CANDIDATE_REFERENCES),
  }),
  /** The object loses this finalizer, and goes if it was the last one (cluster D17, E3). */
  z.strictObject({ action: z.literal('finish'), finalizer: ObjectText.min(1) }),
]);
export type OwnershipAction = z.infer<typeof OwnershipAction>;

/** What a rule of a policy is called. */
export const OwnRuleName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, {
  error: 'must be 1 to 63 lower-case letters, digits or dashes, starting and ending with a letter or digit',
});

/** It is deleted as its time is over (cluster sections K and L, S8). */
export const ExpireAction = z.strictObject({
  action: z.literal('expire'),
  propagation: Propagation,
  /** The rule of the policy that lets it go, where one does. */
  ownRule: OwnRuleName.optional(),
});
export type ExpireAction = z.infer<typeof ExpireAction>;

/** A pod goes at once and without its grace; one that has not ended is marked as failed first (cluster J2). */
export const RemovePodAction = z.strictObject({ action: z.literal('remove-pod'), because: PodRemovalCause });
export type RemovePodAction = z.infer<typeof RemovePodAction>;

/** What is to be done about one object. */
export const ClusterAction = z.discriminatedUnion('action', [
  ...OwnershipAction.options,
  ExpireAction,
  RemovePodAction,
]);
export type ClusterAction = z.infer<typeof ClusterAction>;

/** Actions after which an object is gone: they count among what may go in an hour. */
const REMOVALS: readonly ClusterAction['action'][] = ['delete', 'expire', 'remove-pod'];
export const isRemoval = ({ action }: Pick<ClusterAction, 'action'>): boolean => REMOVALS.includes(action);

export const ClusterCommandItem = z.strictObject({
  object: z.strictObject(ClusterObject.shape),
  rule: z.string().min(1).max(10),
  act: ClusterAction,
});
export type ClusterCommandItem = z.infer<typeof ClusterCommandItem>;

/**
 * Order to the executor of one cluster. It chooses among what may go and says nothing of why: the executor finds that out by itself,
 * from the objects as they are. Strict: an executor never acts on a field that it does not understand.
 */
export const ClusterCommand = z.strictObject({
  type: z.literal('fleetgc.cluster.command'),
  ...commandHeader(ABOUT.cluster, CLUSTER_COMMAND_VERSION),
  items: z.array(ClusterCommandItem).min(1).max(MAX_CLUSTER_COMMAND_ITEMS),
});
export type ClusterCommand = z.infer<typeof ClusterCommand>;
