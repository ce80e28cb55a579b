import { SILENT_AFTER_MS } from '../../packages/fleet-watch/node-track.ts';
import type { LogRecord, SubscriptionState } from '../../packages/log/port.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import { deciderOf } from '../../packages/records/node-decisions.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { DeciderName } from '../../schemas/events/object-kinds.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { ABOUT_NOBODY, type Notice, notice } from './notice.ts';

/** Each node has each service decide at least every five minutes. */
export const UNDECIDED_AFTER_MS = 20 * MINUTE_MS;

const DECIDERS = DeciderName.options;

/** Of one partition, in which lies all that is about the same nodes. Times are those of the log, in epoch milliseconds. */
interface Partition {
  readonly heardMs: number;
  /** Whether all of it was read when it was looked at. */
  readonly isRead: boolean;
  /** When all of it was read here for the first time. */
  readonly sinceMs: number | null;
  readonly decidedMs: Partial<Readonly<Record<DeciderName, number>>>;
}

const UNKNOWN: Partition = { heardMs: 0, isRead: false, sinceMs: null, decidedMs: {} };

/** Which decision services of nodes answer nobody, by what is not read where nodes are heard. */
export class Undecided {
  readonly #partitions = new Map<number, Partition>();
  /** When it decided last, of those that are told. */
  readonly #told = new Map<DeciderName, number>();

  /** A node of the partition was heard. */
  heard(partition: number, atMs: number): void {
    const known = this.#of(partition);
    this.#partitions.set(partition, { ...known, heardMs: Math.max(known.heardMs, atMs) });
  }

  /** No more than the header of a decision is looked at: it says whose it is. */
  decided({
    headers,
    partition,
    timestampMs,
  }: Pick<LogRecord, 'headers' | 'partition' | 'timestampMs'>): void {
    const decider = deciderOf({ headers });
    if (decider === undefined) return;
    const known = this.#of(partition);
    this.#partitions.set(partition, {
      ...known,
      decidedMs: { ...known.decidedMs, [decider]: Math.max(known.decidedMs[decider] ?? 0, timestampMs) },
    });
  }

  /** `nowMs` is in epoch milliseconds. */
  look(state: SubscriptionState, nowMs: number): readonly Notice[] {
    for (const [partition, known] of this.#partitions) {
      const places = placesOf(partition);
      const isRead = isAllRead(state, places);
      const sinceMs = known.sinceMs ?? (isRead ? nowMs : null);
      if (places.every((place) => state.assigned.includes(place)))
        this.#partitions.set(partition, { ...known, isRead, sinceMs });
      else this.#partitions.delete(partition);
    }
    return DECIDERS.flatMap((decider) => this.#lookAt(decider, nowMs));
  }

  #lookAt(decider: DeciderName, nowMs: number): readonly Notice[] {
    const lastMs = this.#unansweredSince(decider, nowMs);
    const toldMs = this.#told.get(decider);
    if (lastMs !== null && toldMs === undefined) {
      this.#told.set(decider, lastMs);
      return [undecidedNotice(decider, lastMs, nowMs)];
    }
    if (lastMs !== null || toldMs === undefined) return [];
    this.#told.delete(decider);
    return this.#isRead() ? [againNotice(decider, toldMs, nowMs)] : [];
  }

  /** Since when it decides nothing about nodes that are heard, where that is too long; else `null`. */
  #unansweredSince(decider: DeciderName, nowMs: number): number | null {
    const since = [...this.#partitions.values()].flatMap(({ heardMs, isRead, sinceMs, decidedMs }) => {
      if (!isRead || sinceMs === null || nowMs - heardMs > SILENT_AFTER_MS) return [];
      const lastMs = Math.max(sinceMs, decidedMs[decider] ?? 0);
      return nowMs - lastMs > UNDECIDED_AFTER_MS ? [lastMs] : [];
    });
    return since.length === 0 ? null : Math.min(...since);
  }

  #isRead(): boolean {
    return [...this.#partitions.values()].some(({ isRead }) => isRead);
  }

  #of(partition: number): Partition {
    return this.#partitions.get(partition) ?? UNKNOWN;
  }
}

const isAllRead = ({ joined, problem, lag }: SubscriptionState, places: readonly string[]): boolean =>
  joined && problem === null && places.every((place) => lag.get(place) === 0);

const placesOf = (partition: number): readonly string[] =>
  [TOPICS.diskStats.name, TOPICS.decisions.name].map((topic) => `${topic}/${partition}`);

const undecidedNotice = (decider: DeciderName, lastMs: number, nowMs: number): Notice =>
  notice(
    'undecided',
    { id: `${decider} ${lastMs}`, atMs: nowMs },
    {
      about: ABOUT_NOBODY,
      text: `${decider} answers nobody: nodes are heard, and it has decided nothing about them since ${timeText(lastMs)}. Nothing is removed by it; fleetgc status says whether it runs, and its /readyz why it waits`,
      facts: { decider, since: timeText(lastMs) },
    },
  );

const againNotice = (decider: DeciderName, lastMs: number, nowMs: number): Notice =>
  notice(
    'decided-again',
    { id: `${decider} ${lastMs}`, atMs: nowMs },
    {
      about: ABOUT_NOBODY,
      text: `${decider} decides again; it had answered nobody since ${timeText(lastMs)}`,
      facts: { decider, since: timeText(lastMs) },
    },
  );
