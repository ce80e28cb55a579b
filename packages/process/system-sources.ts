import { randomUUID } from 'node:crypto';
import { pause, type Sleep } from './backoff.ts';
import type { TraceIds } from './trace.ts';
import { randomTraceIds } from './trace-ids.ts';

/** Time and chance, which nothing below a `main.ts` takes by itself. */
export interface Sources {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
  /** 0 <= number < 1. */
  readonly random: () => number;
  /** A new unique id. */
  readonly newId: () => string;
  readonly traceIds: TraceIds;
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  readonly wait: Sleep;
}

/** Those of this machine. */
export const systemSources: Sources = {
  now: Date.now,
  monotonicNow: () => performance.now(),
  random: Math.random,
  newId: randomUUID,
  traceIds: randomTraceIds,
  wait: pause,
};
