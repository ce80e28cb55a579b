import type { Consumer } from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { backOffMs, pause } from '../../../process/back-off.ts';
import type { EventLogContext } from '../../port.ts';
import { isGroupChange } from '../client/errors.ts';
import { noteOf } from './commit-note.ts';

const BACK_OFF = { firstMs: 100, mostMs: 5000 };

/** An offset to commit: the next one to be read by the group. */
export interface Commit {
  readonly topic: TopicName;
  readonly partition: number;
  readonly next: bigint;
  /** Processes that ended while they had the record there in hand. */
  readonly deaths: number;
}

/** Commits in the background, one request at a time for all partitions. */
export interface Committer {
  add(commit: Commit): void;
  /** Settles when all was committed, or given up. */
  flushed(): Promise<void>;
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

const keyOf = ({ topic, partition }: Commit): string => `${topic}/${partition}`;

/** A commit that fails is tried again: what was handled need not come again because a broker was away. */
export function startCommitter({ consumer, context, owns, report, signal }: CommitterOptions): Committer {
  const waiting = new Map<string, Commit>();
  let work: Promise<void> | null = null;

  /** A later one for the same partition has come meanwhile, or this one is to be tried again. */
  function putBack(commits: readonly Commit[]): void {
    for (const commit of commits) {
      if (!waiting.has(keyOf(commit))) waiting.set(keyOf(commit), commit);
    }
  }

  async function commitWaiting(): Promise<void> {
    const commits = [...waiting.values()].filter(owns);
    waiting.clear();
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
      putBack(commits);
      throw error;
    }
  }

  async function run(): Promise<void> {
    for (let failures = 0; waiting.size > 0 && !signal.aborted; ) {
      try {
        await commitWaiting();
        failures = 0;
        report(null);
      } catch (error) {
        if (!isGroupChange(error)) report(error);
        await pause(backOffMs(BACK_OFF, failures, context.random), signal);
        failures += 1;
      }
    }
  }

  function start(): void {
    work ??= run().finally(() => {
      work = null;
      if (waiting.size > 0 && !signal.aborted) start();
    });
  }

  return {
    add: (commit) => {
      waiting.set(keyOf(commit), commit);
      start();
    },
    flushed: async () => {
      while (work !== null) await work;
    },
  };
}
