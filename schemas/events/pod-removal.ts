import { z } from 'zod';

/** Why a pod goes, whatever its owners (cluster J3, J5, J8, J9). */
export const PodRemovalCause = z.enum(['terminated', 'out-of-service', 'node-gone', 'unscheduled']);
export type PodRemovalCause = z.infer<typeof PodRemovalCause>;
