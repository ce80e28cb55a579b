import { z } from 'zod';
import { ClusterInstant } from '../events/cluster-objects.ts';
import { ObjectUid } from '../events/identity.ts';
import { NamedObject, UnreadKind } from './cluster-plan.ts';

/** What may be left over. FleetGC deletes nothing because of it. */
export const LeftoverReport = z.enum([
  /** Volumes that were released, or failed to be reclaimed. */
  'released-volumes',
  /** Finished Jobs beyond the history limits of their CronJob. */
  'cron-job-histories',
  /** Nodes of which no kubelet has been heard for long. */
  'silent-nodes',
  /** Leases that nobody has renewed for long. */
  'expired-leases',
  /** ConfigMaps and Secrets that nothing seems to name. */
  'unnamed',
]);
export type LeftoverReport = z.infer<typeof LeftoverReport>;

export const Leftover = z.strictObject({
  ...NamedObject.shape,
  /** Since when, as the API server wrote it; `null` where it does not tell. */
  since: z.string().nullable(),
  because: z.string(),
});
export type Leftover = z.infer<typeof Leftover>;

export const LeftoverSection = z.strictObject({
  report: LeftoverReport,
  /** Kinds that this report needs and that cannot be read: then nothing is said. */
  unread: z.array(UnreadKind),
  objects: z.array(Leftover),
});
export type LeftoverSection = z.infer<typeof LeftoverSection>;

/** What seems to be left over in one cluster as it is now. Nothing is changed. */
export const ClusterLeftovers = z.strictObject({
  type: z.literal('fleetgc.cluster-leftovers'),
  version: z.literal(1),
  /** The uid of its namespace kube-system. */
  clusterInstance: ObjectUid,
  takenAt: ClusterInstant,
  reports: z.array(LeftoverSection),
});
export type ClusterLeftovers = z.infer<typeof ClusterLeftovers>;
