import { pause } from '../../process/backoff.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { partitionOf } from '../partition.ts';
import type { Subscription } from '../port.ts';
import { settleWork, waitUnless } from '../stopping.ts';
import { untilSilent } from './client/watchdog.ts';
import { Fetcher } from './fetcher.ts';
import { lookBackStarts, type StartOffset } from './offsets.ts';
import { PartitionQueue, type Session } from './partition-queue.ts';
import { watchPartitions } from './topics.ts';

type KeyAssignment = Extract<Subscription['assignment'], { kind: 'key' }>;

/**
 * Thousands of nodes wait at each broker. It answers at once when there is something.
 * @limit Long poll of nodes.
 */
const LONG_WAIT_MS = 20_000;
const MAX_PARTITION_BYTES = 1024 * 1024;
/**
 * Orders and commands are small, and so is what a node may take of its machine's memory.
 * @limit Decompressed size of a fetch response of a node. Keep it at or above `MOST_BYTES` of `offsets.ts`.
 */
const MAX_INFLATED_BYTES = 32 * 1024 * 1024;

interface KeySession extends Session {
  readonly over: AbortSignal;
  readonly ended: AbortController;
}

/** Handlers of the session before that have not returned yet are waited for: nothing is served twice at a time. */
async function openQueues(
  session: KeySession,
  starts: readonly StartOffset[],
  onRoom: () => void,
): Promise<readonly PartitionQueue[]> {
  const { over, stragglers, stopping } = session;
  await waitUnless(Promise.all(stragglers.values()), stopping);
  stragglers.clear();
  // Whoever reads for a key remembers itself what it has done.
  const nothing = { commit: () => undefined, committed: async () => undefined };
  return starts.map((start) => new PartitionQueue({ session, start, over, onRoom, ...nothing }));
}

/** Fetches for the partitions; resolves after a stop, rejects when the brokers fell silent. */
async function serve(session: KeySession, starts: readonly StartOffset[]): Promise<void> {
  const { consumer, connection, subscription, state, stopping, ended, stragglers } = session;
  const queues = await openQueues(session, starts, () => fetcher.kick());
  const { alive, settled } = untilSilent(subscription.group, stopping);
  const missing = Promise.withResolvers<never>();
  const report = (error: unknown): void => {
    const failure = error === null ? null : connection.explain(error);
    state.problems.set('fetch', failure?.message ?? null);
    if (failure === null) {
      connection.reached();
      alive();
    } else if (failure.code === 'TOPICS_MISSING') missing.reject(failure);
  };
  const fetcher: Fetcher = new Fetcher({
    cluster: consumer.cluster,
    context: connection.context,
    cursors: () => queues.map(({ cursor }) => cursor),
    longWaitMs: () => LONG_WAIT_MS,
    maxPartitionBytes: MAX_PARTITION_BYTES,
    maxInflatedBytes: MAX_INFLATED_BYTES,
    report,
    signal: new LinkedController(session.over, stopping).signal,
  });
  state.served = queues;
  state.joined = true;
  state.problems.clear();
  fetcher.kick();
  void watchPartitions(
    {
      cluster: consumer.cluster,
      topics: subscription.topics,
      prefix: connection.options.prefix,
      random: connection.context.random,
      wait: pause,
      report: (topic, problem) => {
        state.problems.set(topic, problem);
        connection.noteTopic(topic, problem);
      },
    },
    session.over,
  );
  try {
    // A topic that comes back may be another one: by the old offset what lies at its beginning would be passed over.
    await Promise.race([settled, missing.promise]);
    await settleWork(() => queues.map((queue) => queue.working()), { stopping, abort: () => ended.abort() });
  } finally {
    ended.abort();
    for (const queue of queues) if (queue.isWorking()) stragglers.set(queue.name, queue.working());
  }
}

/**
 * Reads the partitions of one key without a group: no joins, heartbeats or commits at the brokers, and nothing to be
 * rebalanced. Resolves after a stop; rejects with what ended it.
 */
export async function runKeySession(session: Session, { key, lookBackMs }: KeyAssignment): Promise<void> {
  const { consumer, connection, subscription } = session;
  const ended = new AbortController();
  const partitions = subscription.topics.map((topic) => ({ topic, partition: partitionOf(topic, key) }));
  try {
    await consumer.connect();
    const starts = await lookBackStarts(consumer.cluster, partitions, lookBackMs);
    connection.reached();
    await serve({ ...session, ended, over: ended.signal }, starts);
  } catch (error) {
    throw connection.explain(error);
  } finally {
    ended.abort();
    await consumer.disconnect();
  }
}
