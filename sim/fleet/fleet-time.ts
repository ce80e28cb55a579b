import TinyQueue from 'tinyqueue';

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
  readonly breathe: () => Promise<void>;
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
export function createFleetTime({ rate, realNow, breathe, wait }: FleetTimeOptions): FleetTime {
  const timers = new TinyQueue<Timer>([], earliestFirst);
  let timersMade = 0;
  let nowMs = 0;
  let lostRealMs = 0;
  let runsUntilMs = 0;
  let anchor = { realMs: realNow(), fleetMs: 0 };
  let wake = new AbortController();

  /** What the machine's clock says it should be. */
  const wantedMs = (): number =>
    rate === null ? Number.POSITIVE_INFINITY : anchor.fleetMs + (realNow() - anchor.realMs) * rate;

  /** Never past a timer that waits to be called. */
  const advance = (untilMs: number): void => {
    nowMs = Math.max(nowMs, Math.min(untilMs, wantedMs(), timers.peek()?.atMs ?? untilMs));
  };

  const keepUp = (): void => {
    const behindMs = rate === null ? 0 : (wantedMs() - nowMs) / rate - MOST_BEHIND_REAL_MS;
    if (behindMs <= 0) return;
    lostRealMs += behindMs;
    anchor = { ...anchor, realMs: anchor.realMs + behindMs };
  };

  const step = async (untilMs: number, signal: AbortSignal): Promise<void> => {
    const next = timers.peek();
    const nextMs = Math.min(next?.atMs ?? untilMs, untilMs);
    if (nextMs <= wantedMs()) {
      nowMs = Math.max(nowMs, nextMs);
      if (next !== undefined && next.atMs <= nowMs) timers.pop()?.action?.();
      await breathe();
      return keepUp();
    }
    wake = new AbortController();
    await wait(Math.max(0, (nextMs - wantedMs()) / (rate ?? 1)), AbortSignal.any([signal, wake.signal]));
    advance(nextMs);
  };

  const at: FleetTime['at'] = (atMs, action) => {
    const isFirst = atMs < (timers.peek()?.atMs ?? Number.POSITIVE_INFINITY);
    const timer: Timer = { atMs, order: timersMade++, action };
    timers.push(timer);
    if (isFirst) wake.abort();
    return () => {
      timer.action = null;
    };
  };

  return {
    now: () => {
      if (rate !== null) advance(runsUntilMs);
      return Math.floor(nowMs);
    },
    at,
    sleep: (ms, signal) => sleepUntil(at, nowMs + ms, signal),
    run: async (untilMs, signal) => {
      anchor = { realMs: realNow(), fleetMs: nowMs };
      runsUntilMs = untilMs;
      while (nowMs < untilMs && !signal.aborted) await step(untilMs, signal);
    },
    lostRealMs: () => lostRealMs,
  };
}

function sleepUntil(at: FleetTime['at'], untilMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      signal?.removeEventListener('abort', wake);
      callOff();
      resolve();
    };
    const callOff = at(untilMs, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
