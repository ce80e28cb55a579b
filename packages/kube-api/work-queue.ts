import TinyQueue from 'tinyqueue';
import { type RateLimiter, rateLimiter } from './rate-limiter.ts';

/** One item in hand. */
export interface Work<Value> {
  readonly key: string;
  readonly value: Value;
}

interface WorkQueueOptions {
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

interface Entry {
  readonly key: string;
  readonly atMs: number;
  /** Of two with the same time, the one that came first. */
  readonly order: number;
}

/** Keys that wait for their time, each once (cluster F8). */
class DelayedKeys {
  readonly #heap = new TinyQueue<Entry>([], (a, b) => a.atMs - b.atMs || a.order - b.order);
  /** What counts of each key; entries of the heap that are not this one are left over. */
  readonly #current = new Map<string, Entry>();
  #order = 0;

  get size(): number {
    return this.#current.size;
  }

  has(key: string): boolean {
    return this.#current.has(key);
  }

  /** The earlier time wins. */
  add(key: string, atMs: number): void {
    const waiting = this.#current.get(key);
    if (waiting !== undefined && waiting.atMs <= atMs) return;
    const entry = { key, atMs, order: this.#order++ };
    this.#current.set(key, entry);
    this.#heap.push(entry);
  }

  /** Keys whose time has come, in order of time. */
  takeDue(nowMs: number): readonly string[] {
    const due: string[] = [];
    for (let next = this.#first(); next !== undefined && next.atMs <= nowMs; next = this.#first()) {
      this.#heap.pop();
      this.#current.delete(next.key);
      due.push(next.key);
    }
    return due;
  }

  /** When the next one is due; `null` when none waits. */
  nextAtMs(): number | null {
    return this.#first()?.atMs ?? null;
  }

  #first(): Entry | undefined {
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      if (this.#current.get(first.key) === first) return first;
      this.#heap.pop();
    }
    return undefined;
  }
}

/** `retry`: it failed and waits by the limiter. A number: it waits so many milliseconds, and that is no failure. */
export type WorkOutcome = 'done' | 'retry' | number;

interface Workers<Value> {
  readonly workers: number;
  readonly work: (work: Work<Value>) => Promise<WorkOutcome>;
  readonly nowMs: () => number;
  /** Resolves after `ms`, or at once when the signal aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Works a queue off with so many at once. Resolves when the signal has aborted and nothing is in hand any more; rejects with what
 * `work` throws, which nobody foresaw.
 */
export function workOff<Value>(queue: WorkQueue<Value>, options: Workers<Value>): Promise<void> {
  const { workers, work, nowMs, sleep, signal } = options;
  const ended = Promise.withResolvers<void>();
  let timer = new AbortController();
  let isLooking = false;

  /** Once for all that happens in one turn, and never inside of whoever adds. */
  const lookSoon = (): void => {
    if (isLooking) return;
    isLooking = true;
    queueMicrotask(look);
  };
  const look = (): void => {
    isLooking = false;
    // A reason of our own: making an error for each look costs more than the look.
    timer.abort('woken');
    if (!signal.aborted) begin();
    else if (queue.inHand === 0) ended.resolve();
  };
  const begin = (): void => {
    while (queue.inHand < workers) {
      const taken = queue.take();
      if (taken === null) break;
      handle(queue, taken, work).then(lookSoon, ended.reject);
    }
    if (queue.inHand < workers) waitForNext();
  };
  const waitForNext = (): void => {
    const dueAtMs = queue.nextAtMs();
    if (dueAtMs === null) return;
    timer = new AbortController();
    const { signal: current } = timer;
    void sleep(Math.max(0, dueAtMs - nowMs()), current).then(() => {
      if (!current.aborted) lookSoon();
    });
  };

  queue.listen(lookSoon);
  signal.addEventListener('abort', lookSoon, { once: true });
  lookSoon();
  return ended.promise;
}

async function handle<Value>(
  queue: WorkQueue<Value>,
  taken: Work<Value>,
  work: Workers<Value>['work'],
): Promise<void> {
  const outcome = await work(taken);
  if (outcome === 'done') queue.forget(taken.key);
  else if (outcome === 'retry') queue.retry(taken);
  else queue.addAfter(taken, outcome);
  queue.done(taken.key);
}
