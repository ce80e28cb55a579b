import { MINUTE_MS } from '../../../packages/process/durations.ts';
import type { MatchingRule } from '../matching.ts';
import type { Notice } from '../notice.ts';
import { ofOne, shareKey } from './joined.ts';
import { type Allowance, afterOneMessage, fullAllowance, paceOf } from './pace.ts';

/** A notice that was neither delivered nor dropped yet. */
export interface Waiting {
  readonly notice: Notice;
  readonly settle: () => void;
}

type Next =
  | { readonly kind: 'send'; readonly waiting: readonly Waiting[] }
  | { readonly kind: 'wait'; readonly ms: number };

/** What waits of one rule, in the order in which it came. */
export class RuleLine {
  readonly rule: MatchingRule;
  waiting: Waiting[] = [];
  #allowance: Allowance;
  /** Whom a message of the last minute was about, each alone. */
  readonly #busySinceMs = new Map<string, number>();

  /** Times are milliseconds of a clock that does not jump. */
  constructor(rule: MatchingRule, nowMs: number) {
    this.rule = rule;
    this.#allowance = fullAllowance(rule.mostPerMinute, nowMs);
  }

  firstMs(): number {
    return this.waiting[0]?.notice.atMs ?? 0;
  }

  /** What the next message may tell now, or how long until there may be one. */
  next(nowMs: number): Next {
    this.#forgetOld(nowMs);
    const rested = this.waiting.find(({ notice }) => !this.#busySinceMs.has(shareKey(notice)));
    const first = rested ?? this.waiting[0];
    const pace = paceOf({ ...this.#spending(), isAllBusy: rested === undefined }, nowMs);
    if (pace.kind === 'wait') return pace;
    const isOne = first !== undefined && pace.what === 'one';
    return { kind: 'send', waiting: isOne ? ofOne(first, this.waiting) : this.waiting };
  }

  /** A message that tells these goes now. */
  begin(sent: readonly Waiting[], nowMs: number): void {
    this.#allowance = afterOneMessage(this.#spending(), nowMs);
    const about = new Set(sent.map(({ notice }) => shareKey(notice)));
    const [only] = about;
    if (only !== undefined && about.size === 1) this.#busySinceMs.set(only, nowMs);
  }

  #spending() {
    return { mostPerMinute: this.rule.mostPerMinute, allowance: this.#allowance };
  }

  #forgetOld(nowMs: number): void {
    for (const [key, sinceMs] of this.#busySinceMs)
      if (nowMs - sinceMs >= MINUTE_MS) this.#busySinceMs.delete(key);
  }
}
