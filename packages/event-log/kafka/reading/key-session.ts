import { pause } from '../../../process/back-off.ts';
import { sliceRecords } from '../../limits.ts';
import { partitionOf } from '../../partition.ts';
import type { Subscription } from '../../port.ts';
import { settleWork, waitUnless } from '../../stopping.ts';
import type { Serving } from '../../subscription.ts';
import { connectFor, disconnect } from '../client/connections.ts';
import { undecodable } from '../client/errors.ts';
import { untilSilent } from '../client/silence.ts';
import { type Lane, openLane } from '../group/lane.ts';
import type { SessionOptions } from '../group/session-options.ts';
import { watchPartitions } from '../topics/partition-watch.ts';
import { startFetcher } from './fetcher.ts';
import { lookBackStarts, type StartOffset } from './start-offsets.ts';

type KeyAssignment = Extract<Subscription['assignment'], { kind: 'key' }>;

/** Thousands of nodes wait at each broker. It answers at once when there is something. */
const LONG_WAIT_MS = 20_000;
const MAX_PARTITION_BYTES = 1024 * 1024;
/** Orders and commands are small, and so is what a node may take of its machine's memory. */
const MAX_INFLATED_BYTES = 32 * 1024 * 1024;

interface KeySession extends SessionOptions {
  readonly over: AbortSignal;
  readonly ended: AbortController;
}

const servingOf = ({ handle, over, stopping, state, core }: KeySession): Serving => ({
  handle,
  over,
  ending: AbortSignal.any([over, stopping]),
  problems: state.problems,
  context: core.context,
  isFinal: () => false,
});

/** Handlers of the session before that have not returned yet are waited for: nothing is served twice at a time. */
async function openLanes(session: KeySession, starts: readonly StartOffset[], onRoom: () => void) {
  const { stragglers, subscription, state, stopping } = session;
  await waitUnless(Promise.all(stragglers.values()), stopping);
  stragglers.clear();
  return starts.map(({ topic, partition, from }) =>
    openLane({
      topic,
      partition,
      from,
      maxRecords: sliceRecords(subscription),
      serving: servingOf(session),
      // Whoever reads for a key remembers itself what it has done.
      deaths: 0,
      commit: () => undefined,
      committed: async () => undefined,
      onRoom,
      onUndecodable: (error) =>
        state.problems.set(
          `${topic}/${partition}`,
          error === null ? null : undecodable({ topic, partition }, error).message,
        ),
    }),
  );
}

/** Fetches for the lanes; resolves after a stop, rejects when the brokers fell silent. */
async function serve(session: KeySession, starts: readonly StartOffset[]): Promise<void> {
  const { connections, core, subscription, state, stopping, ended, stragglers } = session;
  const lanes: readonly Lane[] = await openLanes(session, starts, () => fetcher.kick());
  const { alive, settled } = untilSilent(subscription.group, stopping);
  const missing = Promise.withResolvers<never>();
  const report = (error: unknown): void => {
    const failure = error === null ? null : core.explain(error);
    state.problems.set('fetch', failure?.message ?? null);
    if (failure === null) {
      core.reached();
      alive();
    } else if (failure.code === 'TOPICS_MISSING') missing.reject(failure);
  };
  const fetcher = startFetcher({
    cluster: connections.cluster,
    context: core.context,
    cursors: () => lanes.map(({ cursor }) => cursor),
    longWaitMs: () => LONG_WAIT_MS,
    maxPartitionBytes: MAX_PARTITION_BYTES,
    maxInflatedBytes: MAX_INFLATED_BYTES,
    report,
    signal: AbortSignal.any([session.over, stopping]),
  });
  state.served = lanes;
  state.joined = true;
  state.problems.clear();
  fetcher.kick();
  void watchPartitions(
    {
      cluster: connections.cluster,
      topics: subscription.topics,
      random: core.context.random,
      wait: pause,
      tell: (topic, problem) => {
        state.problems.set(topic, problem);
        core.noteTopic(topic, problem);
      },
    },
    session.over,
  );
  try {
    // A topic that comes back may be another one: by the old offset what lies at its beginning would be passed over.
    await Promise.race([settled, missing.promise]);
    await settleWork(() => lanes.map((lane) => lane.working()), { stopping, abort: () => ended.abort() });
  } finally {
    ended.abort();
    for (const lane of lanes) if (lane.isWorking()) stragglers.set(lane.name, lane.working());
  }
}

/**
 * Reads the partitions of one key without a group: no joins, heartbeats or commits at the brokers, and nothing to be
 * rebalanced. Resolves after a stop; rejects with what ended it.
 */
export async function runKeySession(
  options: SessionOptions,
  { key, lookBackMs }: KeyAssignment,
): Promise<void> {
  const { connections, core, subscription } = options;
  const ended = new AbortController();
  const partitions = subscription.topics.map((topic) => ({ topic, partition: partitionOf(topic, key) }));
  try {
    await connectFor(connections, subscription.topics);
    const starts = await lookBackStarts(connections.cluster, partitions, lookBackMs);
    core.reached();
    await serve({ ...options, ended, over: ended.signal }, starts);
  } catch (error) {
    throw core.explain(error);
  } finally {
    ended.abort();
    await disconnect(connections, core.context);
  }
}
