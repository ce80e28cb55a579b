import type { InventoryTimes } from '../../../packages/audit/events/reading.ts';
import { timeText } from '../../../packages/text/time-text.ts';

/** For those who asked for another time; to be put behind a sentence. */
export const keptText = (kept: InventoryTimes | null): string =>
  kept === null
    ? '; there is no inventory at any other time either'
    : `; there are inventories from ${timeText(kept.firstMs)} to ${timeText(kept.lastMs)}`;
