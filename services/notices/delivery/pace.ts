import { MINUTE_MS } from '../../../packages/process/durations.ts';

/** How many messages of a rule may go now, at a time in milliseconds of a clock that does not jump. */
export interface Allowance {
  readonly messages: number;
  readonly atMs: number;
}

/** What of one rule waits. */
export interface RuleQueue {
  readonly mostPerMinute: number;
  /** How many notices. */
  readonly waiting: number;
  readonly allowance: Allowance;
}

/** One message with so many of the notices that wait, or how long until there may be one. */
export type Pace =
  | { readonly kind: 'send'; readonly notices: number }
  | { readonly kind: 'wait'; readonly ms: number };

export const fullAllowance = (mostPerMinute: number, nowMs: number): Allowance => ({
  messages: mostPerMinute,
  atMs: nowMs,
});

/** It grows by itself, up to that of a whole minute. */
export function allowanceAt({ mostPerMinute, allowance }: RuleQueue, nowMs: number): number {
  const grown = ((nowMs - allowance.atMs) / MINUTE_MS) * mostPerMinute;
  return Math.min(mostPerMinute, allowance.messages + Math.max(0, grown));
}

/** Each notice by itself as long as the allowance lasts; the last message that is allowed tells all that wait. */
export function paceOf(queue: RuleQueue, nowMs: number): Pace {
  const messages = allowanceAt(queue, nowMs);
  if (messages < 1)
    return { kind: 'wait', ms: Math.ceil(((1 - messages) / queue.mostPerMinute) * MINUTE_MS) };
  return { kind: 'send', notices: messages >= 2 ? 1 : queue.waiting };
}

export const afterOneMessage = (queue: RuleQueue, nowMs: number): Allowance => ({
  messages: allowanceAt(queue, nowMs) - 1,
  atMs: nowMs,
});
