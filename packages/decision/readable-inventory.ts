import { z } from 'zod';
import { Inventory, InventoryHead } from '../../schemas/events/inventory.ts';
import type { Readable } from './freezable-decider.ts';

/** What deciders on inventories read. */
export const READABLE_INVENTORY: Readable<Inventory> = {
  schema: Inventory,
  older: InventoryHead,
  newer: InventoryHead.extend({ status: z.enum(['complete', 'incomplete', 'too-large']) }),
};
