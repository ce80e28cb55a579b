import { repeatable } from '../../packages/decision/freezable-decider.ts';
import { Pods } from '../../schemas/events/pods.ts';
import { podGcHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide, passOver } = repeatable({ schema: Pods, handler: podGcHandler });
