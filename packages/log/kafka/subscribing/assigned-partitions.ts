import { backoffMs, pause } from '../../../process/backoff.ts';
import { LinkedController } from '../../../process/linked-controller.ts';
import { partitionName } from '../../partition.ts';
import { RETRY_BACKOFFS } from '../../retry-backoffs.ts';
import { waitAtMost, waitUnless } from '../../stopping.ts';
import type { Assignment } from '../client/assigner.ts';
import type { TopicPartition } from '../reading/offsets.ts';
import type { Committer } from './committer.ts';
import { PartitionQueue, type Session } from './partition-queue.ts';
import { committedStarts, type StartOffset } from './start-offsets.ts';

/** A group whose coordinator is away goes on without counting who dies over what. */
const COMMITTED_MS = 5000;

export interface AssignedPartitionsOptions {
  readonly session: Session;
  readonly committer: Committer;
  /** Aborts every handler. */
  readonly over: AbortSignal;
  readonly onRoom: () => void;
  /** A failure to learn where to begin, while it lasts; null when that goes well. */
  readonly report: (error: unknown) => void;
}

interface Owned {
  readonly queue: PartitionQueue;
  readonly lost: LinkedController;
}

/** The partitions of a member, as the group gives and takes them. */
export class AssignedPartitions {
  readonly #options: AssignedPartitionsOptions;
  readonly #owned = new Map<string, Owned>();
  /** Grows with each assignment: what was begun for one before it is given up. */
  #generation = 0;

  constructor(options: AssignedPartitionsOptions) {
    this.#options = options;
  }

  /** What the group gave this member now. What it had before and keeps goes on undisturbed. */
  assign(assignment: Assignment): void {
    this.#generation += 1;
    const current = this.#generation;
    const given = this.#partitionsOf(assignment);
    const names = new Set(given.map(partitionName));
    for (const [name, owned] of this.#owned) if (!names.has(name)) this.#lose(name, owned);
    this.#show();
    const gained = given.filter((at) => !this.owns(at));
    const isCurrent = (): boolean => current === this.#generation && !this.#options.over.aborted;
    if (gained.length > 0) void this.#gain(gained, isCurrent);
  }

  all(): readonly PartitionQueue[] {
    return [...this.#owned.values()].map(({ queue }) => queue);
  }

  owns(partition: TopicPartition): boolean {
    return this.#owned.has(partitionName(partition));
  }

  /** Partitions of topics this member did not ask for are none of its business. */
  #partitionsOf(assignment: Assignment): readonly TopicPartition[] {
    return this.#options.session.subscription.topics.flatMap((topic) =>
      (assignment[topic] ?? []).map((partition) => ({ topic, partition })),
    );
  }

  /** The handler in hand is told to return; until it does, the partition is not served again here. */
  #lose(name: string, { queue, lost }: Owned): void {
    const { state, stragglers } = this.#options.session;
    lost.abort();
    if (queue.isWorking()) stragglers.set(name, queue.working());
    state.problems.set(name, null);
    this.#owned.delete(name);
  }

  async #gain(partitions: readonly TopicPartition[], isCurrent: () => boolean): Promise<void> {
    const { session, over, report } = this.#options;
    const { consumer, subscription, connection } = session;
    for (let failures = 0; isCurrent(); failures += 1) {
      try {
        const starts = await committedStarts(consumer.cluster, subscription, partitions);
        report(null);
        if (isCurrent()) this.#openAll(starts, isCurrent);
        return;
      } catch (error) {
        report(error);
        await pause(backoffMs(RETRY_BACKOFFS.partition, failures, connection.context.random), over);
      }
    }
  }

  /** All at once, so that the first request asks for all of them. */
  #openAll(starts: readonly StartOffset[], isCurrent: () => boolean): void {
    for (const start of starts) {
      const straggler = this.#options.session.stragglers.get(partitionName(start));
      if (straggler === undefined) this.#open(start);
      else void this.#openLater(start, straggler, isCurrent);
    }
    this.#show();
  }

  async #openLater(start: StartOffset, straggler: Promise<void>, isCurrent: () => boolean): Promise<void> {
    await straggler;
    this.#options.session.stragglers.delete(partitionName(start));
    if (!isCurrent()) return;
    this.#open(start);
    this.#show();
  }

  #open(start: StartOffset): void {
    const { session, committer, over, onRoom } = this.#options;
    const { topic, partition, from, deaths, isNew } = start;
    const lost = new LinkedController(over);
    const queue = new PartitionQueue({
      session,
      start,
      over: lost.signal,
      commit: (next, found) => committer.add({ topic, partition, next, deaths: found }),
      committed: () => waitUnless(waitAtMost(committer.flushed(), COMMITTED_MS), lost.signal),
      onRoom,
    });
    this.#owned.set(queue.name, { queue, lost });
    // Written down at once, so that `latest` means the same moment after a restart.
    if (isNew && session.subscription.start === 'latest')
      committer.add({ topic, partition, next: from, deaths });
  }

  #show(): void {
    this.#options.session.state.served = this.all();
    this.#options.onRoom();
  }
}
