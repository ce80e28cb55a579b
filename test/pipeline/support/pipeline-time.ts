import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { nextLook } from '../../support/next-look.ts';
import { patiently } from '../../support/patience.ts';

/** A pipeline that has work in hand for so long, without anybody waiting for time to pass, hangs. */
const SETTLE_BOUND_MS = patiently(30_000);
/** Where nobody sleeps, nobody needs to be woken exactly. */
const LONGEST_STEP_MS = 1_000;
/** A look without a sign of work may lie between two of its steps. */
const QUIET_LOOKS = 2;

/** Who sleeps by the time of a pipeline; each process has its own. */
export interface Sleepers {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** How many sleep now. */
  count(): number;
}

/** The time of a whole pipeline. It stands still while anything is being worked on, however long that takes. */
export interface PipelineTime extends ManualClock {
  sleepers(): Sleepers;
  /** Resolves when nobody has anything to do but to wait for time to pass. */
  settled(): Promise<void>;
  pass(ms: number): Promise<void>;
  /** Lets time pass until `work` is done. */
  passDuring(work: Promise<void>): Promise<void>;
  /** Lets time pass until `probe` holds; fails after `boundMs`, saying what it waited for. */
  passUntil(what: string, boundMs: number, probe: () => boolean | Promise<boolean>): Promise<void>;
}

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** `busyWith` names what is being worked on now; `null` when nothing is. */
export function pipelineTime(busyWith: () => string | null): PipelineTime {
  const clock = manualClock();
  const sleeping = new Set<Sleeper>();
  let elapsedMs = 0;

  const settled = async (): Promise<void> => {
    const deadline = performance.now() + SETTLE_BOUND_MS;
    let quiet = 0;
    for (let looks = 0; quiet < QUIET_LOOKS; looks++) {
      await nextLook(looks);
      const work = busyWith();
      quiet = work === null ? quiet + 1 : 0;
      if (performance.now() > deadline) throw new Error(`worked ${SETTLE_BOUND_MS} ms on: ${work}`);
    }
  };

  /** To the next moment at which somebody wakes, but no further than `mostMs`. */
  const step = async (mostMs: number): Promise<number> => {
    await settled();
    const wakes = [...sleeping].map(({ untilMs }) => untilMs - elapsedMs);
    const ms = Math.min(mostMs, ...wakes);
    clock.advance(ms);
    elapsedMs += ms;
    for (const { untilMs, wake } of [...sleeping]) if (untilMs <= elapsedMs) wake();
    return ms;
  };

  const sleep = (own: Set<Sleeper>, ms: number, signal: AbortSignal | undefined): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper: Sleeper = {
      untilMs: elapsedMs + Math.max(ms, 1),
      wake: () => {
        own.delete(sleeper);
        sleeping.delete(sleeper);
        signal?.removeEventListener('abort', sleeper.wake);
        resolve();
      },
    };
    own.add(sleeper);
    sleeping.add(sleeper);
    signal?.addEventListener('abort', sleeper.wake);
    if (signal?.aborted) sleeper.wake();
    return promise;
  };

  const passDuring = async (work: Promise<void>): Promise<void> => {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    work.then(done, done);
    while (!isDone) await step(LONGEST_STEP_MS);
    await work;
  };

  return {
    ...clock,
    settled,
    passDuring,
    sleepers: () => {
      const own = new Set<Sleeper>();
      return { sleep: (ms, signal) => sleep(own, ms, signal), count: () => own.size };
    },
    pass: async (ms) => {
      for (let left = ms; left > 0; ) left -= await step(left);
      await settled();
    },
    passUntil: async (what, boundMs, probe) => {
      const endMs = elapsedMs + boundMs;
      for (;;) {
        await settled();
        if (await probe()) return;
        if (elapsedMs >= endMs) throw new Error(`let ${boundMs} ms pass waiting for: ${what}`);
        await step(endMs - elapsedMs);
      }
    },
  };
}
