import type { TopicName } from '../../../schemas/events/topics.ts';
import { backoffMs, pause } from '../../process/backoff.ts';
import { RETRY_BACKOFFS } from '../limits.ts';
import { partitionName } from '../partition.ts';
import type { EventLogContext, LogRecord } from '../port.ts';
import type { Broker, Cluster, FetchAnswer, FetchedPartition, FetchRequest } from './client/cluster.ts';
import { nameOnBrokers } from './offsets.ts';
import { tolerantWithin, withinBytes } from './protocol/compression.ts';
import { toLogRecord } from './protocol/record-batches.ts';

const MAX_BYTES = 8 * 1024 * 1024;
/** A broker gives the first batch whatever its size. */
const ONE_BATCH_BYTES = 1;
const READ_UNCOMMITTED = 0;
/** A partition with something in it that cannot be decoded is tried again after this. */
const REST_MS = 5000;
/** So long, at most, a broker that had nothing is left alone while a partition without room is waited for. */
const NO_ROOM_MS = 50;

/** What the fetcher needs of kafkajs's connections. */
export interface FetchConnections
  extends Pick<
    Cluster,
    | 'connect'
    | 'fetchTopicsOffset'
    | 'findTopicPartitionMetadata'
    | 'isConnected'
    | 'nameOf'
    | 'refreshMetadata'
    | 'removeBroker'
  > {
  findBroker(node: { readonly nodeId: string }): Promise<Pick<Broker, 'fetch'>>;
}

