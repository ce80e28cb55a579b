import type { Sleep } from '../../process/backoff.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { longestMs, oldestMs, type ReadingNeeds, readBackAll } from './follow-log.ts';
import { PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import type { ProjectedLog } from './standing.ts';

const HISTORY_IDLE_MS = MINUTE_MS;

interface PastNeeds {
  readonly reading: ReadingNeeds;
  readonly kind: ProjectedLog['kind'];
  readonly historyMs: number;
  /** Epoch milliseconds: an archive stands still. */
  readonly now: () => number;
  readonly wait: Sleep;
}

/** What lies on the log before that which is followed. */
export class Past {
  readonly #needs: PastNeeds;
  /** Before them there is nothing to read. */
  readonly #oldestMs = new Map<ProjectedTopic, number>();

  constructor(needs: PastNeeds) {
    this.#needs = needs;
  }

  /** Reads all that is wanted, again and again, since what was read is let go in time. */
  async read(startedMs: number, signal: AbortSignal): Promise<void> {
    const { reading, now, wait } = this.#needs;
    for (const topic of PROJECTED_TOPICS)
      this.#oldestMs.set(topic, (await oldestMs(topic, reading, signal)) ?? startedMs);
    const rangeOf = (topic: ProjectedTopic) => ({
      sinceMs: this.wantedSinceMs(topic, now()),
      beforeMs: startedMs + 1,
    });
    while (!signal.aborted) {
      const isMore = await readBackAll(PROJECTED_TOPICS, reading, rangeOf, signal);
      if (!isMore) await wait(HISTORY_IDLE_MS, signal);
    }
  }

  /** What the log has deleted, or never had, is not looked for. */
  wantedSinceMs(topic: ProjectedTopic, nowMs: number): number {
    const { kind, historyMs, reading } = this.#needs;
    return Math.max(
      nowMs - Math.min(historyMs, longestMs(topic, kind)),
      reading.store.keepsSinceMs(topic),
      this.#oldestMs.get(topic) ?? 0,
    );
  }
}
