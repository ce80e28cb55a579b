import type { Logger } from 'pino';
import { createWakeSignal } from '../../../packages/process/loops.ts';
import { sparingly } from '../../../packages/process/sparingly.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import { counted } from '../../../packages/text/counted.ts';
import type { DropReason } from '../../../schemas/notices/notice.ts';
import { type MatchingRule, ruleFor } from '../matching.ts';
import type { Notice } from '../notice.ts';
import type { LaneMetrics } from '../notice-metrics.ts';
import { goesOn, type Sent } from './attempts.ts';
import type { Dropped, Message } from './message.ts';
import { RuleLine, type Waiting } from './rule-line.ts';

/** Who is told. Never rejects. */
export interface Receiver {
  send(message: Message, signal: AbortSignal): Promise<Sent>;
}

export interface LaneSettings {
  readonly name: string;
  readonly receiver: Receiver;
  readonly rules: readonly MatchingRule[];
  readonly maxAgeMs: number;
  readonly metrics: LaneMetrics;
  readonly logger: Logger;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow' | 'random' | 'wait'>;
}

/** So many wait at most; what comes beyond is dropped, counted and told. */
export const MOST_WAITING = 20_000;
/** Of so many it is remembered that they were delivered: what comes again after a failure is not told again. */
const MOST_REMEMBERED = 20_000;
/** Who waits is woken when something comes. */
const IDLE_MS = 600_000;

/** Of what is dropped for one reason; the metric counts all of it. */
const MOST_LINES_A_MINUTE = 6;

/** The way to one receiver: what is offered waits here until it was delivered or dropped. Nobody waits for another receiver. */
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
    const rule = ruleFor(rules, notice);
    const line = this.#lines.find((each) => each.rule === rule);
    if (line === undefined || this.#delivered.has(notice.id)) return null;
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
      if (next.kind === 'wait') await this.#wake.wait(next.ms, signal);
      else await this.#deliver(next.line, next.waiting, signal);
    }
  }

  /** Who waits longest goes first. */
  #next():
    | { readonly kind: 'send'; readonly line: RuleLine; readonly waiting: readonly Waiting[] }
    | { readonly kind: 'wait'; readonly ms: number } {
    const nowMs = this.#settings.sources.monotonicNow();
    const lines = this.#lines
      .filter(({ waiting }) => waiting.length > 0)
      .toSorted((a, b) => a.firstMs() - b.firstMs());
    let ms = IDLE_MS;
    for (const line of lines) {
      const next = line.next(nowMs);
      if (next.kind === 'send') return { ...next, line };
      ms = Math.min(ms, next.ms);
    }
    return { kind: 'wait', ms };
  }

  async #deliver(line: RuleLine, sent: readonly Waiting[], signal: AbortSignal): Promise<void> {
    const [first, ...more] = sent.map(({ notice }) => notice);
    if (first === undefined) return;
    line.begin(sent, this.#settings.sources.monotonicNow());
    const message: Message = { rule: line.rule.name, notices: [first, ...more], dropped: this.#dropped };
    const end = await this.#untilSettled(message, signal);
    if (end === 'stopped') return;
    const done = new Set(sent);
    line.waiting = line.waiting.filter((each) => !done.has(each));
    if (end === 'delivered') this.#wasDelivered(message);
    else this.#drop(end, sent.length);
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
    return this.#youngestMs(message) + maxAgeMs - sources.now();
  }

  #youngestMs({ notices }: Message): number {
    return notices.reduce((youngest, { atMs }) => Math.max(youngest, atMs), 0);
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