interface FetcherOptions {
  readonly cluster: FetchConnections;
  readonly context: EventLogContext;
  readonly cursors: () => readonly Cursor[];
  /** How long a broker may wait for data (it answers at once when there is some), and a new cursor with it. */
  readonly longWaitMs: () => number;
  /** Of one partition in one answer, compressed: who reads many at once holds all of it in memory. */
  readonly maxPartitionBytes: number;
  /** Of all partitions in one answer, decompressed. */
  readonly maxInflatedBytes: number;
  /** A failure while it lasts, null when fetching goes well. */
  readonly report: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches for all cursors, one long request per broker at a time, and goes on whatever happens to brokers and leaders
 * until `signal` aborts. Begins with the first `kick`. Its loop is ours and not cockatiel's: it never ends by itself, and asks for
 * something else each time.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  /** Brokers that are being asked. */
  readonly #running = new Set<string>();
  /** Requests so far. */
  #requests = 0;
  /** Aborts when a cursor came, or has room again; another one follows it. */
  #kicked = new AbortController();

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  /** To be called when a cursor came, or has room again. */
  kick(): void {
    const { signal, longWaitMs } = this.#options;
    if (signal.aborted) return;
    this.#kicked.abort();
    this.#kicked = new AbortController();
    for (const [node, led] of this.#cursorsByLeader()) {
      if (this.#running.has(node) || ask(led, longWaitMs()) === null) continue;
      this.#running.add(node);
      void this.#fetchFrom(node).finally(() => {
        this.#running.delete(node);
        this.kick();
      });
    }
  }

  /** Asks one broker as long as it leads something that has room. */
  async #fetchFrom(node: string): Promise<void> {
    const { signal, longWaitMs } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const kicked = this.#kicked.signal;
      const asked = ask(this.#inTurn(this.#cursorsByLeader().get(node) ?? []), longWaitMs());
      if (asked === null) return;
      failures = (await this.#attempt(node, asked, failures)) ? 0 : failures + 1;
      if (failures === 0 && asked.maxWaitMs === 0 && hadNothing(asked)) await pause(NO_ROOM_MS, kicked);
    }
  }

  /** Which broker leads which partition, as far as it is known. */
  #cursorsByLeader(): Map<string, Cursor[]> {
    const { cluster, cursors } = this.#options;
    return Map.groupBy(cursors(), ({ topic, partition }) => {
      const found = cluster
        .findTopicPartitionMetadata(topic)
        .find(({ partitionId }) => partitionId === partition);
      return String(found?.leader ?? -1);
    });
  }

  /**
   * A broker fills its answer in the order in which partitions are asked for, and gives a record that is larger than what was asked
   * for only to the first that has any. So each request begins with another one, and none waits for ever behind others.
   */
  #inTurn(cursors: readonly Cursor[]): readonly Cursor[] {
    const first = this.#requests % Math.max(cursors.length, 1);
    this.#requests += 1;
    return [...cursors.slice(first), ...cursors.slice(0, first)];
  }

  /** Tries once; true when it went well. */
  async #attempt(node: string, asked: Asked, failures: number): Promise<boolean> {
    const { report, signal } = this.#options;
    try {
      await this.#fetchOnce(node, asked);
      trust(asked.cursors);
      report(null);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (isUndecodable(error)) this.#isolate(asked, error);
      else await this.#recover(error, failures).catch(report);
      // Another broker may lead some of them now, while this one goes on with the rest.
      this.kick();
      return false;
    }
  }

  async #fetchOnce(node: string, asked: Asked): Promise<void> {
    const { cluster, maxPartitionBytes, maxInflatedBytes, signal } = this.#options;
    const broker = await cluster.findBroker({ nodeId: node });
    const isSuspect = asked.cursors.some((cursor) => cursor.trust === 'alone');
    const request = {
      isolationLevel: READ_UNCOMMITTED,
      maxWaitTime: asked.maxWaitMs,
      minBytes: 1,
      maxBytes: MAX_BYTES,
      topics: topicsOf(asked, isSuspect ? ONE_BATCH_BYTES : maxPartitionBytes),
    };
    const within =
      isSuspect && asked.cursors.every((cursor) => cursor.isTolerant) ? tolerantWithin : withinBytes;
    const answer = await within(maxInflatedBytes, () => broker.fetch(request));
    if (!signal.aborted) distribute(asked, answer);
  }

  /** One partition that cannot be decoded holds up no other: each is asked for alone, and the one it was rests. */
  #isolate({ cursors }: Asked, error: unknown): void {
    const [only, ...others] = cursors;
    if (only === undefined || others.length > 0) {
      for (const cursor of cursors) cursor.trust = 'alone';
      return;
    }
    only.trust = 'resting';
    only.report(error);
    void pause(REST_MS, this.#options.signal).then(() => {
      only.trust = 'alone';
      this.kick();
    });
  }

  async #recover(error: unknown, failures: number): Promise<void> {
    const { cluster, context, cursors, report, signal } = this.#options;
    const lost = outOfRange(error, cursors());
    if (lost !== undefined) {
      context.logger.warn(
        `${nameOnBrokers(cluster, lost)}: offset ${lost.next} is gone; reading goes on with the oldest kept`,
      );
      return await this.#restart(lost);
    }
    report(error);
    await pause(backoffMs(RETRY_BACKOFFS.partition, failures, context.random), signal);
    if (!signal.aborted) await this.#reconnect(error);
  }

  /** With the oldest offset that is still there. */
  async #restart(cursor: Cursor): Promise<void> {
    const { topic, partition } = cursor;
    const [found] = await this.#options.cluster.fetchTopicsOffset([
      { topic, partitions: [{ partition }], fromBeginning: true },
    ]);
    const offset = found?.partitions[0]?.offset;
    if (offset === undefined) return;
    if (BigInt(offset) < cursor.next) cursor.onRewound();
    cursor.next = BigInt(offset);
  }

  /** Forgets a closed connection, and learns who leads now. */
  async #reconnect(error: unknown): Promise<void> {
    const { cluster } = this.#options;
    if (error instanceof Error && 'host' in error && 'port' in error) {
      cluster.removeBroker({ host: String(error.host), port: Number(error.port) });
    }
    if (!cluster.isConnected()) await cluster.connect();
    await cluster.refreshMetadata();
  }
}

function outOfRange(error: unknown, cursors: readonly Cursor[]): Cursor | undefined {
  if (!(error instanceof Error) || error.name !== 'KafkaJSOffsetOutOfRange') return undefined;
  if (!('topic' in error && 'partition' in error)) return undefined;
  return cursors.find(({ topic, partition }) => topic === error.topic && partition === error.partition);
}

/** Neither a broker nor the network said so: what was received could not be understood. */
const isUndecodable = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'KafkaJSNotImplemented' || !error.name.startsWith('KafkaJS'));

function trust(cursors: readonly Cursor[]): void {
  for (const cursor of cursors) {
    if (cursor.trust === 'alone') cursor.report(null);
    cursor.trust = 'full';
  }
}

