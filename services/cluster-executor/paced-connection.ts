import type { ApiConnection } from '../../packages/kube-api/connection.ts';
import type { Sleep } from '../../packages/process/backoff.ts';
import { type TokenBucket, tokenBucket } from '../../packages/work-queue/rate-limiter.ts';

/** What an executor asks of an API server: upstream's collector has 20 and 30, and doubles them (cluster F12). */
const REQUESTS_PER_SECOND = 50;
const MOST_REQUESTS_AT_ONCE = 100;

export const requestBucket = (): TokenBucket => tokenBucket(REQUESTS_PER_SECOND, MOST_REQUESTS_AT_ONCE);

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
