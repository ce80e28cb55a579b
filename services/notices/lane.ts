import type { Logger } from 'pino';
import { backoffMs, type RetryBackoff } from '../../packages/process/backoff.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import { createWakeSignal } from '../../packages/process/loops.ts';
import { sparingly } from '../../packages/process/sparingly.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import { counted } from '../../packages/text/counted.ts';
import type { DropReason } from '../../schemas/notices/notice.ts';
import {
  type Dropped,
  joinKey,
  type Message,
  newestMs,
  type Receiver,
  type Sent,
  shareKey,
} from './message.ts';
import type { LaneMetrics } from './metrics.ts';
import { type MatchingRule, type Notice, ruleFor } from './notices.ts';

interface LaneSettings {
  readonly name: string;
  readonly receiver: Receiver;
  readonly rules: readonly MatchingRule[];
  readonly maxAgeMs: number;
  readonly metrics: LaneMetrics;
  readonly logger: Logger;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow' | 'random' | 'wait'>;
}

/** @limit Notices that wait for one receiver. */
export const MOST_WAITING = 20_000;
/** Of so many it is remembered that they were delivered: what comes again after a failure is not told again. */
const MOST_REMEMBERED = 20_000;
/** Who waits is woken when something comes. */
const IDLE_MS = 600_000;

/** Of what is dropped for one reason; the metric counts all of it. */
const MOST_LINES_A_MINUTE = 6;

/**
 * The way to one receiver: what is offered waits here until it was delivered or dropped. Nobody waits for another receiver. The life of a
 * notice:
 *
 * 1. A rule wants it, and it is not delivered yet. Else it is settled at once.
 * 2. It waits with the others of its rule. Where too many wait already, it is dropped.
 * 3. Its turn: who waits longest goes first, as soon as the pace of its rule allows a message.
 * 4. It is sent, with what was dropped since the last message that got through.
 * 5. It is delivered, sent again later, or dropped with the reason.
 * 6. It is settled: the slice of the log that it came from may be acknowledged.
 */
export class Lane {
  readonly #settings: LaneSettings;
  readonly #lines: readonly RuleLine[];
  readonly #delivered = new Set<string>();
  readonly #wake: ReturnType<typeof createWakeSignal>;
  readonly #mayTell: (reason: DropReason) => boolean;
  #dropped: Dropped = {};
  #problem: string | null = null;

