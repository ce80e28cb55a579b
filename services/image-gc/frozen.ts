import { Inventory } from '../../schemas/inventory.ts';
import { freezable } from '../shared/frozen.ts';
import { imageGcHandler } from './handler.ts';

/** What `npm run freeze` makes a bundle of. */
export const { read, decide } = freezable({ schema: Inventory, handler: imageGcHandler });
