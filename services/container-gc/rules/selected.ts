import type { Facts } from '../../../packages/decision/conclusion.ts';
import type { Aged } from './age-order.ts';

/** A container or sandbox by its position in the inventory's list. */
export interface Listed extends Aged {
  readonly position: number;
}

/** An object that is to go by a rule, before back-off and the size of a command are asked. */
export interface Selected<Item extends Listed> {
  readonly item: Item;
  readonly rule: string;
  readonly facts: Facts;
}
