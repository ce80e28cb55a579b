import type { Order } from '../order.ts';
import type { IndexSource } from '../ports.ts';

/**
 * Owners of objects about which there is an order that nobody has tried yet. Such an owner is let go after them: while it is there its
 * dependents go foreground, and after it in the background (cluster C13).
 */
export class FirstTries {
  /** Without the owner graph no owner is let go. */
  readonly #index: IndexSource | null;
  readonly #ownersOf = new Map<Order, readonly string[]>();
  readonly #untried = new Map<string, number>();

  constructor(index: IndexSource | null) {
    this.#index = index;
  }

  begin(order: Order): void {
    if (order.isFinish) return;
    const references = this.#index?.current()?.object(order.uid)?.references ?? [];
    const owners = references.map(({ uid }) => uid);
    this.#ownersOf.set(order, owners);
    for (const uid of owners) this.#untried.set(uid, (this.#untried.get(uid) ?? 0) + 1);
  }

  /** It was tried, or nothing comes of it. */
  end(order: Order): void {
    for (const uid of this.#ownersOf.get(order) ?? []) {
      const left = (this.#untried.get(uid) ?? 0) - 1;
      if (left > 0) this.#untried.set(uid, left);
      else this.#untried.delete(uid);
    }
    this.#ownersOf.delete(order);
  }

  /** Whether it is about an owner with dependents that are to be tried first. */
  areAwaitedBy(order: Order): boolean {
    return order.isFinish && this.#untried.has(order.uid);
  }
}
