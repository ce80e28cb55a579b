import type { ActiveSubscription, LogRecord } from '../log/port.ts';

type Moment = Pick<LogRecord, 'offset' | 'timestampMs'>;

/**
 * Silence shows by what is not read. So a partition of a topic is judged by our clock only where all of it was read; where messages
 * wait, or the log does not answer, by the newest of its messages.
 */
export class PartitionClocks {
  readonly #topic: string;
  /** Epoch milliseconds. */
  readonly #now: () => number;
  /** By partition, the newest record that was seen: what comes again tells nothing new. */
  readonly #newest = new Map<number, Moment>();
  #progress: Pick<ActiveSubscription, 'state'> | null = null;

  constructor(topic: string, now: () => number) {
    this.#topic = topic;
    this.#now = now;
  }

  /** How far this replica has read, and what: other partitions are for other replicas to tell of. */
  follow(progress: Pick<ActiveSubscription, 'state'>): void {
    this.#progress = progress;
  }

  /** Whether the record is newer than all of its partition that were seen before. */
  isNew(partition: number, now: Moment): boolean {
    const before = this.#newest.get(partition);
    if (before !== undefined && now.offset <= before.offset && now.timestampMs <= before.timestampMs)
      return false;
    this.#newest.set(partition, now);
    return true;
  }

  /** What time it is, by partition; of those that are not ours nothing is said. */
  times(): ReadonlyMap<number, number> {
    const { lag, assigned, joined, problem } = this.#progress?.state() ?? NOTHING_READ;
    const isWell = joined && problem === null;
    return new Map(
      [...this.#newest].flatMap(([partition, { timestampMs }]) => {
        const place = `${this.#topic}/${partition}`;
        if (!assigned.includes(place)) return [];
        return [[partition, isWell && lag.get(place) === 0 ? this.#now() : timestampMs] as const];
      }),
    );
  }
}

const NOTHING_READ = { lag: new Map<string, number>(), assigned: [], joined: false, problem: null };
