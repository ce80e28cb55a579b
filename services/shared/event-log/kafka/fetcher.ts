import type { Broker, Cluster } from 'kafkajs';
import type { TopicName } from '../../../../schemas/topics.ts';
import { backOffMs, pause } from '../back-off.ts';
import type { EventLogContext } from '../context.ts';
import type { LogRecord } from '../port.ts';
import { type FetchedMessage, toLogRecord } from './decode.ts';

/** While a partition is left out for want of room, the rest must not wait long, or it would. */
const SHORT_WAIT_MS = 50;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_PARTITION_BYTES = 1024 * 1024;
const READ_UNCOMMITTED = 0;
const BACK_OFF = { firstMs: 100, mostMs: 5000 };

/** A partition that is read. */
export interface Cursor {
  readonly topic: TopicName;
  readonly partition: number;
  /** The next offset to fetch. */
  next: bigint;
  /** The end of the partition as last seen. */
  end: bigint;
  readonly hasRoom: () => boolean;
  readonly deliver: (records: readonly LogRecord[]) => void;
}

/** What the fetcher needs of kafkajs's connections. */
export interface FetchConnections
  extends Pick<
    Cluster,
    | 'connect'
    | 'fetchTopicsOffset'
    | 'findTopicPartitionMetadata'
    | 'isConnected'
    | 'refreshMetadata'
    | 'removeBroker'
  > {
  findBroker(node: { readonly nodeId: string }): Promise<Pick<Broker, 'fetch'>>;
}

export interface FetcherOptions {
  readonly cluster: FetchConnections;
  readonly context: EventLogContext;
  readonly cursors: () => readonly Cursor[];
  /** How long a broker may wait for data (it answers at once when there is some), and a new cursor with it. */
  readonly longWaitMs: number;
  /** A failure while it lasts, null when fetching goes well. */
  readonly report: (error: unknown) => void;
  readonly signal: AbortSignal;
}

export interface Fetcher {
  /** To be called when a cursor came, or has room again. */
  kick(): void;
}

