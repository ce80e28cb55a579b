import { z } from 'zod';
import { DiskStats, DiskStatsHead } from '../../../schemas/events/disk-stats.ts';
import { ReclaimContinues } from '../../../schemas/events/result.ts';
import { freezable } from '../../decision/freezable-decider.ts';
import { DECIDER } from './decide.ts';
import { pressureHandler } from './decider.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide, passOver } = freezable({
  schema: z.discriminatedUnion('type', [DiskStats, ReclaimContinues]),
  older: DiskStatsHead,
  newer: DiskStatsHead,
  decider: DECIDER,
  handler: pressureHandler,
});
