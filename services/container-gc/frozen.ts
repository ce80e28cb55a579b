import { Inventory } from '../../schemas/inventory.ts';
import { decideBytes } from '../shared/frozen.ts';
import { containerGcHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const decide = decideBytes({ schema: Inventory, handler: containerGcHandler });
