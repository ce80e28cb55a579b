import { z } from 'zod';
import { Propagation } from '../events/cluster-command.ts';
import { ObjectText } from '../events/cluster-objects.ts';
import { ObjectUid } from '../events/identity.ts';
import { AskedPolicy, NamedObject, UnreadKind } from './cluster-plan.ts';

/** What becomes of an object that the deletion reaches. */
export const Fate = z.enum([
  'goes',
  /** It is being deleted, and waits for finalizers that no collector takes away, or for what waits for them. */
  'waits',
  /** It would go, and is held until somebody approves it. */
  'held',
  /** It stays and loses owner references. */
  'loses-references',
  'stays',
]);
export type Fate = z.infer<typeof Fate>;

export const ReachedObject = z.strictObject({
  ...NamedObject.shape,
  fate: Fate,
  /** Number of the rule that decided it; `null` where nothing had to be decided. */
  rule: z.string().nullable(),
  because: z.string(),
  /** Of what waits: the finalizers for which it does. */
  finalizers: z.array(ObjectText),
});
export type ReachedObject = z.infer<typeof ReachedObject>;

export const CascadeInMode = z.strictObject({
  propagation: Propagation,
  /** The object itself first. */
  objects: z.array(ReachedObject),
});
export type CascadeInMode = z.infer<typeof CascadeInMode>;

/** What the deletion of one object would take along, in each way to delete it. Nothing is changed. */
export const ClusterCascade = z.strictObject({
  type: z.literal('fleetgc.cluster-cascade'),
  version: z.literal(1),
  /** The uid of its namespace kube-system. */
  clusterInstance: ObjectUid,
  policy: AskedPolicy,
  target: NamedObject,
  modes: z.array(CascadeInMode),
  unreadKinds: z.array(UnreadKind),
  failedGroups: z.array(ObjectText),
});
export type ClusterCascade = z.infer<typeof ClusterCascade>;
