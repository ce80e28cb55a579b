import type { TopicName } from '../../../schemas/events/topics.ts';
import { backoffMs, pause } from '../../process/backoff.ts';
import { FleetGcError } from '../../process/errors.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { untilAborted } from '../../process/loops.ts';
import { RETRY_BACKOFFS } from '../limits.ts';
import { partitionName } from '../partition.ts';
import type { EventLogContext } from '../port.ts';
import { STOP_ABORTED_MS, STOP_GRACE_MS, waitAtMost, waitUnless } from '../stopping.ts';
import { noteOf } from '../subscription.ts';
import { partitionDifference } from '../topic-differences.ts';
import { type Assignment, type Consumer, SESSION_TIMEOUT_MS } from './client/consumer.ts';
import { isGroupChange } from './client/errors.ts';
import { physicalName } from './client/names.ts';
import { Fetcher } from './fetcher.ts';
import { committedStarts, type StartOffset, type TopicPartition } from './offsets.ts';
import { PartitionQueue, type Session } from './partition-queue.ts';

/** kafkajs without a sign of life for so long is taken for dead, whatever it believes of itself. */
const SILENCE_MS = 4 * SESSION_TIMEOUT_MS;
const FLUSH_MS = 1000;
/**
 * A partition that a rebalance brings waits so long at most.
 * @limit Long poll of services.
 */
const LONG_WAIT_MS = 1000;

/**
 * A quarter of a MiB is about a MiB as it was, of each of 32 partitions and more.
 * @limit Bytes of a fetch per partition, for services.
 */
const MAX_PARTITION_BYTES = 256 * 1024;
/**
 * Of all partitions in an answer; ours become a third of it.
 * @limit Decompressed size of a fetch response of a service.
 */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;

/** Joins, serves, and leaves again. Resolves after a stop; rejects with what ended the session. */
export const runGroupSession = (session: Session): Promise<void> => new GroupSession(session).run();

class GroupSession {
  readonly #session: Session;
  readonly #over = new AbortController();
  /** No further slice is to begin. */
  readonly #ending: LinkedController;
  readonly #silence: NodeJS.Timeout;
  readonly #committer: Committer;
  readonly #partitions: AssignedPartitions;
  readonly #fetcher: Fetcher;
  #failure: FleetGcError | null = null;

  constructor(session: Session) {
    this.#session = session;
    const { consumer, connection, subscription, stopping } = session;
    const { context, options } = connection;
    const group = physicalName(options, subscription.group);
    const over = this.#over.signal;
    this.#ending = new LinkedController(over, stopping);
    this.#silence = setTimeout(() => this.#fail(fellSilent(group)), SILENCE_MS);
    over.addEventListener('abort', () => clearTimeout(this.#silence));
    this.#committer = new Committer({
      consumer,
      context,
      owns: (commit) => this.#partitions.owns(commit),
      report: this.#reporter('commit'),
      signal: over,
    });
    this.#partitions = new AssignedPartitions({
      session,
      committer: this.#committer,
      over,
      onRoom: () => this.#fetcher.kick(),
      report: this.#reporter('offsets'),
    });
    this.#fetcher = new Fetcher({
      cluster: consumer.cluster,
      context,
      cursors: () => this.#partitions.all().map(({ cursor }) => cursor),
      longWaitMs: () => LONG_WAIT_MS,
      maxPartitionBytes: MAX_PARTITION_BYTES,
      maxInflatedBytes: MAX_INFLATED_BYTES,
      report: this.#reporter('fetch'),
      signal: this.#ending.signal,
    });
  }

  async run(): Promise<void> {
    const { consumer, former } = this.#session;
    const over = this.#over.signal;
    try {
      await consumer.connect();
      await consumer.leaveAs(former);
      await this.#join();
      await untilAborted(this.#ending.signal);
      if (!over.aborted) await this.#settle();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#over.abort();
      this.#partitions.assign({});
      await consumer.disconnect();
    }
    if (this.#failure !== null) throw this.#failure;
  }

  #join(): Promise<void> {
    const { consumer, former, state } = this.#session;
    const over = this.#over.signal;
    const alive = (): void => void (over.aborted || this.#silence.refresh());
    return consumer.join({
      alive,
      joined: (memberId, assignment) => {
        if (over.aborted) return;
        alive();
        former.memberId = memberId;
        state.joined = true;
        state.problems.clear();
        this.#reportPartitions();
        this.#partitions.assign(assignment);
      },
      crashed: (error) => this.#fail(error),
    });
  }

  /** kafkajs joins again when it learns of more partitions. Ours stay the declared ones; somebody should know. */
  #reportPartitions(): void {
    const { consumer, connection, state, subscription } = this.#session;
    for (const topic of subscription.topics) {
      const found = consumer.cluster.findTopicPartitionMetadata(topic).length;
      const difference = partitionDifference(topic, found, connection.options);
      connection.noteTopic(topic, difference?.message ?? null);
      if (difference === null) continue;
      state.problems.set(topic, difference.message);
      connection.context.logger.warn({ topic, found }, difference.message);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= this.#session.connection.explain(error);
    this.#over.abort();
  }

  #reporter(where: string): (error: unknown) => void {
    const { connection, state } = this.#session;
    return (error) => {
      if (error === null) connection.reached();
      const failure = error === null ? null : connection.explain(error);
      state.problems.set(where, failure?.message ?? null);
      // A topic that comes back may be another one: by the old offset what lies at its beginning would be passed over.
      if (failure?.code === 'TOPICS_MISSING') this.#fail(failure);
    };
  }

  /** Lets the slices in hand end and commits them; those that take too long are told to return. */
  async #settle(): Promise<void> {
    const working = () => Promise.all(this.#partitions.all().map((queue) => queue.working()));
    await waitAtMost(working(), STOP_GRACE_MS);
    await waitAtMost(this.#committer.flushed(), FLUSH_MS);
    this.#over.abort();
    await waitAtMost(working(), STOP_ABORTED_MS);
  }
}

const fellSilent = (group: string): FleetGcError =>
  new FleetGcError('GROUP_LOST', `The consumer of ${group} fell silent; it starts anew.`);

/** A group whose coordinator is away goes on without counting who dies over what. */
const COMMITTED_MS = 5000;

interface AssignedPartitionsOptions {
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
class AssignedPartitions {
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

/** An offset to commit: the next one to be read by the group. */
export interface Commit {
  readonly topic: TopicName;
  readonly partition: number;
  readonly next: bigint;
  /** Processes that ended while they had the record there in hand. */
  readonly deaths: number;
}

interface CommitterOptions {
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
