import { Inventory } from '../../schemas/inventory.ts';
import { decideMessage } from '../shared/frozen.ts';
import { imageGcHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const decide = decideMessage({ schema: Inventory, handler: imageGcHandler });
