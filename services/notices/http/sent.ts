import type { Sent } from '../delivery/attempts.ts';
import type { Answer } from './post.ts';

/** This message can never be taken, however often it comes. */
const NEVER: ReadonlySet<number> = new Set([400, 413, 415, 422]);
/** It has too much to do, or a proxy says that it is not there. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

/** What an answer means for the message; `nowMs` is in epoch milliseconds. */
export function sentBy(answer: Answer, shown: string, nowMs: number): Sent {
  switch (answer.kind) {
    case 'none':
      return { kind: 'away', why: answer.why, retryAfterMs: null };
    case 'refused-address':
      return { kind: 'failed', why: answer.why, retryAfterMs: null };
    case 'answer':
      return ofStatus(answer, shown, nowMs);
  }
}

function ofStatus(
  { status, headers }: Extract<Answer, { readonly kind: 'answer' }>,
  shown: string,
  nowMs: number,
): Sent {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  const why = `${shown} answered with status ${status}${redirect}`;
  if (NEVER.has(status)) return { kind: 'refused', why };
  const retryAfterMs = retryAfterOf(headers['retry-after'], nowMs);
  return { kind: NOT_NOW.has(status) ? 'away' : 'failed', why, retryAfterMs };
}

/** In seconds, or as a time. */
function retryAfterOf(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
