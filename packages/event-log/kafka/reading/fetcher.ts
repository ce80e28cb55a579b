import type { Broker, Cluster } from 'kafkajs';
import { backOffMs, pause } from '../../../process/back-off.ts';
import type { EventLogContext } from '../../port.ts';
import { distribute, type FetchAnswer } from '../client/answers.ts';
import { tolerantWithin, withinBytes } from '../client/inflation.ts';
import { type Asked, ask, type Cursor, cursorName, topicsOf } from './cursor.ts';

const MAX_BYTES = 8 * 1024 * 1024;
/** A broker gives the first batch whatever its size. */
const ONE_BATCH_BYTES = 1;
const READ_UNCOMMITTED = 0;
const BACK_OFF = { firstMs: 100, mostMs: 5000 };
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
  readonly longWaitMs: () => number;
  /** Of one partition in one answer, compressed: who reads many at once holds all of it in memory. */
  readonly maxPartitionBytes: number;
  /** Of all partitions in one answer, decompressed. */
  readonly maxInflatedBytes: number;
  /** A failure while it lasts, null when fetching goes well. */
  readonly report: (error: unknown) => void;
  readonly signal: AbortSignal;
}

export interface Fetcher {
  /** To be called when a cursor came, or has room again. */
  kick(): void;
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
  if (offset === undefined) return;
  if (BigInt(offset) < cursor.next) cursor.onRewound();
  cursor.next = BigInt(offset);
}

function outOfRange(error: unknown, cursors: readonly Cursor[]): Cursor | undefined {
  if (!(error instanceof Error) || error.name !== 'KafkaJSOffsetOutOfRange') return undefined;
  if (!('topic' in error && 'partition' in error)) return undefined;
  return cursors.find(({ topic, partition }) => topic === error.topic && partition === error.partition);
}

interface FetcherState extends FetcherOptions {
  /** Brokers that are being asked. */
  readonly running: Set<string>;
  /** Requests so far. */
  requests: number;
  /** Aborts when a cursor came, or has room again; another one follows it. */
  kicked: AbortController;
}

/**
 * A broker fills its answer in the order in which partitions are asked for, and gives a record that is larger than what was asked
 * for only to the first that has any. So each request begins with another one, and none waits for ever behind others.
 */
function takeTurns(fetcher: FetcherState, cursors: readonly Cursor[]): readonly Cursor[] {
  const first = fetcher.requests % Math.max(cursors.length, 1);
  fetcher.requests += 1;
  return [...cursors.slice(first), ...cursors.slice(0, first)];
}

const ledBy = ({ cluster, cursors }: FetcherOptions, node: string): readonly Cursor[] =>
  leaders(cluster, cursors()).get(node) ?? [];

async function fetchOnce(fetcher: FetcherOptions, node: string, asked: Asked): Promise<void> {
  const { cluster, maxPartitionBytes, maxInflatedBytes, signal } = fetcher;
  const broker = await cluster.findBroker({ nodeId: node });
  const isSuspect = asked.cursors.some(({ trust }) => trust === 'alone');
  const request = {
    isolationLevel: READ_UNCOMMITTED,
    maxWaitTime: asked.maxWaitMs,
    minBytes: 1,
    maxBytes: MAX_BYTES,
    topics: topicsOf(asked, isSuspect ? ONE_BATCH_BYTES : maxPartitionBytes),
  };
  const within =
    isSuspect && asked.cursors.every((cursor) => cursor.isTolerant) ? tolerantWithin : withinBytes;
  const answer: FetchAnswer = await within(maxInflatedBytes, () => broker.fetch(request));
  if (!signal.aborted) distribute(asked, answer);
}

async function recover(fetcher: FetcherOptions, error: unknown, failures: number): Promise<void> {
  const { cluster, context, cursors, report, signal } = fetcher;
  const lost = outOfRange(error, cursors());
  if (lost !== undefined) {
    context.logger.warn(
      `${cursorName(lost)}: offset ${lost.next} is gone; reading goes on with the oldest kept`,
    );
    return restart(cluster, lost);
  }
  report(error);
  await pause(backOffMs(BACK_OFF, failures, context.random), signal);
  if (!signal.aborted) await reconnect(cluster, error);
}

/** Neither a broker nor the network said so: what was received could not be understood. */
const isUndecodable = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'KafkaJSNotImplemented' || !error.name.startsWith('KafkaJS'));

/** One partition that cannot be decoded holds up no other: each is asked for alone, and the one it was rests. */
function isolate({ signal }: FetcherOptions, { cursors }: Asked, error: unknown, again: () => void): void {
  const [only, ...others] = cursors;
  if (only === undefined || others.length > 0) {
    for (const cursor of cursors) cursor.trust = 'alone';
    return;
  }
  only.trust = 'resting';
  only.report(error);
  void pause(REST_MS, signal).then(() => {
    only.trust = 'alone';
    again();
  });
}

function trust(cursors: readonly Cursor[]): void {
  for (const cursor of cursors) {
    if (cursor.trust === 'alone') cursor.report(null);
    cursor.trust = 'full';
  }
}

/** Tries once; true when it went well. */
async function attempt(fetcher: FetcherState, node: string, asked: Asked, failures: number) {
  try {
    await fetchOnce(fetcher, node, asked);
    trust(asked.cursors);
    fetcher.report(null);
    return true;
  } catch (error) {
    if (fetcher.signal.aborted) return false;
    if (isUndecodable(error)) isolate(fetcher, asked, error, () => kick(fetcher));
    else await recover(fetcher, error, failures).catch(fetcher.report);
    // Another broker may lead some of them now, while this one goes on with the rest.
    kick(fetcher);
    return false;
  }
}

/** Asks one broker as long as it leads something that has room. */
async function fetchFrom(fetcher: FetcherState, node: string): Promise<void> {
  for (let failures = 0; !fetcher.signal.aborted; ) {
    const kicked = fetcher.kicked.signal;
    const asked = ask(takeTurns(fetcher, ledBy(fetcher, node)), fetcher.longWaitMs());
    if (asked === null) return;
    failures = (await attempt(fetcher, node, asked, failures)) ? 0 : failures + 1;
    if (failures === 0 && asked.maxWaitMs === 0 && hadNothing(asked)) await pause(NO_ROOM_MS, kicked);
  }
}

const hadNothing = ({ cursors, from }: Asked): boolean =>
  cursors.every((cursor) => cursor.next === from.get(cursor));

function kick(fetcher: FetcherState): void {
  if (fetcher.signal.aborted) return;
  fetcher.kicked.abort();
  fetcher.kicked = new AbortController();
  for (const [node, led] of leaders(fetcher.cluster, fetcher.cursors())) {
    if (fetcher.running.has(node) || ask(led, fetcher.longWaitMs()) === null) continue;
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
  const fetcher: FetcherState = {
    ...options,
    running: new Set(),
    requests: 0,
    kicked: new AbortController(),
  };
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
