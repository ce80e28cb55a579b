import { isDeepStrictEqual } from 'node:util';
import type { EventLog, LogRecord } from '../../../packages/event-log/port.ts';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import { counted } from '../../../packages/text/counted.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { archivedHead, isOfArchive, standingOf } from '../verify/heads/archive-heads.ts';
import { type BelievedHeads, headsOf } from '../verify/heads/read-heads.ts';
import { isCompacted } from './manifest.ts';
import type { ManifestLine } from './manifest-entry.ts';
import { openArchiveLog } from './read-archive.ts';

type Log = Pick<EventLog, 'read'>;

export interface FoundArchive {
  readonly directory: string;
  /** All lines of the manifest by now. */
  readonly lines: readonly ManifestLine[];
  /** So many of them were there when the archiver opened the archive; what came since it has written itself. */
  readonly found: number;
}

interface Asked {
  readonly log: Log;
  readonly roots: TrustRoots;
  /** What nobody can compare any more is signed, too. */
  readonly signsFound: boolean;
}

/**
 * Why an archiver does not sign what it found in its archive, in a sentence; `null` where it may. Whoever can write there might else
 * have it sign whatever he likes: lines that a head on the log names are as they were, and all others have to be what the log has.
 */
export async function objectionToFound(
  { directory, lines, found }: FoundArchive,
  { log, roots, signsFound }: Asked,
  signal: AbortSignal,
): Promise<string | null> {
  const proved = await provedLines(lines, headsOf(log, roots), signal);
  if (proved === 'contradicted')
    return 'it is not what was signed of it before: "fleetgc audit verify --heads-of" says where';
  const unproved = lines.slice(proved, found).filter(isOfRecords);
  if (unproved.length === 0 || signsFound) return null;
  const other = await differingFromLog(directory, unproved, log, signal);
  return (
    other &&
    `it has ${counted(unproved.length, 'line')} from before that no head on the event log names, and ${other} is not what the event log has there, or the event log has it no more. If you know that nobody else wrote to the archive, sign it once with --sign-found`
  );
}

/** A head tells when it was signed by the clock of the archiver; the log may be so much behind. */
const SIGNED_EARLIER_MS = HOUR_MS;

/** How many lines the newest head on the log proves; 0 where there is none of this archive. */
async function provedLines(
  lines: readonly ManifestLine[],
  heads: BelievedHeads,
  signal: AbortSignal,
): Promise<number | 'contradicted'> {
  const { trust } = await heads.known(signal);
  const at = lines.findLastIndex(({ kind }) => kind === 'head');
  const newest = archivedHead(lines[at], at, trust);
  const proved =
    newest === null
      ? 0
      : await provedSince({ timestampMs: newest.signedAtMs - SIGNED_EARLIER_MS }, lines, heads, signal);
  return proved === 0 ? await provedSince('earliest', lines, heads, signal) : proved;
}

async function provedSince(
  from: 'earliest' | { readonly timestampMs: number },
  lines: readonly ManifestLine[],
  heads: BelievedHeads,
  signal: AbortSignal,
): Promise<number | 'contradicted'> {
  let proved = 0;
  for await (const { event } of heads.read(from, signal)) {
    if (event.type !== 'fleetgc.archive-head' || !isOfArchive(event, lines)) continue;
    if (standingOf(event, lines) !== 'right') return 'contradicted';
    proved = Math.max(proved, event.lines);
  }
  return proved;
}

interface Span {
  readonly topic: TopicName;
  readonly partition: number;
  readonly first: bigint;
  last: bigint;
}

/** Where the first record lies that the archive and the log do not have alike. */
async function differingFromLog(
  directory: string,
  lines: readonly LineOfRecords[],
  log: Log,
  signal: AbortSignal,
): Promise<string | null> {
  await using archive = await openArchiveLog(directory);
  for (const span of spansOf(lines)) {
    const offset = await differingOffset(span, { archive, log }, signal);
    if (offset !== null) return `${span.topic}/${span.partition}@${offset}`;
  }
  return null;
}

type LineOfRecords = Extract<ManifestLine, { readonly kind: 'file' | 'gap' }>;
const isOfRecords = (line: ManifestLine): line is LineOfRecords =>
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

async function differingOffset(
  span: Span,
  { archive, log }: { readonly archive: Log; readonly log: Log },
  signal: AbortSignal,
): Promise<bigint | null> {
  const there = recordsOf(log, span, signal);
  let next = await there.next();
  for await (const copy of recordsOf(archive, span, signal)) {
    if (next.done || next.value.offset > copy.offset) {
      // Newer records took its place there.
      if (isCompacted(span.topic)) continue;
      return copy.offset;
    }
    if (!isSame(next.value, copy)) return next.value.offset;
    next = await there.next();
  }
  return next.done ? null : next.value.offset;
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
