import type { Inventory } from '../../schemas/inventory.ts';
import type { Reclaim } from '../../schemas/reclaim.ts';
import { type ContentReading, NOBODY_TELLS } from './content-reading.ts';
import type { AgentEvents } from './events.ts';
import { type BackoffEntries, detectedImages } from './inventory-objects.ts';
import type { Look } from './look.ts';

/** An inventory of this moment that nobody publishes, as if this reclaim had asked for it. */
export type TakeInventory = (reclaim: Reclaim | null) => Promise<Inventory>;

export interface OwnInventoryParts {
  readonly look: () => Promise<Look>;
  readonly events: Pick<AgentEvents, 'inventory'>;
  readonly backoff: () => BackoffEntries;
  readonly contentsOf: ContentReading;
}

/** Only people read which runtime it is. */
const RUNTIME = { name: '', version: '' };

/** What the executor of this node judges by: the same look and the same inventory as an agent's, and no message's word. */
export const ownInventory =
  ({ look, events, backoff, contentsOf }: OwnInventoryParts): TakeInventory =>
  async (reclaim) => {
    const found = await look();
    const contents = found.status === 'complete' ? await contentsOf(detectedImages(found)) : NOBODY_TELLS;
    return events.inventory(
      { look: found, trigger: 'interval', reclaim, diedContainerIds: [], runtime: RUNTIME },
      // While the records cannot be read every image counts as just detected, which needs no further care.
      { backoff: backoff(), historyUnreadable: null, ...contents },
    );
  };
