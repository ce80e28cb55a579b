import { backoffMs, pause } from '../../process/backoff.ts';
import { FleetGcError } from '../../process/errors.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { RETRY_BACKOFFS, recordBytes } from '../limits.ts';
import { partitionName, requirePartition, topicSpec } from '../partition.ts';
import type { LogRecord, ReadEvent, ReadFrom, ReadRequest } from '../port.ts';
import { requireEndless } from '../stopping.ts';
import { recreatedTopic } from '../topic-differences.ts';
import type { Cluster } from './client/cluster.ts';
import { Consumer } from './client/consumer.ts';
import { protocolType, unanswered, undecodable } from './client/errors.ts';
import { followerName, type KafkaConnection } from './client/kafka-connection.ts';
import { physicalName } from './client/names.ts';
import { timeLimits } from './client/time-limits.ts';
import { type Watchdog, watchAnswers } from './client/watchdog.ts';
import { type Cursor, Fetcher } from './fetcher.ts';
import { listOffsets, nameOnBrokers, requireOffset, type TopicPartition } from './offsets.ts';
import { watchPartitions } from './topics.ts';

/** Until all that was there is read, and then: thousands of nodes follow the policies, all at one broker. */
const LONG_WAIT_MS = 5000;
/** @limit Long poll of readers of compacted topics ([decision 7](../decisions/0007-waits-of-20-seconds.md)). */
const FOLLOWING_WAIT_MS = 20_000;
const MAX_PARTITION_BYTES = 1024 * 1024;
/**
 * Of all partitions in an answer; ours become half of it.
 * @limit Decompressed size of a fetch response of a verb.
 */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;

const toCursor = (
  { at, from, end }: Range,
  { request: { to }, connection: { options }, buffer }: Reading,
): Cursor => ({
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
    buffer.fail(recreatedTopic(at.topic, options));
    buffer.answered();
  },
  report: (error) => {
    if (error !== null) buffer.fail(undecodable({ ...at, topic: physicalName(options, at.topic) }, error));
    buffer.answered();
  },
});

