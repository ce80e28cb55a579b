import { pause } from '../../../process/backoff.ts';
import type { FleetGcError } from '../../../process/errors.ts';
import { LinkedController } from '../../../process/linked-controller.ts';
import { requirePartition } from '../../partition.ts';
import type { ReadEvent, ReadRequest } from '../../port.ts';
import { requireEndless } from '../../stopping.ts';
import { recreatedTopic } from '../../topic-differences.ts';
import { watchPartitions } from '../admin/declared-partitions.ts';
import { Consumer } from '../client/consumer.ts';
import { unanswered, undecodable } from '../client/errors.ts';
import { followerName } from '../client/health.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { timeLimits } from '../client/time-limits.ts';
import { type Watchdog, watchAnswers } from '../client/watchdog.ts';
import type { Cursor } from './cursor.ts';
import { Fetcher } from './fetcher.ts';
import { type Range, readRanges } from './ranges.ts';
import { ReadBuffer } from './read-buffer.ts';

/** Until all that was there is read, and then: thousands of nodes follow the policies, all at one broker. */
const LONG_WAIT_MS = 5000;
const FOLLOWING_WAIT_MS = 20_000;
const MAX_PARTITION_BYTES = 1024 * 1024;
/** Of all partitions in an answer; ours become half of it. */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;

const toCursor = ({ at, from, end }: Range, to: ReadRequest['to'], buffer: ReadBuffer): Cursor => ({
  ...at,
  next: from,
  end,
  isEndTold: false,
  trust: 'full',
  isTolerant: false,
  hasRoom: () => buffer.hasRoom(),
  deliver: (records) =>
    buffer.deliver(to === 'forever' ? records : records.filter(({ offset }) => offset < end)),
  onRewound: () => {
    buffer.fail(recreatedTopic(at.topic));
    buffer.answered();
  },
  report: (error) => {
    if (error !== null) buffer.fail(undecodable(at, error));
    buffer.answered();
  },
});

/** Notes failures. A reading for ever outlasts every outage, but not its topic; one that is to end gives up some time. */
function createReport({ request: { topic, to }, connection, buffer, watchdog }: Reading) {
  const note = (error: unknown): void => {
    const failure = connection.explain(error);
    if (to === 'forever' && failure.code === 'TOPICS_MISSING') buffer.fail(recreatedTopic(topic));
    if (!failure.retry) buffer.fail(failure);
    buffer.failure = failure;
  };
  return (error: unknown): void => {
    if (error === null) {
      buffer.failure = null;
      watchdog.answered();
      connection.reached();
    } else note(error);
    buffer.answered();
  };
}

interface Reading {
  readonly consumer: Consumer;
  readonly request: ReadRequest;
  readonly connection: KafkaConnection;
  readonly buffer: ReadBuffer;
  readonly watchdog: Watchdog;
  readonly signal: AbortSignal;
}

async function findRanges({ consumer, request, connection, watchdog, signal }: Reading): Promise<Range[]> {
  await consumer.connect();
  watchdog.answered();
  return await readRanges(consumer.cluster, request, {
    connection,
    wait: pause,
    signal,
    onAnswer: watchdog.answered,
  });
}

/** After an outage the broker is to say at once where the topic ends: whoever follows may have waited for that already. */
const waitMs = ({ failure, isMarked }: ReadBuffer): number => {
  if (failure !== null) return 0;
  return isMarked ? FOLLOWING_WAIT_MS : LONG_WAIT_MS;
};

/** A policy in a partition that nobody reads might forbid what is done. */
const watchTopics = ({
  consumer: { cluster },
  request: { topic },
  connection,
  signal,
}: Reading): Promise<void> =>
  watchPartitions(
    {
      cluster,
      topics: [topic],
      random: connection.context.random,
      wait: pause,
      report: (name, problem) => connection.noteTopic(name, problem),
    },
    signal,
  );

/** Whether the brokers told the ends of all since this was asked last, and everything before them was fetched. */
function takeToldEnds(cursors: readonly Cursor[]): boolean {
  const isWhole = cursors.every(({ isEndTold, next, end }) => isEndTold && next >= end);
  if (isWhole) for (const cursor of cursors) cursor.isEndTold = false;
  return isWhole;
}

async function* follow(reading: Reading): AsyncGenerator<ReadEvent, void> {
  const { consumer, request, connection, buffer, watchdog, signal } = reading;
  const parts = await watchdog.waitFor(findRanges(reading), signal);
  const cursors = parts.map((part) => toCursor(part, request.to, buffer));
  const fetcher = new Fetcher({
    cluster: consumer.cluster,
    context: connection.context,
    cursors: () => cursors.filter(({ next, end }) => request.to === 'forever' || next < end),
    longWaitMs: () => waitMs(buffer),
    maxPartitionBytes: MAX_PARTITION_BYTES,
    maxInflatedBytes: MAX_INFLATED_BYTES,
    report: createReport(reading),
    signal,
  });
  if (request.to === 'forever') void watchTopics(reading);
  const isCaughtUp = (): boolean => parts.every(({ end }, index) => (cursors[index]?.next ?? 0n) >= end);
  const isFollowing = (): boolean => request.to === 'forever' && buffer.isMarked;
  for (;;) {
    buffer.requireWell();
    const seen = buffer.answers;
    const isGiven = !buffer.isEmpty;
    // Looked at before the records are taken: what comes while they are given is not meant.
    const isAllGiven = isFollowing() && takeToldEnds(cursors);
    yield* buffer.events(isCaughtUp);
    if (isAllGiven) yield { kind: 'still-caught-up' };
    if (buffer.isMarked && request.to !== 'forever') return;
    // While the reader was at work nobody asked the brokers for more than fits.
    if (isGiven) watchdog.answered();
    fetcher.kick();
    await watchdog.waitFor(buffer.nextAnswer(seen), signal);
  }
}

/**
 * Reads without joining any group: a consumer is made for its connections only, nothing is ever committed, and no trace
 * is left on the broker. When one of the signals aborts `forever` ends, another reading throws `INTERRUPTED`.
 */
export async function* readRecords(
  log: KafkaConnection,
  request: ReadRequest,
  signals: readonly AbortSignal[],
): AsyncGenerator<ReadEvent, void> {
  requirePartition(request.topic, request.partition);
  const { topic, to } = request;
  const connection = log.forClient(to === 'forever' ? followerName(topic) : `reader of ${topic}`);
  const { options, context, clients } = connection;
  const { silenceMs } = timeLimits(options);
  const buffer = new ReadBuffer();
  const silent = (): FleetGcError => buffer.failure ?? unanswered(options.brokers, silenceMs);
  using stopping = new LinkedController(...signals);
  const { signal } = stopping;
  using over = new LinkedController(signal);
  using watchdog = watchAnswers(request.to === 'forever' ? null : silenceMs, silent);
  const consumer = new Consumer(options, context, { group: 'none', topics: [request.topic] });
  clients.add(consumer);
  try {
    yield* follow({ consumer, request, connection, buffer, watchdog, signal: over.signal });
  } catch (error) {
    if (!signal.aborted) throw connection.explain(error);
    requireEndless(request.to);
  } finally {
    over.abort();
    clients.delete(consumer);
    // Who follows tries again, and is in trouble meanwhile.
    if (request.to !== 'forever' || signal.aborted) connection[Symbol.dispose]();
    await consumer.disconnect();
  }
}
