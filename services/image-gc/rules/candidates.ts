import type { Kept } from '../../../packages/decision/conclusion.ts';
import type { InventoryImage } from '../../../schemas/events/inventory.ts';

/** An image that nothing protects, with its position in the inventory. */
export interface Candidate {
  readonly position: number;
  readonly image: InventoryImage;
}

/** A candidate that goes: because nobody used it for long (E3), or to make room (D11). */
export interface Removal extends Candidate {
  readonly rule: 'E3' | 'D11';
  /** What it frees once all that go before it are gone. */
  readonly estimatedBytes: bigint;
}

/** A candidate that stays all the same. */
export interface Spared extends Candidate, Kept {}
