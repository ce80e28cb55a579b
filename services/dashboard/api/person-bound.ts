import { RateBound } from '../actions/rate-bound.ts';

/** Whoever has to wait because others of their own are not done yet, comes again then. */
const SOON_MS = 1_000;

/** Somebody is answered, until it is disposed of; or has to wait. */
export type Begun = Disposable & { readonly waitMs: number };

/** How much of one sort a person may ask at once, and in a minute. */
export class PersonBound {
  readonly #mostAtOnce: number;
  readonly #rate: RateBound;
  readonly #underWay = new Map<string, number>();

  constructor({ atOnce, inAMinute }: { readonly atOnce: number; readonly inAMinute: number }) {
    this.#mostAtOnce = atOnce;
    this.#rate = new RateBound(inAMinute);
  }

  begin(person: string, nowMs: number): Begun {
    const underWay = this.#underWay.get(person) ?? 0;
    const waitMs = underWay >= this.#mostAtOnce ? SOON_MS : this.#rate.waitMs(person, nowMs);
    if (waitMs > 0) return { waitMs, [Symbol.dispose]: () => undefined };
    this.#underWay.set(person, underWay + 1);
    return { waitMs, [Symbol.dispose]: () => this.#end(person) };
  }

  #end(person: string): void {
    const left = (this.#underWay.get(person) ?? 0) - 1;
    if (left > 0) this.#underWay.set(person, left);
    else this.#underWay.delete(person);
  }
}