  constructor(settings: LaneSettings) {
    const { rules, sources, metrics } = settings;
    this.#settings = settings;
    const atMs = sources.monotonicNow();
    this.#lines = rules.map((rule) => new RuleLine(rule, atMs));
    this.#wake = createWakeSignal(sources.wait);
    this.#mayTell = sparingly(MOST_LINES_A_MINUTE, sources.monotonicNow);
    metrics.watch(() => this.#waiting());
  }

  /** Why the receiver cannot be reached at the moment, in a sentence; `null` while it can. */
  problem(): string | null {
    return this.#problem;
  }

  /**
   * Resolves when each of them that a rule wants was delivered or dropped. When `signal` aborts it resolves too, and what was not
   * delivered by then is withdrawn.
   */
  async offer(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const taken = notices.flatMap((notice) => this.#take(notice) ?? []);
    if (taken.length === 0) return;
    const { promise: stopped, resolve } = Promise.withResolvers<void>();
    const stop = (): void => resolve();
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    this.#wake.wake();
    await Promise.race([Promise.all(taken.map(({ settled }) => settled)), stopped]);
    signal.removeEventListener('abort', stop);
    if (signal.aborted) this.#withdraw(new Set(taken.map(({ waiting }) => waiting)));
  }

  #take(notice: Notice): { readonly waiting: Waiting; readonly settled: Promise<void> } | null {
    const { rules } = this.#settings;
    // 1. A rule wants it.
    const rule = ruleFor(rules, notice);
    const line = this.#lines.find((each) => each.rule === rule);
    if (line === undefined || this.#delivered.has(notice.id)) return null;
    // 2. It waits.
    if (this.#waiting() >= MOST_WAITING) {
      this.#drop('queue-full', 1);
      return null;
    }
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    const waiting = { notice, settle };
    line.waiting.push(waiting);
    return { waiting, settled };
  }

  #waiting(): number {
    return this.#lines.reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  #withdraw(withdrawn: ReadonlySet<Waiting>): void {
    for (const line of this.#lines) line.waiting = line.waiting.filter((each) => !withdrawn.has(each));
  }

  /** Delivers until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#dropOld();
      const next = this.#next();
      if ('waitMs' in next) await this.#wake.wait(next.waitMs, signal);
      else await this.#deliver(next.line, next.waiting, signal);
    }
  }

  /** 3. Its turn. Who waits longest goes first. */
  #next(): { readonly line: RuleLine; readonly waiting: readonly Waiting[] } | { readonly waitMs: number } {
    const nowMs = this.#settings.sources.monotonicNow();
    const lines = this.#lines
      .filter(({ waiting }) => waiting.length > 0)
      .toSorted((a, b) => a.firstMs() - b.firstMs());
    let waitMs = IDLE_MS;
    for (const line of lines) {
      const next = line.next(nowMs);
      if ('waiting' in next) return { ...next, line };
      waitMs = Math.min(waitMs, next.waitMs);
    }
    return { waitMs };
  }

  async #deliver(line: RuleLine, sent: readonly Waiting[], signal: AbortSignal): Promise<void> {
    const [first, ...more] = sent.map(({ notice }) => notice);
    if (first === undefined) return;
    line.begin(sent, this.#settings.sources.monotonicNow());
    // 4. It is sent.
    const message: Message = { rule: line.rule.name, notices: [first, ...more], dropped: this.#dropped };
    const end = await this.#untilSettled(message, signal);
    if (end === 'stopped') return;
    // 5. Delivered, or dropped.
    const done = new Set(sent);
    line.waiting = line.waiting.filter((each) => !done.has(each));
    if (end === 'delivered') this.#wasDelivered(message);
    else this.#drop(end, sent.length);
    // 6. It is settled.
    for (const { settle } of sent) settle();
  }

  /** Tries until the receiver has it, or it is given up. */
  async #untilSettled(message: Message, signal: AbortSignal): Promise<'delivered' | 'stopped' | DropReason> {
    const { receiver, sources } = this.#settings;
    for (let made = 0, failed = 0; !signal.aborted; made += 1) {
      const sent = await receiver.send(message, signal);
      if (signal.aborted && sent.kind !== 'delivered') break;
      this.#tell(sent);
      const next = goesOn(sent, { made, failed }, sources.random);
      if (next.kind === 'delivered') return 'delivered';
      if (next.kind === 'dropped') return next.because;
      failed += Number(sent.kind === 'failed');
      const leftMs = this.#leftMs(message);
      if (leftMs <= 0) return 'too-old';
      await sources.wait(Math.min(next.ms, leftMs), signal);
    }
    return 'stopped';
  }

  /** How long the message may still be tried. */
  #leftMs(message: Message): number {
    const { maxAgeMs, sources } = this.#settings;
    return newestMs(message) + maxAgeMs - sources.now();
  }

  /** Says once that a receiver cannot be reached, and once that it can again. */
  #tell(sent: Sent): void {
    const { name, logger, metrics } = this.#settings;
    if (sent.kind === 'delivered') {
      if (this.#problem !== null) logger.info({ receiver: name }, 'notices reach the receiver again');
      this.#problem = null;
      return;
    }
    metrics.failedAttempt();
    if (this.#problem === null) logger.warn({ receiver: name }, `a notice did not reach it: ${sent.why}`);
    this.#problem = sent.why;
  }

  #wasDelivered({ notices, dropped }: Message): void {
    this.#settings.metrics.ended('delivered', notices.length);
    for (const { id } of notices) this.#delivered.add(id);
    for (const id of this.#delivered) {
      if (this.#delivered.size <= MOST_REMEMBERED) break;
      this.#delivered.delete(id);
    }
    // What was dropped while the message was on its way is told with the next one.
    this.#dropped = Object.fromEntries(
      Object.entries(this.#dropped).flatMap(([reason, count]) => {
        const left = count - (isReasonIn(reason, dropped) ? (dropped[reason] ?? 0) : 0);
        return left > 0 ? [[reason, left]] : [];
      }),
    );
  }

  #dropOld(): void {
    const { maxAgeMs, sources } = this.#settings;
    const oldestMs = sources.now() - maxAgeMs;
    for (const line of this.#lines) {
      const old = line.waiting.filter(({ notice }) => notice.atMs < oldestMs);
      if (old.length === 0) continue;
      line.waiting = line.waiting.filter(({ notice }) => notice.atMs >= oldestMs);
      this.#drop('too-old', old.length);
      for (const { settle } of old) settle();
    }
  }

  #drop(reason: DropReason, count: number): void {
    const { name, logger, metrics } = this.#settings;
    metrics.ended(reason, count);
    this.#dropped = { ...this.#dropped, [reason]: (this.#dropped[reason] ?? 0) + count };
    if (!this.#mayTell(reason)) return;
    logger.warn(
      { receiver: name, reason, dropped: count },
      `${counted(count, 'notice was', 'notices were')} dropped (${reason}); the next one that gets through says how many`,
    );
  }
}