interface FetchedPartition {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedMessage[];
}
interface FetchAnswer {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

/** What one request asks for, and from where. */
interface Asked {
  readonly cursors: readonly Cursor[];
  readonly from: ReadonlyMap<Cursor, bigint>;
  readonly maxWaitMs: number;
}

const keyOf = (topic: string, partition: number): string => `${topic}/${partition}`;
const nameOf = ({ topic, partition }: Cursor): string => keyOf(topic, partition);

function ask(led: readonly Cursor[], longWaitMs: number): Asked | null {
  const cursors = led.filter((cursor) => cursor.hasRoom());
  if (cursors.length === 0) return null;
  return {
    cursors,
    from: new Map(cursors.map((cursor) => [cursor, cursor.next])),
    maxWaitMs: cursors.length === led.length ? longWaitMs : SHORT_WAIT_MS,
  };
}

function topicsOf({ cursors }: Asked) {
  return [...Map.groupBy(cursors, ({ topic }) => topic)].map(([topic, group]) => ({
    topic,
    partitions: group.map(({ partition, next }) => ({
      partition,
      fetchOffset: next.toString(),
      maxBytes: MAX_PARTITION_BYTES,
    })),
  }));
}

/** An answer may begin before the offset asked for, since batches are compressed whole. */
function accept(cursor: Cursor, { messages, highWatermark }: FetchedPartition): void {
  cursor.end = BigInt(highWatermark);
  const wanted = messages.filter(({ offset }) => BigInt(offset) >= cursor.next);
  const last = wanted.at(-1);
  if (last === undefined) return;
  cursor.next = BigInt(last.offset) + 1n;
  const records = wanted
    .filter(({ isControlRecord }) => isControlRecord !== true)
    .map((message) => toLogRecord(cursor.topic, cursor.partition, message));
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

function distribute({ cursors, from }: Asked, { responses }: FetchAnswer): void {
  const fetched = new Map(
    responses.flatMap(({ topicName, partitions }) =>
      partitions.map((partition) => [keyOf(topicName, partition.partition), partition]),
    ),
  );
  const answered = cursors.filter(
    (cursor) => from.get(cursor) === cursor.next && fetched.has(nameOf(cursor)),
  );
  for (const cursor of answered) {
    const partition = fetched.get(nameOf(cursor));
    if (partition !== undefined) accept(cursor, partition);
  }
  if ([...fetched.values()].every(({ messages }) => messages.length === 0)) skipGaps(answered);
}

/** Which broker leads which partition, as far as it is known. */
function leaders(cluster: FetchConnections, cursors: readonly Cursor[]): Map<string, Cursor[]> {
  return Map.groupBy(cursors, ({ topic, partition }) => {
    const found = cluster
      .findTopicPartitionMetadata(topic)
      .find(({ partitionId }) => partitionId === partition);
    return String(found?.leader ?? -1);
  });
}

/** The oldest offset that is still there. */
async function restart(cluster: FetchConnections, cursor: Cursor): Promise<void> {
  const { topic, partition } = cursor;
  const [found] = await cluster.fetchTopicsOffset([
    { topic, partitions: [{ partition }], fromBeginning: true },
  ]);
  const offset = found?.partitions[0]?.offset;
  if (offset !== undefined) cursor.next = BigInt(offset);
}

function outOfRange(error: unknown, cursors: readonly Cursor[]): Cursor | undefined {
  if (!(error instanceof Error) || error.name !== 'KafkaJSOffsetOutOfRange') return undefined;
  if (!('topic' in error && 'partition' in error)) return undefined;
  return cursors.find(({ topic, partition }) => topic === error.topic && partition === error.partition);
}

interface FetcherState extends FetcherOptions {
  /** Brokers that are being asked. */
  readonly running: Set<string>;
}

const ledBy = ({ cluster, cursors }: FetcherOptions, node: string): readonly Cursor[] =>
  leaders(cluster, cursors()).get(node) ?? [];

async function fetchOnce({ cluster, signal }: FetcherOptions, node: string, asked: Asked): Promise<void> {
  const broker = await cluster.findBroker({ nodeId: node });
  const answer: FetchAnswer = await broker.fetch({
    isolationLevel: READ_UNCOMMITTED,
    maxWaitTime: asked.maxWaitMs,
    minBytes: 1,
    maxBytes: MAX_BYTES,
    topics: topicsOf(asked),
  });
  if (!signal.aborted) distribute(asked, answer);
}

async function recover(fetcher: FetcherOptions, error: unknown, failures: number): Promise<void> {
  const { cluster, context, cursors, report, signal } = fetcher;
  const lost = outOfRange(error, cursors());
  if (lost !== undefined) {
    context.logger.warn(`${nameOf(lost)}: offset ${lost.next} is gone; reading goes on with the oldest kept`);
    return restart(cluster, lost);
  }
  report(error);
  await pause(backOffMs(BACK_OFF, failures, context.random), signal);
  if (!signal.aborted) await reconnect(cluster, error);
}

/** Tries once; true when it went well. */
async function attempt(fetcher: FetcherOptions, node: string, asked: Asked, failures: number) {
  try {
    await fetchOnce(fetcher, node, asked);
    fetcher.report(null);
    return true;
  } catch (error) {
    if (!fetcher.signal.aborted) await recover(fetcher, error, failures).catch(fetcher.report);
    return false;
  }
}

/** Asks one broker as long as it leads something that has room. */
async function fetchFrom(fetcher: FetcherOptions, node: string): Promise<void> {
  for (let failures = 0; !fetcher.signal.aborted; ) {
    const asked = ask(ledBy(fetcher, node), fetcher.longWaitMs);
    if (asked === null) return;
    failures = (await attempt(fetcher, node, asked, failures)) ? 0 : failures + 1;
  }
}

function kick(fetcher: FetcherState): void {
  if (fetcher.signal.aborted) return;
  for (const [node, led] of leaders(fetcher.cluster, fetcher.cursors())) {
    if (fetcher.running.has(node) || ask(led, fetcher.longWaitMs) === null) continue;
    fetcher.running.add(node);
    void fetchFrom(fetcher, node).finally(() => {
      fetcher.running.delete(node);
      kick(fetcher);
    });
  }
}

/**
 * Fetches for all cursors, one long request per broker at a time, and goes on whatever happens to brokers and leaders
 * until `signal` aborts.
 */
export function startFetcher(options: FetcherOptions): Fetcher {
  const fetcher: FetcherState = { ...options, running: new Set() };
  return { kick: () => kick(fetcher) };
}

/** After a failure: forget a closed connection, and learn who leads now. */
async function reconnect(cluster: FetchConnections, error: unknown): Promise<void> {
  if (error instanceof Error && 'host' in error && 'port' in error) {
    cluster.removeBroker({ host: String(error.host), port: Number(error.port) });
  }
  if (!cluster.isConnected()) await cluster.connect();
  await cluster.refreshMetadata();
}
