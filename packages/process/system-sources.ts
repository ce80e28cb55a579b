import { randomBytes, randomUUID } from 'node:crypto';
import { pause, type Sleep } from './backoff.ts';
import type { TraceIds } from './trace.ts';

/** Each call of the system's generator takes as long as a dozen ids do from what it gave before. */
const POOL_BYTES = 4096;

/** Random bytes in hexadecimal digits, none of them twice. */
function randomHex(): (bytes: number) => string {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (bytes) => {
    if (used + bytes > pool.length) [pool, used] = [randomBytes(POOL_BYTES), 0];
    used += bytes;
    return pool.toString('hex', used - bytes, used);
  };
}

const hexOf = randomHex();

/** Random ids; the chance of all zeros is none worth a branch. */
export const randomTraceIds: TraceIds = {
  traceId: () => hexOf(16),
  spanId: () => hexOf(8),
};

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
