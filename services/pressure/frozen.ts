import { DiskStats } from '../../schemas/disk-stats.ts';
import { freezable } from '../shared/frozen.ts';
import { pressureHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide } = freezable({ schema: DiskStats, handler: pressureHandler });
