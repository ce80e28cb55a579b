import { backoffMs, type RetryBackoff } from '../../../packages/process/backoff.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';

/** What came of one attempt to reach a receiver. `why` is a sentence for people, without secrets. */
export type Sent =
  | { readonly kind: 'delivered' }
  /** The receiver says that it never takes this message. */
  | { readonly kind: 'refused'; readonly why: string }
  /** It answered, and with an error. */
  | { readonly kind: 'failed'; readonly why: string; readonly retryAfterMs: number | null }
  /** It is not there, or has too much to do. */
  | { readonly kind: 'away'; readonly why: string; readonly retryAfterMs: number | null };

/** So often a receiver that answers with an error is tried with one message: about ten minutes. */
export const MOST_FAILURES = 12;
/** No receiver has more to say about when to come back. */
export const MOST_RETRY_AFTER_MS = 15 * MINUTE_MS;
const BACKOFF: RetryBackoff = { firstMs: 1_000, mostMs: MINUTE_MS };

/** How it goes on with a message after an attempt; `again` says in how many milliseconds. */
export type GoesOn =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'dropped'; readonly because: 'refused' | 'failed' }
  | { readonly kind: 'again'; readonly ms: number };

export interface Attempts {
  /** Attempts before this one. */
  readonly made: number;
  /** Of them, those that were answered with an error. */
  readonly failed: number;
}

export function goesOn(sent: Sent, { made, failed }: Attempts, random: () => number): GoesOn {
  if (sent.kind === 'delivered') return sent;
  if (sent.kind === 'refused') return { kind: 'dropped', because: 'refused' };
  if (sent.kind === 'failed' && failed + 1 >= MOST_FAILURES) return { kind: 'dropped', because: 'failed' };
  const wished = Math.min(sent.retryAfterMs ?? 0, MOST_RETRY_AFTER_MS);
  return { kind: 'again', ms: Math.max(wished, backoffMs(BACKOFF, made, random)) };
}