const isReasonIn = (reason: string, dropped: Dropped): reason is DropReason => Object.hasOwn(dropped, reason);

/** A notice that was neither delivered nor dropped yet. */
interface Waiting {
  readonly notice: Notice;
  readonly settle: () => void;
}

/** Of the messages of a minute so many are kept for whom nobody has heard of lately. */
const KEPT_SHARE = 0.5;

/** What waits of one rule, in the order in which it came, and how many messages may go. Times are those of a clock that does not jump. */
class RuleLine {
  readonly rule: MatchingRule;
  waiting: Waiting[] = [];
  /** How many messages may go, at `#allowedAtMs`: it grows by itself, up to that of a whole minute. */
  #allowed: number;
  #allowedAtMs: number;
  /** Whom a message of the last minute was about, each alone. */
  readonly #busySinceMs = new Map<string, number>();

  constructor(rule: MatchingRule, nowMs: number) {
    this.rule = rule;
    this.#allowed = rule.mostPerMinute;
    this.#allowedAtMs = nowMs;
  }

  firstMs(): number {
    return this.waiting[0]?.notice.atMs ?? 0;
  }

  /**
   * What the next message tells, or how long until there may be one. Each thing by itself as long as the allowance lasts; the last message
   * that is allowed tells all that wait. What goes on about the same thing has no more than its share, so that it never takes the place of
   * the others.
   */
  next(nowMs: number): { readonly waiting: readonly Waiting[] } | { readonly waitMs: number } {
    this.#forgetOld(nowMs);
    const { mostPerMinute } = this.rule;
    const rested = this.waiting.find(({ notice }) => !this.#busySinceMs.has(shareKey(notice)));
    const kept = rested === undefined ? Math.floor(mostPerMinute * KEPT_SHARE) : 0;
    const messages = this.#allowedNow(nowMs) - kept;
    if (messages < 1) return { waitMs: Math.ceil(((1 - messages) / mostPerMinute) * MINUTE_MS) };
    const first = rested ?? this.waiting[0];
    // A copy: what comes while these are sent goes with the next message.
    if (first === undefined || messages < 2) return { waiting: [...this.waiting] };
    const key = joinKey(first.notice);
    return { waiting: this.waiting.filter(({ notice }) => joinKey(notice) === key) };
  }

  /** A message that tells these goes now. */
  begin(sent: readonly Waiting[], nowMs: number): void {
    this.#allowed = this.#allowedNow(nowMs) - 1;
    this.#allowedAtMs = nowMs;
    const about = new Set(sent.map(({ notice }) => shareKey(notice)));
    const [only] = about;
    if (only !== undefined && about.size === 1) this.#busySinceMs.set(only, nowMs);
  }

  #allowedNow(nowMs: number): number {
    const { mostPerMinute } = this.rule;
    const grown = ((nowMs - this.#allowedAtMs) / MINUTE_MS) * mostPerMinute;
    return Math.min(mostPerMinute, this.#allowed + Math.max(0, grown));
  }

  #forgetOld(nowMs: number): void {
    for (const [key, sinceMs] of this.#busySinceMs)
      if (nowMs - sinceMs >= MINUTE_MS) this.#busySinceMs.delete(key);
  }
}

/**
 * So often a receiver that answers with an error is tried with one message: about ten minutes.
 * @limit Failed deliveries before a notice is dropped.
 */
export const MOST_FAILURES = 12;
/** No receiver has more to say about when to come back. */
const MOST_RETRY_AFTER_MS = 15 * MINUTE_MS;
const BACKOFF: RetryBackoff = { firstMs: 1_000, mostMs: MINUTE_MS };

/** How it goes on with a message after an attempt; `again` says in how many milliseconds. */
type GoesOn =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'dropped'; readonly because: 'refused' | 'failed' }
  | { readonly kind: 'again'; readonly ms: number };

/** Before this attempt `made` were made, and `failed` of them were answered with an error. */
function goesOn(
  sent: Sent,
  { made, failed }: { readonly made: number; readonly failed: number },
  random: () => number,
): GoesOn {
  if (sent.kind === 'delivered') return sent;
  if (sent.kind === 'refused') return { kind: 'dropped', because: 'refused' };
  if (sent.kind === 'failed' && failed + 1 >= MOST_FAILURES) return { kind: 'dropped', because: 'failed' };
  const wished = Math.min(sent.retryAfterMs ?? 0, MOST_RETRY_AFTER_MS);
  return { kind: 'again', ms: Math.max(wished, backoffMs(BACKOFF, made, random)) };
}
