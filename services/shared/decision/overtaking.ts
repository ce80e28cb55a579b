import { MAX_COMMAND_LIFETIME_MS } from '../../../schemas/command.ts';
import type { Inventory, InventoryHead } from '../../../schemas/inventory.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';

/** What is asked of an inventory that overtakes another one: it was read whole. */
export type NewerInventory = InventoryHead & Pick<Inventory, 'status'>;

/**
 * Whether an inventory that lies later on the log makes a decision on an older one needless: nothing that could follow from the
 * older one is lost, or can only follow from it. Whatever is not certain is decided on.
 */
export function overtakes(newer: NewerInventory, older: InventoryHead): boolean {
  return (
    newer.status === 'complete' &&
    isOfOneInstallation(newer, older) &&
    laterMs(newer, older) > 0 &&
    isSamePart(newer.reclaim, older.reclaim) &&
    (older.trigger !== 'container-died' || areCommandsExpired(newer, older))
  );
}

/** Only the inventory that tells of a death lets go what goes right after it (G23), for as long as a node may obey it. */
const areCommandsExpired = (newer: InventoryHead, older: InventoryHead): boolean =>
  laterMs(newer, older) >= MAX_COMMAND_LIFETIME_MS;

const isOfOneInstallation = (newer: InventoryHead, older: InventoryHead): boolean =>
  newer.cluster === older.cluster && newer.node === older.node && newer.nodeInstance === older.nodeInstance;

/** By the time since one boot: an old message that was put back lies later on the log, and was not taken later. */
function laterMs({ takenAt: newer }: InventoryHead, { takenAt: older }: InventoryHead): number {
  return newer.bootId === older.bootId ? newer.sinceBootMs - older.sinceBootMs : 0;
}

/** What answers an order is overtaken by nothing but another answer to the same: else a reclaim would stand still. */
const isSamePart = (newer: Reclaim | null, older: Reclaim | null): boolean =>
  newer?.id === older?.id && newer?.step === older?.step && newer?.round === older?.round;
