import { DiskStats } from '../../schemas/disk-stats.ts';
import { decideMessage } from '../shared/frozen.ts';
import { pressureHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const decide = decideMessage({ schema: DiskStats, handler: pressureHandler });
