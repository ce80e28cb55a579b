import type { Work, WorkQueue } from './work-queue.ts';

/** `retry`: it failed and waits by the limiter. A number: it waits so many milliseconds, and that is no failure. */
export type WorkOutcome = 'done' | 'retry' | number;

export interface Workers<Value> {
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
