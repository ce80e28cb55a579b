import { DiskStats } from '../../schemas/disk-stats.ts';
import { decideBytes } from '../shared/frozen.ts';
import { pressureHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const decide = decideBytes({ schema: DiskStats, handler: pressureHandler });
