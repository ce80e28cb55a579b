import { DiskStats, DiskStatsHead } from '../../schemas/disk-stats.ts';
import { freezable } from '../shared/frozen.ts';
import { DECIDER } from './decide.ts';
import { pressureHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide, passOver } = freezable({
  schema: DiskStats,
  older: DiskStatsHead,
  newer: DiskStatsHead,
  decider: DECIDER,
  handler: pressureHandler,
});
