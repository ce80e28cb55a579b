import { Pods } from '../../../schemas/events/pods.ts';
import { repeatable } from '../../decision/freezable-decider.ts';
import { podGcHandler } from './decider.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide, passOver } = repeatable({ schema: Pods, handler: podGcHandler });
