import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { type TokenBucket, tokenBucket } from '../../../packages/kube-api/rate-limiter.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';

/** What an executor asks of an API server, after twice as many at once (cluster F12). */
export const requestBucket = (perSecond: number): TokenBucket => tokenBucket(perSecond, 2 * perSecond);

/** As upstream's collector has. */
const MOST_WORKERS = 20;
/** So long a request may wait for the others: what was looked at last should hold at the deed. */
const MOST_PACED_MS = 400;

/** How many objects are worked on at once. */
export const workersFor = (requestsPerSecond: number): number =>
  Math.min(MOST_WORKERS, Math.max(1, Math.floor((requestsPerSecond * MOST_PACED_MS) / 1_000)));

export interface Pacing {
  readonly bucket: TokenBucket;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  readonly sleep: Sleep;
  /** Ends reads that are under way; what writes is finished. */
  readonly signal: AbortSignal;
}

/** A connection whose requests wait for their turn, and are counted. */
export interface PacedConnection {
  readonly connection: ApiConnection;
  readonly requests: () => number;
}

export function pacedConnection(
  connection: ApiConnection,
  { bucket, nowMs, sleep, signal }: Pacing,
): PacedConnection {
  let requests = 0;
  const turn = async (): Promise<void> => {
    const waitMs = bucket.reserveMs(nowMs());
    if (waitMs > 0) await sleep(waitMs, signal);
    requests++;
  };
  return {
    requests: () => requests,
    connection: {
      clock: connection.clock,
      call: async (request) => {
        await turn();
        return request.method === 'GET' ? connection.call(request, signal) : connection.call(request);
      },
      stream: connection.stream,
      [Symbol.dispose]: () => undefined,
    },
  };
}
