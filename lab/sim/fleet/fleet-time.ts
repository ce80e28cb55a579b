import TinyQueue from 'tinyqueue';
import { LinkedController } from '../../../packages/process/linked-controller.ts';

/** The time that all nodes of a fleet live in, in milliseconds since the fleet began; one queue of timers for all. */
export interface FleetTime {
  now(): number;
  /** Calls `action` when it is `atMs`, or soon if that is past. Returns what calls it off. */
  at(atMs: number, action: () => void): () => void;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets time pass until `untilMs`, or until the signal aborts. */
  run(untilMs: number, signal: AbortSignal): Promise<void>;
  /** How much real time the machine was too slow for so far: the fleet lived that much slower than asked. */
  lostRealMs(): number;
}

export interface FleetTimeOptions {
  /** Milliseconds of the fleet in one of the machine; `null`: time jumps from one timer to the next. */
  readonly rate: number | null;
  /** Milliseconds of a clock of the machine that does not jump. */
  readonly realNow: () => number;
  /** Lets the machine do what waits for it, such as answers of the log. */
  readonly yieldToEventLoop: () => Promise<void>;
  /** Resolves after `realMs`, or when the signal aborts. Never rejects. */
  readonly wait: (realMs: number, signal: AbortSignal) => Promise<void>;
}

interface Timer {
  readonly atMs: number;
  /** Among those of one time, the first made goes first. */
  readonly order: number;
  /** `null` once it is called off. */
  action: (() => void) | null;
}

const earliestFirst = (a: Timer, b: Timer): number => a.atMs - b.atMs || a.order - b.order;

/** Further behind than this the time of the fleet slows down, so that nothing that follows comes in a rush. */
const MOST_BEHIND_REAL_MS = 200;

/** Each timer has the machine for itself until all that follows from it at once has happened. */
export const createFleetTime = (options: FleetTimeOptions): FleetTime => new QueuedTime(options);

class QueuedTime implements FleetTime {
  readonly #options: FleetTimeOptions;
  readonly #timers = new TinyQueue<Timer>([], earliestFirst);
  #timersMade = 0;
  #nowMs = 0;
  #lostRealMs = 0;
  #runsUntilMs = 0;
  #anchor: { readonly realMs: number; readonly fleetMs: number };
  #wake = new LinkedController();

  constructor(options: FleetTimeOptions) {
    this.#options = options;
    this.#anchor = { realMs: options.realNow(), fleetMs: 0 };
  }

  now(): number {
    if (this.#options.rate !== null) this.#advance(this.#runsUntilMs);
    return Math.floor(this.#nowMs);
  }

  at(atMs: number, action: () => void): () => void {
    const isFirst = atMs < (this.#timers.peek()?.atMs ?? Number.POSITIVE_INFINITY);
    const timer: Timer = { atMs, order: this.#timersMade++, action };
    this.#timers.push(timer);
    if (isFirst) this.#wake.abort();
    return () => {
      timer.action = null;
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepUntil(this, this.#nowMs + ms, signal);
  }

  async run(untilMs: number, signal: AbortSignal): Promise<void> {
    this.#anchor = { realMs: this.#options.realNow(), fleetMs: this.#nowMs };
    this.#runsUntilMs = untilMs;
    while (this.#nowMs < untilMs && !signal.aborted) await this.#step(untilMs, signal);
  }

  lostRealMs(): number {
    return this.#lostRealMs;
  }

  /** What the machine's clock says it should be. */
  #wantedMs(): number {
    const { rate, realNow } = this.#options;
    const { fleetMs, realMs } = this.#anchor;
    return rate === null ? Number.POSITIVE_INFINITY : fleetMs + (realNow() - realMs) * rate;
  }

  /** Never past a timer that waits to be called. */
  #advance(untilMs: number): void {
    const firstMs = this.#timers.peek()?.atMs ?? untilMs;
    this.#nowMs = Math.max(this.#nowMs, Math.min(untilMs, this.#wantedMs(), firstMs));
  }

  #keepUp(): void {
    const { rate } = this.#options;
    const behindMs = rate === null ? 0 : (this.#wantedMs() - this.#nowMs) / rate - MOST_BEHIND_REAL_MS;
    if (behindMs <= 0) return;
    this.#lostRealMs += behindMs;
    this.#anchor = { ...this.#anchor, realMs: this.#anchor.realMs + behindMs };
  }

  async #step(untilMs: number, signal: AbortSignal): Promise<void> {
    const { rate, yieldToEventLoop, wait } = this.#options;
    const next = this.#timers.peek();
    const nextMs = Math.min(next?.atMs ?? untilMs, untilMs);
    if (nextMs <= this.#wantedMs()) {
      this.#nowMs = Math.max(this.#nowMs, nextMs);
      if (next !== undefined && next.atMs <= this.#nowMs) this.#timers.pop()?.action?.();
      await yieldToEventLoop();
      return this.#keepUp();
    }
    using wake = new LinkedController(signal);
    this.#wake = wake;
    const waitMs = Math.max(0, (nextMs - this.#wantedMs()) / (rate ?? 1));
    await wait(waitMs, wake.signal);
    this.#advance(nextMs);
  }
}

function sleepUntil(
  time: Pick<FleetTime, 'at'>,
  untilMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      signal?.removeEventListener('abort', wake);
      callOff();
      resolve();
    };
    const callOff = time.at(untilMs, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
