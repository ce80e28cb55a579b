import type { SubscriptionState } from '../../packages/log/port.ts';
import { DAY_MS, MINUTE_MS } from '../../packages/process/durations.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { ABOUT_NOBODY, type Notice, notice } from './notice.ts';

/** Each node tells of itself every minute. */
export const LOG_STILL_AFTER_MS = 10 * MINUTE_MS;

/** Whether anything from a node came onto the log since then, in whatever partition; `null` where the log does not tell. */
export type HasSince = (sinceMs: number) => Promise<boolean | null>;

/** Whether the log moves. Only the replica that reads the first partition tells of a log without news; each tells that it cannot read. */
export class StandingLog {
  #newestMs = Number.NEGATIVE_INFINITY;
  #unreadableSinceMs: number | null = null;
  /** Since when it stands still, where that was told. */
  #toldMs: number | null = null;

  /** Something from a node was read; when the log took it. */
  heard(atMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, atMs);
  }

  /** `nowMs` is in epoch milliseconds. */
  async look(state: SubscriptionState, nowMs: number, hasSince: HasSince): Promise<readonly Notice[]> {
    const problem = state.problem ?? (state.joined ? null : 'the group of this receiver is not joined');
    if (problem !== null) return this.#unreadable(problem, nowMs);
    this.#unreadableSinceMs = null;
    const isStill = await this.#isStill(state, nowMs, hasSince);
    if (isStill && this.#toldMs === null) return [this.#still(nowMs)];
    return isStill || this.#toldMs === null ? [] : [this.#movesAgain(this.#toldMs, nowMs)];
  }

  #unreadable(problem: string, nowMs: number): readonly Notice[] {
    this.#unreadableSinceMs ??= nowMs;
    const sinceMs = this.#unreadableSinceMs;
    if (nowMs - sinceMs < LOG_STILL_AFTER_MS || this.#toldMs !== null) return [];
    this.#toldMs = sinceMs;
    const text = `the event log cannot be read since ${timeText(sinceMs)}: ${problem}. Until it can, nobody is told what happens`;
    return [standing('log-silent', sinceMs, nowMs, text)];
  }

  async #isStill({ assigned }: SubscriptionState, nowMs: number, hasSince: HasSince): Promise<boolean> {
    if (nowMs - this.#newestMs < LOG_STILL_AFTER_MS) return false;
    if (!assigned.includes(`${TOPICS.diskStats.name}/0`)) return false;
    const isTold = this.#toldMs !== null;
    const hasNews = await hasSince(nowMs - LOG_STILL_AFTER_MS);
    // Where the log does not tell, it is for nobody to say that it stands still, nor that it moves again.
    if (hasNews === null) return isTold;
    if (hasNews) {
      // In partitions of others; it is asked again as late as the next silence could be told.
      this.#newestMs = nowMs;
      return false;
    }
    return isTold || (await hasSince(nowMs - DAY_MS)) === true;
  }

  #still(nowMs: number): Notice {
    const sinceMs = Number.isFinite(this.#newestMs) ? this.#newestMs : nowMs - LOG_STILL_AFTER_MS;
    this.#toldMs = sinceMs;
    const text = `nothing came onto the event log from any node since ${timeText(sinceMs)}. Do the agents run, and do the brokers take what they write?`;
    return standing('log-silent', sinceMs, nowMs, text);
  }

  #movesAgain(sinceMs: number, nowMs: number): Notice {
    this.#toldMs = null;
    return standing(
      'log-heard-again',
      sinceMs,
      nowMs,
      `the event log moves again; it stood still since ${timeText(sinceMs)}`,
    );
  }
}

const standing = (
  kind: 'log-silent' | 'log-heard-again',
  sinceMs: number,
  nowMs: number,
  text: string,
): Notice =>
  notice(
    kind,
    { id: `log ${sinceMs}`, atMs: nowMs },
    { about: ABOUT_NOBODY, text, facts: { since: timeText(sinceMs) } },
  );
