import { freezable } from '../../decision/freezable-decider.ts';
import { READABLE_INVENTORY } from '../../decision/inventory-checks.ts';
import { DECIDER } from './decide.ts';
import { containerGcHandler } from './decider.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide, passOver } = freezable({
  ...READABLE_INVENTORY,
  decider: DECIDER,
  handler: containerGcHandler,
});
