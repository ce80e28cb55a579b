import { isDeepStrictEqual } from 'node:util';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { EventLog, LogRecord } from '../log/port.ts';
import { firstRecord } from '../records/read-log.ts';
import { isCompacted } from './manifest.ts';
import type { ManifestLine } from './manifest-entry.ts';
import { openArchiveLog } from './read-archive.ts';
import type { ArchivePlace } from './store/place.ts';

type Log = Pick<EventLog, 'read'>;

/** What lines of an archive are by the log itself. */
export interface ComparedWithLog {
  /** Where the first record lies that the log has otherwise, or that only one of both has. */
  readonly other: string | null;
  /** Where the first one lies that is before all that the log has: nobody can compare it any more. */
  readonly gone: string | null;
}

interface Span {
  readonly topic: TopicName;
  readonly partition: number;
  readonly first: bigint;
  last: bigint;
}

/** Each record of these lines with the log. */
export async function comparedWithLog(
  place: ArchivePlace,
  lines: readonly LineOfRecords[],
  log: Log,
  signal: AbortSignal,
): Promise<ComparedWithLog> {
  await using archive = await openArchiveLog(place);
  let gone: string | null = null;
  for (const span of spansOf(lines)) {
    const found = await comparedSpan(span, { archive, log }, signal);
    if (found.other !== null) return { other: placeText(span, found.other), gone };
    if (found.gone !== null) gone ??= placeText(span, found.gone);
  }
  return { other: null, gone };
}

const placeText = ({ topic, partition }: Span, offset: bigint): string => `${topic}/${partition}@${offset}`;

type LineOfRecords = Extract<ManifestLine, { readonly kind: 'file' | 'gap' }>;
export const isOfRecords = (line: ManifestLine): line is LineOfRecords =>
  line.kind === 'file' || line.kind === 'gap';

/** Within a partition each line goes on where the one before it ended. */
function spansOf(lines: readonly LineOfRecords[]): Iterable<Span> {
  const spans = new Map<string, Span>();
  for (const { partition, firstOffset, lastOffset, ...line } of lines) {
    const topic = nameOf(line.topic);
    if (topic === undefined) continue;
    const last = BigInt(lastOffset);
    const span = spans.get(`${topic}/${partition}`);
    if (span === undefined)
      spans.set(`${topic}/${partition}`, { topic, partition, first: BigInt(firstOffset), last });
    else span.last = last;
  }
  return spans.values();
}

const nameOf = (topic: string): TopicName | undefined =>
  Object.values(TOPICS).find(({ name }) => name === topic)?.name;

/** Offsets, as in `ComparedWithLog`. */
interface ComparedSpan {
  readonly other: bigint | null;
  readonly gone: bigint | null;
}

async function comparedSpan(span: Span, logs: Both, signal: AbortSignal): Promise<ComparedSpan> {
  const kept = new KeptRecords(span, logs.log);
  let gone: bigint | null = null;
  for await (const { copy, found } of pairsOf(span, logs, signal)) {
    if (found !== null && (copy === null || !isSame(found, copy))) return { other: found.offset, gone };
    // Of a compacted topic newer records took its place there.
    if (copy === null || found !== null || isCompacted(span.topic)) continue;
    if (await kept.isThere(copy.offset, signal)) return { other: copy.offset, gone };
    gone ??= copy.offset;
  }
  return { other: null, gone };
}

interface Both {
  readonly archive: Log;
  readonly log: Log;
}

interface Pair {
  readonly copy: LogRecord | null;
  readonly found: LogRecord | null;
}

/** What both have at each offset that one of them has. */
async function* pairsOf(span: Span, { archive, log }: Both, signal: AbortSignal): AsyncGenerator<Pair, void> {
  const [copies, there] = [recordsOf(archive, span, signal), recordsOf(log, span, signal)];
  let [copy, found] = [await nextOf(copies), await nextOf(there)];
  for (let offset = lowest(copy, found); offset !== null; offset = lowest(copy, found)) {
    const pair = { copy: at(offset, copy), found: at(offset, found) };
    yield pair;
    if (pair.copy !== null) copy = await nextOf(copies);
    if (pair.found !== null) found = await nextOf(there);
  }
}

const at = (offset: bigint, record: LogRecord | null): LogRecord | null =>
  record?.offset === offset ? record : null;

const nextOf = async (records: AsyncGenerator<LogRecord, void>): Promise<LogRecord | null> =>
  (await records.next()).value ?? null;

function lowest(one: LogRecord | null, other: LogRecord | null): bigint | null {
  if (one === null || other === null) return (one ?? other)?.offset ?? null;
  return one.offset < other.offset ? one.offset : other.offset;
}

/** From which offset on the log keeps a partition. */
class KeptRecords {
  readonly #of: Pick<Span, 'topic' | 'partition'>;
  readonly #log: Log;
  #first: bigint | null = 0n;

  constructor({ topic, partition }: Span, log: Log) {
    this.#of = { topic, partition };
    this.#log = log;
  }

  /** Whether the log keeps what lies at this offset. It may delete while it is read: so it is asked after the record was missed. */
  async isThere(offset: bigint, signal: AbortSignal): Promise<boolean> {
    if (this.#first === null || this.#first > offset) return false;
    this.#first = (await firstRecord(this.#log, { ...this.#of, from: 'earliest' }, signal))?.offset ?? null;
    return this.#first !== null && this.#first <= offset;
  }
}

async function* recordsOf(
  log: Log,
  { topic, partition, first, last }: Span,
  signal: AbortSignal,
): AsyncGenerator<LogRecord, void> {
  const request = { topic, partition, from: { offset: first }, to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record' || event.record.offset < first) continue;
    if (event.record.offset > last) return;
    yield event.record;
  }
}

const isSame = (one: LogRecord, other: LogRecord): boolean =>
  one.offset === other.offset &&
  one.timestampMs === other.timestampMs &&
  one.key === other.key &&
  isDeepStrictEqual({ ...one.headers }, { ...other.headers }) &&
  isDeepStrictEqual(one.value, other.value);
