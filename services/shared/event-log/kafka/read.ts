import type { FleetGcError } from '../../errors.ts';
import { pause } from '../back-off.ts';
import { recreatedTopic } from '../differences.ts';
import { recordBytes } from '../limits.ts';
import { requirePartition } from '../partition.ts';
import type { LogRecord, ReadEvent, ReadRequest } from '../port.ts';
import { type Connections, connectFor, disconnect, prepareConnections } from './connections.ts';
import type { KafkaCore } from './core.ts';
import type { Cursor } from './cursor.ts';
import { undecodable } from './errors.ts';
import { startFetcher } from './fetcher.ts';
import { type Range, readRanges } from './ranges.ts';

/** Until all that was there is read, and then: thousands of nodes follow the policies, all at one broker. */
const LONG_WAIT_MS = 5000;
const FOLLOWING_WAIT_MS = 20_000;
const MAX_PARTITION_BYTES = 1024 * 1024;
const ROOM_BYTES = 4 * 1024 * 1024;
/** Failures in a row after which a reading that is to end gives up: about half a minute. */
const PATIENCE = 10;

/** Records between the fetcher and the reader. */
interface Buffered {
  records: LogRecord[];
  bytes: number;
  failure: FleetGcError | null;
  /** Grows with every answer of a broker. */
  answers: number;
  wake: () => void;
  /** Whether the reader was told that it has caught up. */
  marked: boolean;
}

const emptyBuffer = (): Buffered => ({
  records: [],
  bytes: 0,
  failure: null,
  answers: 0,
  wake: () => undefined,
  marked: false,
});

function toCursor({ at, from, end }: Range, to: ReadRequest['to'], buffered: Buffered): Cursor {
  const cursor: Cursor = {
    ...at,
    next: from,
    end,
    trust: 'full',
    hasRoom: () => buffered.bytes < ROOM_BYTES,
    deliver: (records) => {
      const wanted = to === 'forever' ? records : records.filter(({ offset }) => offset < end);
      buffered.records.push(...wanted);
      buffered.bytes += wanted.reduce((sum, record) => sum + recordBytes(record), 0);
    },
    onRewound: () => {
      buffered.failure = recreatedTopic(at.topic);
      buffered.answers += 1;
      buffered.wake();
    },
    report: (error) => {
      if (error !== null) buffered.failure = undecodable(at, error);
      buffered.answers += 1;
      buffered.wake();
    },
  };
  return cursor;
}

/**
 * Notes failures. A reading for ever outlasts every outage, but not its topic; one that is to end gives up some time.
 */
function createReport(
  buffered: Buffered,
  { topic, to }: Pick<ReadRequest, 'topic' | 'to'>,
  { explain, reached }: KafkaCore,
) {
  let failures = 0;
  const note = (error: unknown): void => {
    failures += 1;
    const failure = explain(error);
    if (to === 'forever' && failure.code === 'TOPICS_MISSING') buffered.failure = recreatedTopic(topic);
    const isLast = !failure.retry || (to !== 'forever' && failures >= PATIENCE);
    if (isLast) buffered.failure = failure;
  };
  return (error: unknown): void => {
    if (error === null) {
      failures = 0;
      reached();
    } else note(error);
    buffered.answers += 1;
    buffered.wake();
  };
}

function take(buffered: Buffered): readonly LogRecord[] {
  const { records } = buffered;
  buffered.records = [];
  buffered.bytes = 0;
  return records;
}

function nextAnswer(buffered: Buffered, seen: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || buffered.answers !== seen) return resolve();
    const wake = (): void => {
      signal.removeEventListener('abort', wake);
      buffered.wake = () => undefined;
      resolve();
    };
    buffered.wake = wake;
    signal.addEventListener('abort', wake);
  });
}

/** What is at hand, and the mark when all that was there at the start has been given. */
function* nextEvents(buffered: Buffered, isCaughtUp: () => boolean): Generator<ReadEvent, void> {
  const reached = !buffered.marked && isCaughtUp();
  for (const record of take(buffered)) yield { kind: 'record', record };
  if (!reached) return;
  buffered.marked = true;
  yield { kind: 'caught-up' };
}

async function* follow(
  connections: Connections,
  request: ReadRequest,
  core: KafkaCore,
  signal: AbortSignal,
): AsyncGenerator<ReadEvent, void> {
  const buffered = emptyBuffer();
  const parts = await readRanges(connections.cluster, request, { core, wait: pause, signal });
  const cursors = parts.map((part) => toCursor(part, request.to, buffered));
  const { kick } = startFetcher({
    cluster: connections.cluster,
    context: core.context,
    cursors: () => cursors.filter(({ next, end }) => request.to === 'forever' || next < end),
    longWaitMs: () => (buffered.marked ? FOLLOWING_WAIT_MS : LONG_WAIT_MS),
    maxPartitionBytes: MAX_PARTITION_BYTES,
    report: createReport(buffered, request, core),
    signal,
  });
  const isCaughtUp = (): boolean => parts.every(({ end }, index) => (cursors[index]?.next ?? 0n) >= end);
  while (!signal.aborted) {
    if (buffered.failure !== null) throw buffered.failure;
    const seen = buffered.answers;
    yield* nextEvents(buffered, isCaughtUp);
    if (buffered.marked && request.to !== 'forever') return;
    kick();
    await nextAnswer(buffered, seen, signal);
  }
}

/**
 * Reads without joining any group: a consumer is made for its connections only, nothing is ever committed, and no trace
 * is left on the broker. Ends quietly when `signal` aborts.
 */
export async function* readRecords(
  core: KafkaCore,
  request: ReadRequest,
  signal: AbortSignal,
): AsyncGenerator<ReadEvent, void> {
  requirePartition(request.topic, request.partition);
  const { options, context } = core;
  const ended = new AbortController();
  const connections = prepareConnections(options, context, { group: 'none', topics: [request.topic] });
  try {
    await connectFor(connections, [request.topic]);
    yield* follow(connections, request, core, AbortSignal.any([signal, ended.signal]));
  } catch (error) {
    if (!signal.aborted) throw core.explain(error);
  } finally {
    ended.abort();
    await disconnect(connections, context);
  }
}
