import { Ownership } from '../../../schemas/events/ownership.ts';
import { repeatable } from '../../decision/freezable-decider.ts';
import { graphGcHandler } from './decider.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide, passOver } = repeatable({ schema: Ownership, handler: graphGcHandler });
