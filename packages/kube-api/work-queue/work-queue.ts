import { DelayedKeys } from './delayed-keys.ts';
import { type RateLimiter, rateLimiter } from './rate-limiter.ts';

/** One item in hand. */
export interface Work<Value> {
  readonly key: string;
  readonly value: Value;
}

export interface WorkQueueOptions {
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  /** Further keys are not taken while so many are known. */
  readonly mostKeys: number;
  readonly limiter?: RateLimiter;
}

/**
 * The queue of client-go's controllers: an item by its key once, first in first out, never in two hands; what comes for an item in
 * hand is taken after it (cluster F6, F7). Of a key the newest value counts.
 */
export class WorkQueue<Value> {
  readonly #nowMs: () => number;
  readonly #mostKeys: number;
  readonly #limiter: RateLimiter;
  /** Newest of each key that waits, has its time to come, or came again while in hand. */
  readonly #values = new Map<string, Value>();
  /** In order. */
  readonly #waiting = new Set<string>();
  readonly #inHand = new Set<string>();
  /** In hand, and to be taken again. */
  readonly #again = new Set<string>();
  readonly #delayed = new DelayedKeys();
  #onChange: () => void = () => undefined;

  constructor({ nowMs, mostKeys, limiter = rateLimiter() }: WorkQueueOptions) {
    this.#nowMs = nowMs;
    this.#mostKeys = mostKeys;
    this.#limiter = limiter;
  }

  /** Keys that wait, now or for their time. */
  get waiting(): number {
    return this.#values.size;
  }

  get inHand(): number {
    return this.#inHand.size;
  }

  /** Adds without delay (cluster F6). False when there is no room for another key. */
  add(key: string, value: Value): boolean {
    if (!this.#isKnown(key) && this.#values.size >= this.#mostKeys) return false;
    this.#values.set(key, value);
    this.#enqueue(key);
    return true;
  }

  /** What failed waits by the limiter, and is tried again with the newest value that came meanwhile (cluster F4). */
  retry(work: Work<Value>): void {
    this.addAfter(work, this.#limiter.delayMs(work.key, this.#nowMs()));
  }

  /** Puts what is in hand back for later, without counting a failure (cluster F8). */
  addAfter({ key, value }: Work<Value>, delayMs: number): void {
    if (!this.#values.has(key)) this.#values.set(key, value);
    if (delayMs <= 0) this.#enqueue(key);
    else this.#delayed.add(key, this.#nowMs() + delayMs);
    this.#wake();
  }

  /** Failures of the item count from zero again (cluster F5, F11). */
  forget(key: string): void {
    this.#limiter.forget(key);
  }

  failures(key: string): number {
    return this.#limiter.failures(key);
  }

  /** The next one, which is in hand until `done`. */
  take(): Work<Value> | null {
    for (const key of this.#delayed.takeDue(this.#nowMs())) this.#enqueue(key);
    for (const key of this.#waiting) {
      this.#waiting.delete(key);
      const value = this.#values.get(key);
      if (value === undefined) continue;
      if (!this.#delayed.has(key)) this.#values.delete(key);
      this.#inHand.add(key);
      return { key, value };
    }
    return null;
  }

  /** The item leaves the hand, whatever came of it; call it after `retry`. */
  done(key: string): void {
    this.#inHand.delete(key);
    if (!this.#again.delete(key)) return;
    this.#waiting.add(key);
    this.#wake();
  }

  /** When the next delayed one is due, by the clock of the queue; `null` when none waits for its time. */
  nextAtMs(): number | null {
    return this.#delayed.nextAtMs();
  }

  /** Calls whenever there may be something to take, or another time to wait for; one listener at a time. */
  listen(onChange: () => void): void {
    this.#onChange = onChange;
  }

  #isKnown(key: string): boolean {
    return this.#values.has(key) || this.#inHand.has(key);
  }

  #enqueue(key: string): void {
    if (this.#inHand.has(key)) this.#again.add(key);
    else this.#waiting.add(key);
    this.#wake();
  }

  #wake(): void {
    this.#onChange();
  }
}
