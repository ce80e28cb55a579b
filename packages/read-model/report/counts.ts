import { compareText } from '../../../schemas/events/text-order.ts';

/** Counts equal things: the key tells them apart, the thing is kept as it came first. */
export class Counts<Thing> {
  readonly #counted = new Map<string, { readonly thing: Thing; count: number }>();
  readonly #keyOf: (thing: Thing) => string;

  constructor(keyOf: (thing: Thing) => string) {
    this.#keyOf = keyOf;
  }

  add(thing: Thing): void {
    const key = this.#keyOf(thing);
    const known = this.#counted.get(key);
    if (known === undefined) this.#counted.set(key, { thing, count: 1 });
    else known.count++;
  }

  /** The most frequent first, equals by their keys. */
  mostFirst(): readonly { readonly thing: Thing; readonly count: number }[] {
    return [...this.#counted]
      .toSorted(([a, first], [b, second]) => second.count - first.count || compareText(a, b))
      .map(([, entry]) => entry);
  }
}
