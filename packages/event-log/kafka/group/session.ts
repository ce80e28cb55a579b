import type { Assignment } from 'kafkajs';
import { FleetGcError } from '../../../process/errors.ts';
import { STOP_ABORTED_MS, STOP_GRACE_MS, waitAtMost } from '../../stopping.ts';
import { partitionDifference } from '../../topic-differences.ts';
import { connectFor, disconnect, SESSION_TIMEOUT_MS } from '../client/connections.ts';
import { startFetcher } from '../reading/fetcher.ts';
import { type Committer, startCommitter } from './committer.ts';
import { leaveAsFormerMember } from './former-member.ts';
import { type Lanes, trackLanes } from './lanes.ts';
import type { SessionOptions } from './session-options.ts';

/** kafkajs without a sign of life for so long is taken for dead, whatever it believes of itself. */
const SILENCE_MS = 4 * SESSION_TIMEOUT_MS;
const FLUSH_MS = 1000;
/** A partition that a rebalance brings waits so long at most. */
const LONG_WAIT_MS = 1000;

/** A quarter of a MiB is about a MiB as it was, of each of 32 partitions and more. */
const MAX_PARTITION_BYTES = 256 * 1024;
/** Of all partitions in an answer; ours become a third of it. */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;

/** How a session ends before it is stopped. */
interface Failing {
  readonly over: AbortSignal;
  readonly fail: (error: unknown) => void;
  /** To be called at each sign of life. */
  readonly alive: () => void;
  readonly failure: () => FleetGcError | null;
  readonly abort: () => void;
}

function watchFailure({ core, subscription }: SessionOptions): Failing {
  const over = new AbortController();
  let failure: FleetGcError | null = null;
  const fail = (error: unknown): void => {
    failure ??= core.explain(error);
    over.abort();
  };
  const silence = setTimeout(() => {
    fail(
      new FleetGcError('GROUP_LOST', `The consumer of ${subscription.group} fell silent; it starts anew.`),
    );
  }, SILENCE_MS);
  over.signal.addEventListener('abort', () => clearTimeout(silence));
  return {
    over: over.signal,
    fail,
    alive: () => void (over.signal.aborted || silence.refresh()),
    failure: () => failure,
    abort: () => over.abort(),
  };
}

/** Reading is done by our own fetcher: kafkajs's loop only keeps the membership, with every partition paused. */
function pauseAll({ connections }: SessionOptions, assignment: Assignment): void {
  const partitions = Object.entries(assignment).map(([topic, numbers]) => ({ topic, partitions: numbers }));
  connections.consumer.pause(partitions);
}

/** kafkajs joins again when it learns of more partitions. Ours stay the declared ones; somebody should know. */
function tellOfPartitions({ connections, core, state, subscription }: SessionOptions): void {
  for (const topic of subscription.topics) {
    const found = connections.cluster.findTopicPartitionMetadata(topic).length;
    const difference = partitionDifference(topic, found);
    core.noteTopic(topic, difference?.message ?? null);
    if (difference === null) continue;
    state.problems.set(topic, difference.message);
    core.context.logger.warn({ topic, found }, difference.message);
  }
}

function listen(options: SessionOptions, lanes: Lanes, { alive, fail, over }: Failing): void {
  const { consumer } = options.connections;
  const { events } = consumer;
  consumer.on(events.HEARTBEAT, alive);
  consumer.on(events.REBALANCING, alive);
  consumer.on(events.GROUP_JOIN, ({ payload }) => {
    if (over.aborted) return;
    alive();
    options.former.memberId = payload.memberId;
    pauseAll(options, payload.memberAssignment);
    options.state.joined = true;
    options.state.problems.clear();
    tellOfPartitions(options);
    lanes.assign(payload.memberAssignment);
  });
  consumer.on(events.CRASH, ({ payload }) => fail(payload.error));
}

async function join(options: SessionOptions): Promise<void> {
  const { consumer } = options.connections;
  await consumer.subscribe({ topics: [...options.subscription.topics], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    // Nothing is fetched while all is paused; if something was all the same, it is not resolved and comes again.
    eachBatch: async ({ batch, pause }) => {
      options.core.context.logger.debug(
        { topic: batch.topic, partition: batch.partition },
        'a paused partition was fetched',
      );
      pause();
    },
  });
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

interface Parts {
  readonly lanes: Lanes;
  readonly committer: Committer;
}

function makeParts(options: SessionOptions, { over, fail }: Failing): Parts {
  const { connections, core, state, stopping } = options;
  const { context } = core;
  const reporter = (where: string) => (error: unknown) => {
    if (error === null) core.reached();
    const failure = error === null ? null : core.explain(error);
    state.problems.set(where, failure?.message ?? null);
    // A topic that comes back may be another one: by the old offset what lies at its beginning would be passed over.
    if (failure?.code === 'TOPICS_MISSING') fail(failure);
  };
  const committer = startCommitter({
    consumer: connections.consumer,
    context,
    owns: (commit) => lanes.owns(commit),
    report: reporter('commit'),
    signal: over,
  });
  const lanes = trackLanes({
    ...options,
    committer,
    over,
    onRoom: () => fetcher.kick(),
    report: reporter('offsets'),
  });
  const fetcher = startFetcher({
    cluster: connections.cluster,
    context,
    cursors: () => lanes.all().map(({ cursor }) => cursor),
    longWaitMs: () => LONG_WAIT_MS,
    maxPartitionBytes: MAX_PARTITION_BYTES,
    maxInflatedBytes: MAX_INFLATED_BYTES,
    report: reporter('fetch'),
    signal: AbortSignal.any([over, stopping]),
  });
  return { lanes, committer };
}

/** Lets the slices in hand end and commits them; those that take too long are told to return. */
async function settle({ lanes, committer }: Parts, abort: () => void): Promise<void> {
  const working = () => Promise.all(lanes.all().map((lane) => lane.working()));
  await waitAtMost(working(), STOP_GRACE_MS);
  await waitAtMost(committer.flushed(), FLUSH_MS);
  abort();
  await waitAtMost(working(), STOP_ABORTED_MS);
}

/** Joins, serves, and leaves again. Resolves after a stop; rejects with what ended the session. */
export async function runSession(options: SessionOptions): Promise<void> {
  const { connections, core, stopping, subscription } = options;
  const failing = watchFailure(options);
  const parts = makeParts(options, failing);
  try {
    await connectFor(connections, subscription.topics);
    await leaveAsFormerMember(connections.cluster, {
      groupId: subscription.group,
      former: options.former,
      logger: core.context.logger,
    });
    listen(options, parts.lanes, failing);
    await join(options);
    await untilAborted(AbortSignal.any([failing.over, stopping]));
    if (!failing.over.aborted) await settle(parts, failing.abort);
  } catch (error) {
    failing.fail(error);
  } finally {
    failing.abort();
    parts.lanes.assign({});
    await disconnect(connections, core.context);
  }
  const failure = failing.failure();
  if (failure !== null) throw failure;
}
