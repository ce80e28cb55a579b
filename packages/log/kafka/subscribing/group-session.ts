import { FleetGcError } from '../../../process/errors.ts';
import { LinkedController } from '../../../process/linked-controller.ts';
import { untilAborted } from '../../../process/loops.ts';
import { STOP_ABORTED_MS, STOP_GRACE_MS, waitAtMost } from '../../stopping.ts';
import { partitionDifference } from '../../topic-differences.ts';
import { SESSION_TIMEOUT_MS } from '../client/consumer.ts';
import { Fetcher } from '../reading/fetcher.ts';
import { AssignedPartitions } from './assigned-partitions.ts';
import { Committer } from './committer.ts';
import type { Session } from './partition-queue.ts';

/** kafkajs without a sign of life for so long is taken for dead, whatever it believes of itself. */
const SILENCE_MS = 4 * SESSION_TIMEOUT_MS;
const FLUSH_MS = 1000;
/** A partition that a rebalance brings waits so long at most. */
const LONG_WAIT_MS = 1000;

/** A quarter of a MiB is about a MiB as it was, of each of 32 partitions and more. */
const MAX_PARTITION_BYTES = 256 * 1024;
/** Of all partitions in an answer; ours become a third of it. */
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
    const { context } = connection;
    const over = this.#over.signal;
    this.#ending = new LinkedController(over, stopping);
    this.#silence = setTimeout(() => this.#fail(fellSilent(subscription.group)), SILENCE_MS);
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
      const difference = partitionDifference(topic, found);
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
