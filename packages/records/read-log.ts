import { SubjectKind } from '../../schemas/events/identity.ts';
import { TOPICS, type TopicAbout, type TopicId } from '../../schemas/events/topics.ts';
import type { EventLog, LogReader, LogRecord } from '../log/port.ts';

/** What is audited: an event log that lives, or an archive of one. */
export type RecordedLog = LogReader & AsyncDisposable;

/** A part of the log by its own clock, epoch milliseconds: from `fromMs` up to and without `toMs`; `null` is no limit. */
export interface TimeRange {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Which records to read: those of one partition, which has the same number on every topic that is keyed by node. */
export interface PartitionReading {
  readonly topics: readonly TopicId[];
  readonly partition: number;
  readonly range: TimeRange;
}

/** A record as it lies on the log; whoever needs it parses it. */
export interface RecordedEvent {
  readonly topicId: TopicId;
  readonly record: LogRecord;
}

/** What lies in the partition of a subject, causes before effects: facts, orders, decisions, commands, results. */
export const SUBJECT_TOPICS = {
  node: [
    'diskStats',
    'inventory',
    'observe',
    'decisions',
    'commands',
    'results',
    'latestFacts',
    'deadLetters',
  ],
  cluster: [
    'clusterOwnership',
    'clusterExpiry',
    'clusterPods',
    'clusterDecisions',
    'clusterCommands',
    'clusterRemoved',
    'clusterResults',
    'clusterCensus',
    'latestFacts',
    'deadLetters',
  ],
} as const satisfies {
  readonly [Kind in SubjectKind]: readonly (TopicAbout<Kind> | 'latestFacts' | 'deadLetters')[];
};

export type SubjectTopic = (typeof SUBJECT_TOPICS)[SubjectKind][number];

/** The topics of all subjects: they have as many partitions each, and a partition is read through once. */
export const TOPICS_OF_SUBJECTS: readonly SubjectTopic[] = [
  ...new Set(SubjectKind.options.flatMap((kind): readonly SubjectTopic[] => SUBJECT_TOPICS[kind])),
];

/** All topics, causes before effects, where the log gives several of them the same time. */
export const CAUSES_FIRST: readonly TopicId[] = [
  'keys',
  'policies',
  'policyVersions',
  ...TOPICS_OF_SUBJECTS,
  'heads',
];

/**
 * The records of several topics of one partition, merged by the log's time; the order within a topic stays, whatever its
 * times say. Ends at what lay there at the beginning; throws `INTERRUPTED` when `signal` aborts before. Brokers' clocks differ, so an
 * effect may all the same come a little before its cause.
 */
export async function* readPartition(
  log: LogReader,
  reading: PartitionReading,
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent, void> {
  const sources = CAUSES_FIRST.filter((topicId) => reading.topics.includes(topicId)).map((topicId) => ({
    topicId,
    records: readTopic(log, topicId, reading, signal),
  }));
  try {
    const heads = await firstHeads(sources);
    for (let head = earliest(heads); head !== null; head = earliest(heads)) {
      yield head.event;
      await advance(heads, head);
    }
  } finally {
    await Promise.all(sources.map(({ records }) => records.return()));
  }
}

interface Source {
  readonly topicId: TopicId;
  readonly records: AsyncGenerator<RecordedEvent, void>;
}

/** The next record of a source. */
interface Head extends Source {
  event: RecordedEvent;
}

/**
 * The end of an effect's topic is looked at before that of its cause, so that no effect is read without its cause.
 * Inventories follow from orders, orders from decisions, and decisions from inventories again: the circle is cut there,
 * since who verifies a decision looks for its inventory wherever it lies.
 */
const ENDS_LOOKED_AT: Readonly<Record<TopicId, number>> = {
  heads: 0,
  deadLetters: 0,
  latestFacts: 0,
  results: 1,
  clusterResults: 1,
  clusterCensus: 1,
  clusterRemoved: 2,
  commands: 2,
  clusterCommands: 3,
  inventory: 3,
  observe: 4,
  decisions: 5,
  clusterDecisions: 5,
  diskStats: 6,
  clusterOwnership: 6,
  clusterPods: 6,
  clusterExpiry: 6,
  policyVersions: 7,
  policies: 8,
  keys: 9,
};

async function firstHeads(sources: readonly Source[]): Promise<Head[]> {
  const heads = new Map<TopicId, Head>();
  for (const source of sources.toSorted(byEnd)) {
    const first = await source.records.next();
    if (!first.done) heads.set(source.topicId, { ...source, event: first.value });
  }
  return sources.flatMap(({ topicId }) => heads.get(topicId) ?? []);
}

const byEnd = (a: Source, b: Source): number => ENDS_LOOKED_AT[a.topicId] - ENDS_LOOKED_AT[b.topicId];

/** Of those with the same time the first, which is a cause of the others. */
function earliest(heads: readonly Head[]): Head | null {
  let found: Head | null = null;
  for (const head of heads)
    if (found === null || head.event.record.timestampMs < found.event.record.timestampMs) found = head;
  return found;
}

async function advance(heads: Head[], head: Head): Promise<void> {
  const next = await head.records.next();
  if (next.done) heads.splice(heads.indexOf(head), 1);
  else head.event = next.value;
}

async function* readTopic(
  log: LogReader,
  topicId: TopicId,
  { partition, range: { fromMs, toMs } }: PartitionReading,
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent, void> {
  const from = fromMs === null ? 'earliest' : { timestampMs: fromMs };
  const request = { topic: TOPICS[topicId].name, partition, from, to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    if (toMs !== null && event.record.timestampMs >= toMs) return;
    yield { topicId, record: event.record };
  }
}

/** The first record of a reading, `null` when there is none. */
export async function firstRecord(
  log: LogReader,
  request: Omit<Parameters<EventLog['read']>[0], 'to'>,
  signal: AbortSignal,
): Promise<LogRecord | null> {
  for await (const event of log.read({ ...request, to: 'end' }, signal))
    if (event.kind === 'record') return event.record;
  return null;
}
