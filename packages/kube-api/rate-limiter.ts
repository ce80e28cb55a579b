/** How long an item waits that failed: client-go's default limiter of controllers, which the control plane's collectors have. */
export interface RateLimiter {
  /** Counts one more failure of the item and takes a token; milliseconds until it may be tried again. */
  delayMs(key: string, nowMs: number): number;
  /** The item has no failures any more. Tokens that it took stay taken (cluster F3, F5). */
  forget(key: string): void;
  failures(key: string): number;
}

const FIRST_DELAY_MS = 5;
/** @limit Longest backoff of a failed object, as client-go. */
const MAX_DELAY_MS = 1_000_000;
const TOKENS_PER_SECOND = 10;
const MAX_TOKENS = 100;

/** The longer of both delays; both count on with each call (cluster F4). */
export function rateLimiter(): RateLimiter {
  const backoff = itemBackoff();
  const bucket = tokenBucket(TOKENS_PER_SECOND, MAX_TOKENS);
  return {
    delayMs: (key, nowMs) => Math.max(backoff.delayMs(key), bucket.reserveMs(nowMs)),
    forget: backoff.forget,
    failures: backoff.failures,
  };
}

interface ItemBackoff extends Pick<RateLimiter, 'forget' | 'failures'> {
  delayMs(key: string): number;
}

/** 5 ms, doubled with each failure of the item, at most 1000 s (cluster F2, N4). */
export function itemBackoff(): ItemBackoff {
  const failures = new Map<string, number>();
  return {
    delayMs: (key) => {
      const before = failures.get(key) ?? 0;
      failures.set(key, before + 1);
      return Math.min(FIRST_DELAY_MS * 2 ** before, MAX_DELAY_MS);
    },
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
  };
}

export interface TokenBucket {
  /** Takes one token; milliseconds until it is there. It is never given back (cluster F3, N5). */
  reserveMs(nowMs: number): number;
}

/** Starts full. Below zero tokens are owed, and each caller waits for its own. */
export function tokenBucket(perSecond: number, most: number): TokenBucket {
  let tokens = most;
  let lastMs: number | null = null;
  return {
    reserveMs: (nowMs) => {
      const sinceMs = lastMs === null ? 0 : Math.max(0, nowMs - lastMs);
      lastMs = Math.max(nowMs, lastMs ?? nowMs);
      tokens = Math.min(most, tokens + (sinceMs * perSecond) / 1000) - 1;
      return tokens >= 0 ? 0 : (-tokens * 1000) / perSecond;
    },
  };
}
