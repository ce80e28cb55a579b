import { isDeepStrictEqual } from 'node:util';
import type { ArchiveHead } from '../../schemas/events/head.ts';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { deriveId } from '../canonical/ids.ts';
import type { LogPublisher, LogReader, LogRecord, OutgoingRecord } from '../log/port.ts';
import { HOUR_MS } from '../process/durations.ts';
import { toFleetGcError } from '../process/errors.ts';
import { newTrace, type TraceIds } from '../process/trace.ts';
import { createPublisher, serviceSource } from '../records/publisher.ts';
import { type BelievedHeads, headsOf } from '../records/read-heads.ts';
import { firstRecord } from '../records/read-log.ts';
import type { SigningKey } from '../records/trust/key-pair.ts';
import { readKeys } from '../records/trust/key-source.ts';
import { ownKeyProblems } from '../records/trust/private-key.ts';
import { signerOf } from '../records/trust/signer.ts';
import { counted } from '../text/counted.ts';
import type { ArchiveWriter, FoundArchive } from './archive-writer.ts';
import { archivedHead, isOfArchive, standingOf, type UnsignedHead } from './heads.ts';
import { isCompacted, type ManifestLine } from './manifest.ts';
import { openArchiveLog } from './read-archive.ts';
import type { ArchivePlace } from './store.ts';

/** What an archiver signs with. */
export interface HeadSigner {
  readonly log: LogReader & LogPublisher;
  readonly roots: TrustRoots;
  /** The key that lies there now, asked for in each pass. Throws `KEY_UNUSABLE`. */
  readonly readKey: (signal: AbortSignal) => Promise<SigningKey>;
  /** Also what was in the archive before, and nobody can compare with the log any more. */
  readonly signsFound: boolean;
  readonly ids: TraceIds;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type SignedPass =
  | { readonly kind: 'signed' | 'unchanged' }
  /** Why, in a sentence. What was archived is there all the same. */
  | { readonly kind: 'failed'; readonly why: string };

/**
 * Signs what the archive is now, where it is what the archiver has written: on the log first, where whoever has the archive cannot take it away, then in the archive. After a
 * failure between the two the next pass signs again, and both heads are right.
 */
export async function signPass(
  archive: ArchiveWriter,
  signer: HeadSigner,
  signal: AbortSignal,
): Promise<SignedPass> {
  const unsigned = archive.unsigned();
  if (unsigned === null) return { kind: 'unchanged' };
  const { roots, readKey, now } = signer;
  try {
    const key = await readKey(signal);
    const { ring } = await readKeys(signer.log, roots, signal);
    const [problem] = ownKeyProblems(ring, { key, role: 'archiver' }, now());
    if (problem !== undefined) return { kind: 'failed', why: problem };
    const found = archive.found();
    const objection = found && (await objectionToFound(found, signer, signal));
    if (objection !== null) return { kind: 'failed', why: objection };
    for (const record of await published(headOf(unsigned, now()), key, signer)) await archive.addHead(record);
    return { kind: 'signed' };
  } catch (error) {
    const { code, message } = toFleetGcError(error);
    if (code === 'STATE_UNWRITABLE') throw error;
    return { kind: 'failed', why: message };
  }
}

/** As it lies on the log. */
async function published(
  event: ArchiveHead,
  key: SigningKey,
  { log, roots, ids, now }: HeadSigner,
): Promise<readonly OutgoingRecord[]> {
  const publisher = createPublisher({
    log,
    source: serviceSource('audit-archive'),
    now,
    ids,
    signer: signerOf({ fleet: roots.fleet, role: 'archiver', key: () => key }),
  });
  const records = publisher.records([{ topic: 'heads', key: event.archive, event }], newTrace(ids));
  await publisher.send(records);
  return records;
}

const headOf = (unsigned: UnsignedHead, nowMs: number): ArchiveHead => ({
  type: 'fleetgc.archive-head',
  version: 1,
  id: deriveId('archive-head', unsigned.archive, String(unsigned.lines), unsigned.hash),
  signedAtMs: nowMs,
  ...unsigned,
});

interface Asked {
  readonly log: LogReader;
  readonly roots: TrustRoots;
  /** What nobody can compare any more is signed, too; what is otherwise on the log never is. */
  readonly signsFound: boolean;
}

/**
 * Why an archiver does not sign what it found in its archive, in a sentence; `null` where it may. Whoever can write there might else
 * have it sign whatever he likes: lines that a head on the log names are as they were, and all others have to be what the log has.
 */
async function objectionToFound(
  { place, lines, found }: FoundArchive,
  { log, roots, signsFound }: Asked,
  signal: AbortSignal,
): Promise<string | null> {
  const proved = await provedLines(lines, headsOf(log, roots), signal);
  if (proved === 'contradicted')
    return 'it is not what was signed of it before: "fleetgc audit verify --heads-of" says where';
  const unproved = lines.slice(proved, found).filter(isOfRecords);
  if (unproved.length === 0) return null;
  const { other, gone } = await comparedWithLog(place, unproved, log, signal);
  const which = `it has ${counted(unproved.length, 'line')} from before that no head on the event log names`;
  if (other !== null)
    return `${which}, and ${other} is not what the event log has there: somebody changed the archive, and nobody should sign it. Begin another one`;
  if (gone === null || signsFound) return null;
  return `${which}, and the event log has ${gone} no more. If you know that nobody else wrote to the archive, sign it once with --sign-found`;
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

type Log = LogReader;

/** What lines of an archive are by the log itself. */
interface ComparedWithLog {
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
async function comparedWithLog(
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
