import { decide } from '../../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory, InventoryImage } from '../../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../../schemas/policy/policy.ts';
import { image, inventory } from '../../../../fixtures/inventory.ts';
import { policy } from '../../../../fixtures/policy.ts';
import { reclaim } from '../../../../fixtures/reclaim.ts';
import { MINUTE, NOW } from '../../../../fixtures/time.ts';

/** Enough images that half of them is no limit, used so lately that they come last. */
const OTHERS = Array.from({ length: 20 }, (_, index) =>
  image(`other-${index}`, { lastUsedMs: NOW - MINUTE, usedBy: [{ kind: 'container', id: 'running' }] }),
);

/** What is decided of these images, others beside them, at the images of a reclaim. */
export const decided = (
  images: readonly InventoryImage[],
  overrides: Partial<CompleteInventory> = {},
  settings: Partial<Policy> = {},
) =>
  decide(inventory({ images: [...images, ...OTHERS], reclaim: reclaim(), ...overrides }), policy(settings));

/** Ids of what goes, in order. */
export const removed = (...args: Parameters<typeof decided>): string[] =>
  decided(...args).items.map(({ id }) => id);

/** The verdict about the first image. */
export const verdict = (...args: Parameters<typeof decided>) => decided(...args).verdicts[0];
