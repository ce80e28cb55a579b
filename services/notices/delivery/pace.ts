import { MINUTE_MS } from '../../../packages/process/durations.ts';

/** How many messages of a rule may go now, at a time in milliseconds of a clock that does not jump. */
export interface Allowance {
  readonly messages: number;
  readonly atMs: number;
}

/** What of one rule waits. */
export interface RuleQueue {
  readonly mostPerMinute: number;
  /** Whether all of it is about somebody who had a message within the last minute. */
  readonly isAllBusy: boolean;
  readonly allowance: Allowance;
}

/** One message, about one thing or about all that wait; or how long until there may be one. */
export type Pace =
  | { readonly kind: 'send'; readonly what: 'one' | 'all' }
  | { readonly kind: 'wait'; readonly ms: number };

/** Of the messages of a minute so many are kept for whom nobody has heard of lately. */
const KEPT_SHARE = 0.5;

export const fullAllowance = (mostPerMinute: number, nowMs: number): Allowance => ({
  messages: mostPerMinute,
  atMs: nowMs,
});

/** It grows by itself, up to that of a whole minute. */
export function allowanceAt(
  { mostPerMinute, allowance }: Pick<RuleQueue, 'mostPerMinute' | 'allowance'>,
  nowMs: number,
): number {
  const grown = ((nowMs - allowance.atMs) / MINUTE_MS) * mostPerMinute;
  return Math.min(mostPerMinute, allowance.messages + Math.max(0, grown));
}

/**
 * Each thing by itself as long as the allowance lasts; the last message that is allowed tells all that wait. What goes on about the same
 * thing has no more than its share, so that it never takes the place of the others.
 */
export function paceOf(queue: RuleQueue, nowMs: number): Pace {
  const { mostPerMinute, isAllBusy } = queue;
  const kept = isAllBusy ? Math.floor(mostPerMinute * KEPT_SHARE) : 0;
  const messages = allowanceAt(queue, nowMs) - kept;
  if (messages < 1) return { kind: 'wait', ms: Math.ceil(((1 - messages) / mostPerMinute) * MINUTE_MS) };
  return { kind: 'send', what: messages >= 2 ? 'one' : 'all' };
}

export const afterOneMessage = (
  queue: Pick<RuleQueue, 'mostPerMinute' | 'allowance'>,
  nowMs: number,
): Allowance => ({ messages: allowanceAt(queue, nowMs) - 1, atMs: nowMs });
