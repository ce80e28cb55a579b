import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type ArchiveRequest, type ArchiveRun, archiveTo } from '../../../../packages/archive/archive-log.ts';
import { type ArchiveFindings, checkArchive } from '../../../../packages/archive/check-archive.ts';
import type { ArchivePlace } from '../../../../packages/archive/store.ts';
import type { LogReader, LogRecord, ReadEvent, ReadRequest } from '../../../../packages/log/port.ts';
import { interrupted } from '../../../../packages/log/stopping.ts';
import { TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';

export const NOTED_MS = 99_000;
const running = new AbortController().signal;

/** Archives what lies on the log. */
export const archived = (
  log: LogReader,
  place: ArchivePlace,
  {
    signal = running,
    ...over
  }: Partial<Pick<ArchiveRequest, 'limits' | 'signer'>> & { readonly signal?: AbortSignal } = {},
): Promise<ArchiveRun> =>
  archiveTo(
    {
      log,
      place,
      now: () => NOTED_MS,
      newId: randomUUID,
      onProgress: () => undefined,
      signer: null,
      ...over,
    },
    signal,
  );

export const checked = (place: ArchivePlace, expectedHead: string | null = null): Promise<ArchiveFindings> =>
  checkArchive({ place, expectedHead, onProgress: () => undefined }, running);

/** Everything that a reading gives, without the mark at its end. */
export async function recordsOf(log: LogReader, request: Partial<ReadRequest> = {}): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  const whole = { topic: TOPICS.inventory.name, from: 'earliest', to: 'end', ...request } as const;
  for await (const event of log.read(whole, running)) if (event.kind === 'record') records.push(event.record);
  return records;
}

/** A log of these records alone, wherever their offsets begin; also one that retention or another log made so. */
export const logOf = (records: readonly LogRecord[]): LogReader => ({
  read: async function* (request: ReadRequest, signal?: AbortSignal): AsyncGenerator<ReadEvent, void> {
    if (signal?.aborted) throw interrupted();
    for (const record of records) if (isAsked(record, request)) yield { kind: 'record', record };
    yield { kind: 'caught-up' };
  },
});

/** The same log while it grows: `then` comes right after `topic` was read for the first time. A reading ends where it ended at its beginning. */
export function growingLog(
  records: readonly LogRecord[],
  { topic, then }: { readonly topic: TopicName; readonly then: readonly LogRecord[] },
): LogReader {
  let now = [...records];
  return {
    read: async function* (request, signal): AsyncGenerator<ReadEvent, void> {
      yield* logOf(now).read(request, signal);
      if (request.topic === topic) now = [...records, ...then];
    },
  };
}

function isAsked(record: LogRecord, { topic, partition, from }: ReadRequest): boolean {
  if (record.topic !== topic || (partition !== undefined && record.partition !== partition)) return false;
  if (from === 'earliest') return true;
  return 'offset' in from ? record.offset >= from.offset : record.timestampMs >= from.timestampMs;
}

/** The names of an archive's files that are about a topic, records and indexes. */
export const filesOf = (directory: string, topic: TopicName): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .filter((name) => name.includes(`topic=${topic}/`))
    .toSorted();

/** The first of its files of records about a topic. */
export const recordsFile = (directory: string, topic: TopicName): string =>
  filesOf(directory, topic).find((name) => name.endsWith('.parquet')) ?? '';
