import { z } from 'zod';
import type { LogReader, LogRecord, ReadEvent, ReadRequest } from '../../../../packages/log/port.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';

/** All records of a log, by topic, in the order of each partition. */
export type Recording = Readonly<Record<TopicId, readonly LogRecord[]>>;

const TOPIC_IDS = Object.keys(TOPICS).filter((id): id is TopicId => id in TOPICS);

async function recordsOf(log: LogReader, topicId: TopicId): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const event of log.read({ topic: TOPICS[topicId].name, from: 'earliest', to: 'end' }))
    if (event.kind === 'record') records.push(event.record);
  return records;
}

const EMPTY: Recording = {
  diskStats: [],
  inventory: [],
  observe: [],
  commands: [],
  results: [],
  decisions: [],
  clusterOwnership: [],
  clusterPods: [],
  clusterExpiry: [],
  clusterCommands: [],
  clusterRemoved: [],
  clusterResults: [],
  clusterDecisions: [],
  clusterCensus: [],
  policies: [],
  policyVersions: [],
  keys: [],
  heads: [],
  latestFacts: [],
  deadLetters: [],
};

/** Copies a log; each moment at which it took records lies `stepMs` after the one before. */
export async function recordingOf(log: LogReader, stepMs: number): Promise<Recording> {
  let copied = EMPTY;
  for (const id of TOPIC_IDS) copied = { ...copied, [id]: await recordsOf(log, id) };
  const moments = [...new Set(TOPIC_IDS.flatMap((id) => copied[id].map(({ timestampMs }) => timestampMs)))];
  const sorted = moments.toSorted((a, b) => a - b);
  const order = new Map(sorted.map((momentMs, index) => [momentMs, (sorted[0] ?? 0) + index * stepMs]));
  return mapRecords(copied, (record) => ({ ...record, timestampMs: order.get(record.timestampMs) ?? 0 }));
}

/** The same log with other records. */
export function mapRecords(recording: Recording, change: (record: LogRecord) => LogRecord): Recording {
  let mapped = recording;
  for (const id of TOPIC_IDS) mapped = { ...mapped, [id]: recording[id].map(change) };
  return mapped;
}

/** A log that holds what was recorded. */
export const replayed = (recording: Recording): LogReader => ({
  read: (request) => readRecording(recording, request),
});

async function* readRecording(recording: Recording, request: ReadRequest): AsyncGenerator<ReadEvent, void> {
  const topicId = TOPIC_IDS.find((id) => TOPICS[id].name === request.topic) ?? 'policies';
  for (const record of recording[topicId]) if (isAsked(record, request)) yield { kind: 'record', record };
  yield { kind: 'caught-up' };
}

function isAsked({ partition, offset, timestampMs }: LogRecord, { from, ...asked }: ReadRequest): boolean {
  if (asked.partition !== undefined && asked.partition !== partition) return false;
  if (from === 'earliest') return true;
  return 'offset' in from ? offset >= from.offset : timestampMs >= from.timestampMs;
}

/** Picks a record of a topic by what its value says. */
export type Picking = (value: string) => boolean;

const textOf = ({ value }: LogRecord): string => value?.toString('utf8') ?? '';

function placeIn(records: readonly LogRecord[], pick: Picking): number {
  const index = records.findIndex((record) => pick(textOf(record)));
  if (index < 0) throw new Error('there is no such record');
  return index;
}

/** The first such record of a topic. */
export function pickedRecord(recording: Recording, topicId: TopicId, pick: Picking): LogRecord {
  const record = recording[topicId][placeIn(recording[topicId], pick)];
  if (record === undefined) throw new Error('there is no such record');
  return record;
}

/** The same log without the first such record. */
export const without = (recording: Recording, topicId: TopicId, pick: Picking): Recording => ({
  ...recording,
  [topicId]: recording[topicId].toSpliced(placeIn(recording[topicId], pick), 1),
});

/** The same log with another value of the first such record. */
export function rewritten(
  recording: Recording,
  topicId: TopicId,
  pick: Picking,
  rewrite: (text: string) => string,
): Recording {
  const index = placeIn(recording[topicId], pick);
  const records = recording[topicId].map((record, at) => {
    if (at !== index) return record;
    const text = rewrite(textOf(record));
    if (text === textOf(record)) throw new Error('nothing was rewritten');
    return { ...record, value: Buffer.from(text), headers: { ...record.headers, ce_id: idOf(text) } };
  });
  return { ...recording, [topicId]: records };
}

/** The same log with one more record at the end of a topic, so that all others stay where decisions name them. */
export function appended(
  recording: Recording,
  topicId: TopicId,
  pick: Picking,
  rewrite: (text: string) => string,
): Recording {
  const original = pickedRecord(recording, topicId, pick);
  const last = lastRecord(recording, topicId);
  const text = rewrite(textOf(original));
  const record = {
    ...original,
    offset: last.offset + 1n,
    timestampMs: last.timestampMs,
    value: Buffer.from(text),
    headers: { ...original.headers, ce_id: idOf(text) },
  };
  return { ...recording, [topicId]: [...recording[topicId], record] };
}

export function lastRecord(recording: Recording, topicId: TopicId): LogRecord {
  const record = recording[topicId].at(-1);
  if (record === undefined) throw new Error('there is no such record');
  return record;
}

const idOf = (text: string): string => z.object({ id: z.string() }).parse(JSON.parse(text)).id;
