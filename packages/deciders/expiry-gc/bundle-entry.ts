import { Expiry } from '../../../schemas/events/expiry.ts';
import { repeatable } from '../../decision/freezable-decider.ts';
import { expiryGcHandler } from './decider.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide, passOver } = repeatable({ schema: Expiry, handler: expiryGcHandler });
