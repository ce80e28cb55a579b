import type { Json } from '../mutate/json.ts';

/** Something wrong, and the input that shows it. */
export interface Found {
  readonly kind: 'crash' | 'effect' | 'too-slow';
  readonly what: string;
  readonly input: Json;
}

/** The same place in the sources is the same crash, whatever its message quotes. */
function nameOf({ kind, what }: Found): string {
  const [first = '', ...places] = what.split('\n');
  return `${kind} ${places.length > 0 ? places.slice(0, 4).join() : first.replaceAll(/\d+/g, '#')}`;
}

/** So many of each kind are kept; all are counted. */
const MOST_KEPT = 20;
/**
 * Far above what any input of these sizes takes, so that a busy machine is no finding: usual are fractions of a millisecond, and
 * tens of them for the largest.
 */
const TOO_SLOW_MS = 2_000;

export class Findings {
  readonly found: Found[] = [];
  readonly #counts = { crash: 0, effect: 0, 'too-slow': 0 };
  readonly #seen = new Set<string>();
  #slowestMs = 0;
  slowest: Json = null;

  get any(): boolean {
    return Object.values(this.#counts).some((count) => count > 0);
  }

  isTooSlow(tookMs: number): boolean {
    return tookMs > TOO_SLOW_MS;
  }

  took(input: Json, tookMs: number): void {
    if (this.isTooSlow(tookMs))
      this.add({ kind: 'too-slow', what: `it took ${Math.round(tookMs)} ms`, input });
    if (tookMs <= this.#slowestMs) return;
    this.#slowestMs = tookMs;
    this.slowest = input;
  }

  /** The same again is counted alone. */
  add(found: Found): void {
    this.#counts[found.kind] += 1;
    const name = nameOf(found);
    if (this.#seen.has(name) || this.#seen.size >= MOST_KEPT) return;
    this.#seen.add(name);
    this.found.push(found);
  }

  counts() {
    const { crash, effect } = this.#counts;
    return {
      crashes: crash,
      effects: effect,
      tooSlow: this.#counts['too-slow'],
      slowestMs: this.#slowestMs,
    };
  }
}