const hadNothing = ({ cursors, from }: Asked): boolean =>
  cursors.every((cursor) => cursor.next === from.get(cursor));

/** A partition that is read. */
export interface Cursor {
  readonly topic: TopicName;
  readonly partition: number;
  /** The next offset to fetch. */
  next: bigint;
  /** The end of the partition as last seen. */
  end: bigint;
  /** Whether the broker has told that end since somebody asked for this. */
  isEndTold: boolean;
  /**
   * `alone`: something in an answer could not be decoded, and it is to be found out whose it was. `resting`: it was this
   * one's, which is tried again later.
   */
  trust: 'full' | 'alone' | 'resting';
  /** Whether a batch that cannot be decoded is delivered as one record that says so; else it ends the reading, or stands still. */
  readonly isTolerant: boolean;
  readonly hasRoom: () => boolean;
  readonly deliver: (records: readonly LogRecord[]) => void;
  /** The partition ends before `next`, so it is not the one that was read. Reading goes on with its oldest record. */
  readonly onRewound: () => void;
  /** What of this partition cannot be decoded; null when it was read. */
  readonly report: (error: unknown) => void;
}

/** What one request asks for, and from where. */
interface Asked {
  readonly cursors: readonly Cursor[];
  readonly from: ReadonlyMap<Cursor, bigint>;
  /** How long the broker may wait for data: not at all while a partition is left out for want of room, or that would wait too. */
  readonly maxWaitMs: number;
}

/** What is to be asked next of the broker that leads these partitions; null when nothing is. */
function ask(led: readonly Cursor[], longWaitMs: number): Asked | null {
  const awake = led.filter(({ trust }) => trust !== 'resting');
  const open = awake.filter((cursor) => cursor.hasRoom());
  const suspect = open.find(({ trust }) => trust === 'alone');
  const cursors = suspect === undefined ? open : [suspect];
  if (cursors.length === 0) return null;
  return {
    cursors,
    from: new Map(cursors.map((cursor) => [cursor, cursor.next])),
    maxWaitMs: cursors.length === awake.length ? longWaitMs : 0,
  };
}

/** As kafkajs's request wants it: of each partition so many bytes at most, unless its first batch is larger. */
function topicsOf({ cursors }: Asked, maxBytes: number): FetchRequest['topics'] {
  return [...Map.groupBy(cursors, ({ topic }) => topic)].map(([topic, group]) => ({
    topic,
    partitions: group.map(({ partition, next }) => ({
      partition,
      fetchOffset: next.toString(),
      maxBytes,
    })),
  }));
}

/** An answer may begin before the offset asked for, since batches are compressed whole. */
function accept(cursor: Cursor, { messages, highWatermark }: FetchedPartition): void {
  cursor.end = BigInt(highWatermark);
  cursor.isEndTold = cursor.end >= 0n;
  const wanted = messages.filter(({ offset }) => BigInt(offset) >= cursor.next);
  const last = wanted.at(-1);
  if (last === undefined) return;
  const records = wanted
    .filter(({ isControlRecord }) => isControlRecord !== true)
    .map((message) => toLogRecord(cursor.topic, cursor.partition, message));
  cursor.next = BigInt(last.offset) + 1n;
  if (records.length > 0) cursor.deliver(records);
}

/**
 * An answer without any record proves that nothing lies between what was asked for and the ends it tells. (A broker that
 * throttles tells no ends.)
 */
function skipGaps(answered: readonly Cursor[]): void {
  for (const cursor of answered) {
    if (cursor.next < cursor.end) cursor.next = cursor.end;
  }
}

/** Gives each cursor what was answered for it; one that was moved meanwhile gets nothing. */
function distribute({ cursors, from }: Asked, { responses }: FetchAnswer): void {
  const fetched = new Map(
    responses.flatMap(({ topicName, partitions }) =>
      partitions.map((found) => [partitionName({ topic: topicName, partition: found.partition }), found]),
    ),
  );
  const answered = cursors.filter(
    (cursor) => from.get(cursor) === cursor.next && fetched.has(partitionName(cursor)),
  );
  for (const cursor of answered) {
    const partition = fetched.get(partitionName(cursor));
    if (partition !== undefined) accept(cursor, partition);
  }
  if ([...fetched.values()].every(({ messages }) => messages.length === 0)) skipGaps(answered);
}