/** Notes failures. A reading for ever outlasts every outage, but not its topic; one that is to end gives up some time. */
function createReport({ request: { topic, to }, connection, buffer, watchdog }: Reading) {
  const note = (error: unknown): void => {
    const failure = connection.explain(error);
    if (to === 'forever' && failure.code === 'TOPICS_MISSING')
      buffer.fail(recreatedTopic(topic, connection.options));
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
      prefix: connection.options.prefix,
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
  const cursors = parts.map((part) => toCursor(part, reading));
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

/** About half a minute, for a reading that is to end: the leaders of a topic that was just created, or of a broker that went, are known by then. */
const TRIES = 20;

/** A part of a partition that is to be read. */
interface Range {
  readonly at: TopicPartition;
  readonly from: bigint;
  readonly end: bigint;
}

/** What is asked of kafkajs's connections. */
export type OffsetConnections = Pick<Cluster, 'fetchTopicsOffset' | 'nameOf' | 'refreshMetadata'>;

interface RangeReading {
  readonly connection: Pick<KafkaConnection, 'context' | 'explain' | 'reached'>;
  /** Resolves after `ms`, or when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Called when a broker answered, also where the answer does not help yet. */
  readonly onAnswer: () => void;
  readonly signal: AbortSignal;
}

/**
 * From where to where each partition is to be read. A leader that does not know of its office yet is asked again: for
 * ever by a reading that is for ever, and the log counts as out of reach meanwhile. Not with cockatiel: a try differs from the first
 * one, whether there is another depends on what failed, and waiting is given.
 */
export async function readRanges(
  cluster: OffsetConnections,
  request: ReadRequest,
  { connection, wait, onAnswer, signal }: RangeReading,
): Promise<Range[]> {
  const tries = request.to === 'forever' ? Number.POSITIVE_INFINITY : TRIES;
  const isLast = (failures: number, error: unknown): boolean =>
    failures >= tries || !connection.explain(error).retry || signal.aborted;
  for (let failures = 0; ; failures++) {
    try {
      if (failures > 0) {
        await cluster.refreshMetadata();
        onAnswer();
      }
      const found = await ranges(cluster, request);
      connection.reached();
      return found;
    } catch (error) {
      if (isLast(failures + 1, error)) throw error;
      await wait(backoffMs(RETRY_BACKOFFS.range, failures, connection.context.random), signal);
    }
  }
}

async function ranges(cluster: OffsetConnections, request: ReadRequest): Promise<Range[]> {
  const { topic, partition, from, to } = request;
  const all = Array.from({ length: topicSpec(topic).partitions }, (_, number) => number);
  const numbers = partition === undefined ? all : [partition];
  const partitions = numbers.map((number) => ({ topic, partition: number }));
  const oldest = await listOffsets(cluster, partitions, { fromBeginning: true });
  const ends = await listOffsets(cluster, partitions, { fromBeginning: false });
  const first = from === 'earliest' ? null : await firstOffsets(cluster, partitions, from);
  return partitions.map((at) => {
    const low = requireOffset(cluster, oldest, at);
    const end = endOf(requireOffset(cluster, ends, at), to);
    return { at, from: first === null ? low : clamp(first(at) ?? end, low, end), end };
  });
}

/** Where reading begins, by partition. */
async function firstOffsets(
  cluster: OffsetConnections,
  partitions: readonly TopicPartition[],
  from: Exclude<ReadFrom, 'earliest'>,
): Promise<(at: TopicPartition) => bigint | undefined> {
  if ('offset' in from) return () => from.offset;
  const found = await listOffsets(cluster, partitions, { fromTimestamp: from.timestampMs }).catch(
    (error: unknown) => {
      if (protocolType(error) !== 'UNKNOWN') throw error;
      throw new FleetGcError('LOG_UNREACHABLE', timeNotFound(cluster, partitions), { cause: error });
    },
  );
  return (at) => found.get(partitionName(at));
}

/** Only about a time has a broker to read what it keeps: it answers all else, so advice about reaching it would mislead. */
const timeNotFound = (cluster: Pick<Cluster, 'nameOf'>, partitions: readonly TopicPartition[]): string =>
  `The leader of ${partitions.map((at) => nameOnBrokers(cluster, at)).join(', ')} failed to find a record by its time (UNKNOWN). To find it, a broker decompresses records, and may lack the memory: look at the log of the broker, and give it more heap (KAFKA_HEAP_OPTS). It is tried again.`;

const endOf = (end: bigint, to: ReadRequest['to']): bigint =>
  typeof to === 'object' && to.before < end ? to.before : end;

const clamp = (offset: bigint, low: bigint, high: bigint): bigint => {
  if (offset < low) return low;
  return offset > high ? high : offset;
};

const ROOM_BYTES = 4 * 1024 * 1024;

/** Records between the fetcher and the reader. */
export class ReadBuffer {
  #records: LogRecord[] = [];
  #bytes = 0;
  /** Ends the reading. */
  #failure: FleetGcError | null = null;
  #wake: () => void = () => undefined;
  /** Whether the reader was told that it has caught up. */
  #isMarked = false;
  #answers = 0;
  /** What brokers, or the way to them, answered last, where that passes by itself. */
  failure: FleetGcError | null = null;

  get isMarked(): boolean {
    return this.#isMarked;
  }

  get isEmpty(): boolean {
    return this.#records.length === 0;
  }

  /** Grows with every answer of a broker. */
  get answers(): number {
    return this.#answers;
  }

  hasRoom(): boolean {
    return this.#bytes < ROOM_BYTES;
  }

  deliver(records: readonly LogRecord[]): void {
    // One by one: a batch may have hundreds of thousands, which are too many arguments.
    for (const record of records) {
      this.#records.push(record);
      this.#bytes += recordBytes(record);
    }
  }

  answered(): void {
    this.#answers += 1;
    this.#wake();
  }

  /** The reading ends with this, at the next look of the reader. */
  fail(failure: FleetGcError): void {
    this.#failure = failure;
  }

  requireWell(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** What is at hand, and the mark when all that was there at the start has been given. */
  *events(isCaughtUp: () => boolean): Generator<ReadEvent, void> {
    const reached = !this.#isMarked && isCaughtUp();
    for (const record of this.#take()) yield { kind: 'record', record };
    if (!reached) return;
    this.#isMarked = true;
    yield { kind: 'caught-up' };
  }

  nextAnswer(seen: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#answers !== seen) resolve();
      else this.#wake = resolve;
    });
  }

  #take(): readonly LogRecord[] {
    const records = this.#records;
    this.#records = [];
    this.#bytes = 0;
    return records;
  }
}
