import type { TopicName } from '../../../../schemas/events/topics.ts';
import { backoffMs, pause } from '../../../process/backoff.ts';
import { partitionName } from '../../partition.ts';
import { noteOf } from '../../partition-deaths.ts';
import type { EventLogContext } from '../../port.ts';
import { RETRY_BACKOFFS } from '../../retry-backoffs.ts';
import type { Consumer } from '../client/consumer.ts';
import { isGroupChange } from '../client/errors.ts';

/** An offset to commit: the next one to be read by the group. */
export interface Commit {
  readonly topic: TopicName;
  readonly partition: number;
  readonly next: bigint;
  /** Processes that ended while they had the record there in hand. */
  readonly deaths: number;
}

export interface CommitterOptions {
  readonly consumer: Pick<Consumer, 'commitOffsets'>;
  readonly context: EventLogContext;
  /** Whether the partition is still this member's: what was lost is not committed any more. */
  readonly owns: (commit: Commit) => boolean;
  /** A failure while it lasts, null when committing goes well. */
  readonly report: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/**
 * Commits in the background, one request at a time for all partitions. A commit that fails is tried again: what was handled need not
 * come again because a broker was away. Not with cockatiel: what is tried again is not the same call, but what waits by then.
 */
export class Committer {
  readonly #options: CommitterOptions;
  /** By partition, of which the last one counts. */
  readonly #waiting = new Map<string, Commit>();
  #work: Promise<void> | null = null;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  add(commit: Commit): void {
    this.#waiting.set(partitionName(commit), commit);
    this.#start();
  }

  /** Settles when all was committed, or given up. */
  async flushed(): Promise<void> {
    while (this.#work !== null) await this.#work;
  }

  #start(): void {
    this.#work ??= this.#run().finally(() => {
      this.#work = null;
      if (this.#waiting.size > 0 && !this.#options.signal.aborted) this.#start();
    });
  }

  async #run(): Promise<void> {
    const { context, report, signal } = this.#options;
    for (let failures = 0; this.#waiting.size > 0 && !signal.aborted; ) {
      try {
        await this.#commitWaiting();
        failures = 0;
        report(null);
      } catch (error) {
        if (!isGroupChange(error)) report(error);
        await pause(backoffMs(RETRY_BACKOFFS.partition, failures, context.random), signal);
        failures += 1;
      }
    }
  }

  async #commitWaiting(): Promise<void> {
    const { consumer, owns } = this.#options;
    const commits = [...this.#waiting.values()].filter(owns);
    this.#waiting.clear();
    if (commits.length === 0) return;
    try {
      await consumer.commitOffsets(
        commits.map(({ topic, partition, next, deaths }) => ({
          topic,
          partition,
          offset: next.toString(),
          metadata: noteOf(deaths),
        })),
      );
    } catch (error) {
      this.#putBack(commits);
      throw error;
    }
  }

  /** Where a later one for the same partition has come meanwhile, that counts. */
  #putBack(commits: readonly Commit[]): void {
    for (const commit of commits) {
      const name = partitionName(commit);
      if (!this.#waiting.has(name)) this.#waiting.set(name, commit);
    }
  }
}
