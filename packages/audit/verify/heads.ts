import type { ArchiveHead } from '../../../schemas/events/head.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { KeyRevocation } from '../../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { archivedHead, isOfArchive, isToBeSigned, standingOf } from '../../archive/heads.ts';
import { type ArchivedHead, lineSum, lineText, type ManifestLine } from '../../archive/manifest.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { type BelievedHead, headsOf } from '../../records/read-heads.ts';
import { claimedSignature } from '../../records/trust/signature.ts';
import { keyIn, revokedName } from '../../records/trust/statement-generations.ts';
import type { Trust } from '../../records/trust/trust.ts';
import { counted } from '../../text/counted.ts';
import { timeText } from '../../text/time-text.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import { readWholeTopic } from '../events/reading.ts';
import { SETTLED_MS } from './coverage.ts';
import { createCollector, type Deviation, type Found, type Gap } from './findings.ts';

export interface ArchiveHeadsSummary {
  readonly lines: number;
  readonly provedLines: number;
  /** Without a log that still lives the heads in the archive are taken at their word: whoever made it anew may have left some out. */
  readonly isComparedWithLog: boolean;
}

/** What an archive, and what decisions have of heads. */
export interface HeadsSummary {
  /** `null` where no archive was read. */
  readonly archive: ArchiveHeadsSummary | null;
  readonly decisionHeads: number;
}

interface VerifiedHeads {
  readonly found: Found;
  readonly heads: HeadsSummary;
}

interface HeadsNeeds {
  /** What is verified. */
  readonly log: LogReader;
  /** Of an archive its manifest. */
  readonly lines: readonly ManifestLine[] | null;
  /** The log that still lives, whose heads whoever has the archive cannot take away; `null` where nobody names it. */
  readonly living: LogReader | null;
  readonly roots: TrustRoots;
  /** Whether it is a fault to have none. */
  readonly areRequired: boolean;
  /** Since when decisions are compared with heads, epoch milliseconds. */
  readonly comparedFromMs: number;
}

/** What signed heads say of the archive, and of statements about keys; of decisions partitions are compared one by one. */
export async function verifyHeads(needs: HeadsNeeds, signal: AbortSignal): Promise<VerifiedHeads> {
  const { deviation, gap, found } = createCollector();
  const own = await readOwn(needs, signal);
  const archive = await ofArchive(needs, signal);
  for (const one of archive?.deviations ?? []) deviation(one);
  for (const one of [...(archive?.gaps ?? []), ...own.outOfTime()]) gap(one);
  for await (const one of missingFromTopics(needs, signal)) deviation(one);
  for await (const one of unsaid(needs.log, own, signal)) deviation(one);
  for (const one of needs.areRequired ? withoutHeads(archive, needs, own) : []) deviation(one);
  return {
    found: found(),
    heads: { archive: archive && summaryOf(archive, needs), decisionHeads: own.decisionHeads },
  };
}

/** Statements and heads that are not where they were. */
async function* missingFromTopics(
  { log, living }: HeadsNeeds,
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  for (const topicId of ['keys', 'heads'] as const) yield* missingRecords(log, topicId, signal);
  if (living === null) return;
  yield* missingRecords(living, 'heads', signal);
  yield* headsGone({ archive: log, living }, signal);
}

const summaryOf = (
  { provedLines }: ArchiveHeadsFound,
  { lines, living }: HeadsNeeds,
): ArchiveHeadsSummary => ({ lines: lines?.length ?? 0, provedLines, isComparedWithLog: living !== null });

async function readOwn({ log, roots, comparedFromMs }: HeadsNeeds, signal: AbortSignal): Promise<OwnHeads> {
  const heads = headsOf(log, roots);
  const reading = heads.read('earliest', signal);
  const first = await reading.next();
  const own = new OwnHeads((await heads.known(signal)).keys.ring.generations, comparedFromMs);
  if (!first.done) own.take(first.value);
  for await (const head of reading) own.take(head);
  return own;
}

/** The keys of the log that still lives are those of the archive, and what came since. */
async function ofArchive(
  { log, lines, living, roots }: HeadsNeeds,
  signal: AbortSignal,
): Promise<ArchiveHeadsFound | null> {
  if (lines === null) return null;
  const check = new ArchiveHeadsCheck(lines, living === null ? 'by the archive' : 'by the log');
  const heads = headsOf(living ?? log, roots);
  for await (const head of heads.read('earliest', signal)) check.take(head);
  return check.finish((await heads.known(signal)).trust);
}

function* withoutHeads(
  archive: ArchiveHeadsFound | null,
  { lines }: HeadsNeeds,
  { decisionHeads }: OwnHeads,
): Iterable<Deviation> {
  const provedLines = archive?.provedLines ?? 0;
  const later = lines?.slice(provedLines).filter(isToBeSigned).length ?? 0;
  if (later > 0) yield noHeads(provedLines === 0 ? NOTHING_SIGNED : underNoHead(later, provedLines));
  if (decisionHeads === 0) yield noHeads('no decision service has signed a head');
}

const noHeads = (message: string): Deviation => ({ kind: 'no-heads', message, node: null, places: [] });

const NOTHING_SIGNED = 'the archive has no head that is right: its archiver signed nothing';
const underNoHead = (later: number, provedLines: number): string =>
  `${counted(later, 'line')} of the manifest after line ${provedLines} ${later === 1 ? 'is' : 'are'} under no head: an archiver is at work, could not sign, or somebody else wrote ${later === 1 ? 'it' : 'them'}`;

/** All heads of what is verified, one after the other. */
class OwnHeads {
  /** What is known of keys. */
  readonly known: ReadonlyMap<string, number>;
  readonly said: SaidStatements;
  decisionHeads = 0;
  readonly #comparedFromMs: number;
  #outOfTime = 0;
  #firstOutOfTime: Place | null = null;

  /** Decisions are compared with the heads that the log took from `comparedFromMs` on. */
  constructor(known: ReadonlyMap<string, number>, comparedFromMs: number) {
    this.known = known;
    this.said = new SaidStatements(known);
    this.#comparedFromMs = comparedFromMs;
  }

  take(head: BelievedHead): void {
    this.said.take(head);
    if (head.event.type !== 'fleetgc.decision-head') return;
    this.decisionHeads += 1;
    const lastAtMs = Math.max(0, ...head.event.ranges.map((range) => range.lastAtMs));
    const isTaken = head.record.timestampMs >= this.#comparedFromMs - SETTLED_MS;
    if (isTaken || lastAtMs < this.#comparedFromMs + SETTLED_MS) return;
    this.#outOfTime += 1;
    this.#firstOutOfTime ??= placeOf(head.record);
  }

  /** Heads that were passed over, although their writers say that what they name was to be compared. */
  outOfTime(): readonly Gap[] {
    if (this.#firstOutOfTime === null) return [];
    const isOne = this.#outOfTime === 1;
    return [
      {
        kind: 'head-out-of-time',
        message: `the log took ${counted(this.#outOfTime, 'head')} long before ${isOne ? 'its writer' : 'their writers'} wrote what ${isOne ? 'it names' : 'they name'}: a clock was wrong, or somebody changed ${isOne ? 'its time' : 'their times'}. What ${isOne ? 'it names' : 'they name'} was not compared; verify from before ${isOne ? 'it' : 'the first'}`,
        node: null,
        places: [this.#firstOutOfTime],
      },
    ];
  }
}

/** What signed heads say of an archive. */
interface ArchiveHeadsFound {
  readonly deviations: readonly Deviation[];
  readonly gaps: readonly Gap[];
  /** Lines of the manifest that the newest head which is right speaks of; 0 where there is none. */
  readonly provedLines: number;
}

/**
 * Whose copies say which heads there are: the log that still lives, or the archive alone, whose heads can only be taken at
 * their word.
 */
type HeadsTold = 'by the log' | 'by the archive';

/** Compares an archive with all that its archiver has ever signed of it: heads that were taken by a log first, then those in its manifest. */
export class ArchiveHeadsCheck {
  readonly #lines: readonly ManifestLine[];
  readonly #told: HeadsTold;
  /** When the log took heads of this archive, by their signatures. */
  readonly #takenAtMs = new Map<string, number>();
  readonly #deviations: Deviation[] = [];
  /** Lines with heads that the log does not have. */
  readonly #strangers: number[] = [];
  /** The one that reaches least far of those that are wrong, and farthest of the others. */
  #wrong: ArchiveHead | null = null;
  #cut: ArchiveHead | null = null;
  #right: ArchiveHead | null = null;
  /** The last head of another archive. */
  #other: ArchiveHead | null = null;

  constructor(lines: readonly ManifestLine[], told: HeadsTold) {
    this.#lines = lines;
    this.#told = told;
  }

  /** A head of a log. */
  take({ event, record }: BelievedHead): void {
    if (event.type !== 'fleetgc.archive-head') return;
    if (!isOfArchive(event, this.#lines)) this.#other = event;
    else {
      this.#takenAtMs.set(record.headers.ce_fleetgcsignature ?? '', record.timestampMs);
      this.#compare(event);
    }
  }

  /**
   * Each head in the archive has to speak of the lines before it, and to lie on the log: it went there first. Of an archive alone
   * nobody can ask that, as the last one has no copy on `gc.heads` in it yet.
   */
  finish(trust: Trust): ArchiveHeadsFound {
    for (const [at, line] of this.#lines.entries()) if (line.kind === 'head') this.#takeOwn(line, at, trust);
    const deviations = [
      ...this.#deviations,
      ...(this.#strangers.length === 0 ? [] : [neverOnLog(this.#strangers)]),
      ...(this.#wrong === null ? [] : [rewritten(this.#wrong, this.#lines)]),
      ...(this.#cut === null ? [] : [cutTail(this.#cut, this.#lines)]),
    ];
    const isUnknown = this.#told === 'by the log' && this.#takenAtMs.size === 0 && deviations.length === 0;
    return {
      deviations,
      gaps: isUnknown ? [unknown(this.#other)] : [],
      provedLines: this.#right?.lines ?? 0,
    };
  }

  #takeOwn(line: ArchivedHead, at: number, trust: Trust): void {
    const takenAtMs = this.#takenAtMs.get(line.headers.ce_fleetgcsignature ?? '');
    if (this.#told === 'by the log' && takenAtMs === undefined) {
      this.#strangers.push(at);
      return;
    }
    const event = archivedHead(line, at, trust, takenAtMs);
    if (event === null) this.#deviations.push(notBelieved(at));
    else if (!isOfArchive(event, this.#lines) || event.lines !== at) this.#deviations.push(strange(at));
    else this.#compare(event);
  }

  #compare(event: ArchiveHead): void {
    const standing = standingOf(event, this.#lines);
    if (standing === 'cut') this.#cut = farther(this.#cut, event);
    else if (standing === 'right') this.#right = farther(this.#right, event);
    else this.#wrong = this.#wrong !== null && this.#wrong.lines <= event.lines ? this.#wrong : event;
  }
}

const farther = (one: ArchiveHead | null, other: ArchiveHead): ArchiveHead =>
  one !== null && one.lines >= other.lines ? one : other;

const notBelieved = (at: number): Deviation => ({
  kind: 'not-trusted',
  message: `line ${at + 1} of the manifest is a head that no key of an archiver of this fleet signed`,
  node: null,
  places: [],
});

const strange = (at: number): Deviation => ({
  kind: 'archive-rewritten',
  message: `line ${at + 1} of the manifest is a head of another archive, or of another place in this one`,
  node: null,
  places: [],
});

/** `at`: the lines, from 0 on. */
const neverOnLog = (at: readonly number[]): Deviation => ({
  kind: 'archive-rewritten',
  message: `${counted(at.length, 'head')} in the manifest (the first is line ${(at[0] ?? 0) + 1}) ${at.length === 1 ? 'is' : 'are'} not on gc.heads, where a head goes before it goes into the archive: somebody put ${at.length === 1 ? 'it' : 'them'} in, took heads from the event log, or this is another event log`,
  node: null,
  places: [],
});

const unknown = (other: ArchiveHead | null): Gap => ({
  kind: 'archive-unknown',
  message: `the event log has no head of this archive${otherText(other)}`,
  node: null,
  places: [],
});

const otherText = (other: ArchiveHead | null): string =>
  other === null
    ? ': its archiver signed nothing, or this is another event log'
    : ` and heads of another: if this one was ever signed, somebody made it anew since. Last signed was an archive of ${counted(other.lines, 'line')} with the head ${other.hash}, at ${timeText(other.signedAtMs)}`;

const signedText = ({ lines, signedAtMs }: ArchiveHead): string =>
  `the head that was signed at ${timeText(signedAtMs)} over ${counted(lines, 'line')}`;

function cutTail(event: ArchiveHead, lines: readonly ManifestLine[]): Deviation {
  const missing = event.lines - lines.length;
  const last = lines.findLast((line) => line.kind === 'file');
  return {
    kind: 'archive-cut',
    message: `the last ${counted(missing, 'line')} of the manifest, and the files that they name, are not there: ${signedText(event)} names them. What is left ends with ${last === undefined ? 'its beginning' : lineText(last)}`,
    node: null,
    places: placesOf(last),
  };
}

/** The first line that is not what it was: those after it have other hashes in any case. */
function rewritten(event: ArchiveHead, lines: readonly ManifestLine[]): Deviation {
  const at = event.sums.findIndex((sum, index) => {
    const line = lines[event.fromLine + index];
    return line === undefined || lineSum(line) !== sum;
  });
  const changed = at < 0 ? undefined : lines[event.fromLine + at];
  const where =
    changed === undefined
      ? `it was changed before line ${event.fromLine + 1} of its manifest`
      : `it was changed at line ${event.fromLine + at + 1} of its manifest, where now is ${lineText(changed)}`;
  return {
    kind: 'archive-rewritten',
    message: `the archive is not what ${signedText(event)} says: ${where}`,
    node: null,
    places: placesOf(changed),
  };
}

function placesOf(line: ManifestLine | undefined): readonly Place[] {
  if (line?.kind !== 'file') return [];
  const { topic, partition, firstOffset, lastOffset, oldestMs, lastMs } = line;
  const name = nameOf(topic);
  if (name === undefined) return [];
  return [
    { topic: name, partition, offset: firstOffset, timestampMs: oldestMs },
    { topic: name, partition, offset: lastOffset, timestampMs: lastMs },
  ];
}

const nameOf = (topic: string): TopicName | undefined =>
  Object.values(TOPICS).find(({ name }) => name === topic)?.name;

type Log = LogReader;

/** Topics that are kept for ever and never compacted: an offset that is missing was taken away. */
const LASTING = {
  keys: { kind: 'statement-missing', what: 'a statement about a key' },
  heads: { kind: 'head-missing', what: 'a head' },
} as const;

/** Offsets that are missing before the last record of the topic. Of what was cut off its end nothing is known here. */
async function* missingRecords(
  log: Log,
  topicId: keyof typeof LASTING,
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  const { kind, what } = LASTING[topicId];
  let next = 0n;
  for await (const record of readWholeTopic(log, topicId, signal)) {
    const missing = record.offset - next;
    next = record.offset + 1n;
    if (missing > 0n)
      yield {
        kind,
        message: `${counted(missing, 'record')} of ${TOPICS[topicId].name} before this one ${missing === 1n ? 'is' : 'are'} not there: ${what} may be among them`,
        node: null,
        places: [placeOf(record)],
      };
  }
}

/** Heads that the archive has, and the log that it was made of does not, where they lay and as they were. Both are in order. */
async function* headsGone(
  { archive, living }: { readonly archive: Log; readonly living: Log },
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  const there = readWholeTopic(living, 'heads', signal);
  let gone = 0;
  let first: LogRecord | null = null;
  try {
    let next = await there.next();
    for await (const copy of readWholeTopic(archive, 'heads', signal)) {
      while (!next.done && next.value.offset < copy.offset) next = await there.next();
      if (!next.done && isSame(next.value, copy)) continue;
      gone += 1;
      first ??= copy;
    }
  } finally {
    await there.return();
  }
  if (first !== null) yield goneFromLog(gone, first);
}

const SIGNED_BY = ['ce_fleetgckeyid', 'ce_fleetgcsignature'] as const;

const isSame = (one: LogRecord, other: LogRecord): boolean =>
  one.offset === other.offset &&
  one.timestampMs === other.timestampMs &&
  one.key === other.key &&
  SIGNED_BY.every((name) => one.headers[name] === other.headers[name]) &&
  Buffer.compare(one.value ?? NOTHING, other.value ?? NOTHING) === 0;

const NOTHING = Buffer.alloc(0);

const goneFromLog = (gone: number, first: LogRecord): Deviation => ({
  kind: 'head-missing',
  message: `${counted(gone, 'head')} that the archive copied from the event log ${gone === 1 ? 'does' : 'do'} not lie there as ${gone === 1 ? 'it' : 'they'} did; the first is this one`,
  node: null,
  places: [placeOf(first)],
});

/** Statements that heads name and nobody knows are remembered up to here: who has a decider's key can name any number of them. */
export const MOST_SAID = 100_000;

interface SaidStatement {
  readonly name: string;
  readonly generation: number;
  readonly head: Place;
  /** The key that signed the head. */
  readonly by: string;
}

/** What heads say of statements beyond what is known of them: the highest generations, each with the newest head that names it. */
export class SaidStatements {
  readonly #known: ReadonlyMap<string, number>;
  readonly #lacking = new Map<string, SaidStatement>();
  #isCut = false;

  constructor(known: ReadonlyMap<string, number>) {
    this.#known = known;
  }

  take({ event, record }: BelievedHead): void {
    if (event.type !== 'fleetgc.decision-head') return;
    const [head, by] = [placeOf(record), record.headers.ce_fleetgckeyid ?? ''];
    for (const [name, generation] of Object.entries(event.statements))
      if (generation > (this.#known.get(name) ?? -1)) this.#lack({ name, generation, head, by });
  }

  lacking(): readonly SaidStatement[] {
    return [...this.#lacking.values()];
  }

  /** Whether there were more. */
  get isCut(): boolean {
    return this.#isCut;
  }

  #lack(said: SaidStatement): void {
    const before = this.#lacking.get(said.name);
    if (before === undefined && this.#lacking.size >= MOST_SAID) this.#isCut = true;
    else if (said.generation >= (before?.generation ?? 0)) this.#lacking.set(said.name, said);
  }
}

/**
 * What somebody who signed a head had read, and nobody can read any more. What is there and not believed, such as the word of a root
 * that this file of roots lacks, is told of elsewhere.
 */
async function* unsaid(
  log: LogReader,
  { said, known }: { readonly said: SaidStatements; readonly known: ReadonlyMap<string, number> },
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  const lacking = said.lacking();
  if (lacking.length === 0) return;
  const there = await thereAllTheSame(log, lacking, signal);
  for (const one of lacking) if (!there.has(claimIn(one))) yield missing(one, known.get(one.name));
  if (said.isCut) yield manyMore(lacking);
}

/** Those of which a record lies on the topic, whoever made it. */
async function thereAllTheSame(
  log: LogReader,
  lacking: readonly SaidStatement[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const wanted = new Set(lacking.map(claimIn));
  const there = new Set<string>();
  for await (const { key, headers } of readWholeTopic(log, 'keys', signal)) {
    const claimed = claimedSignature(headers);
    const generation = claimed.kind === 'claimed' ? claimed.signature.generation : null;
    const isRevocation = headers.ce_type?.startsWith(KeyRevocation.shape.type.value) ?? false;
    const claim = claimIn({ name: isRevocation ? revokedName(key ?? '') : (key ?? ''), generation });
    if (wanted.has(claim)) there.add(claim);
  }
  return there;
}

const claimIn = ({ name, generation }: { name: string; generation: number | null }): string =>
  `${name} ${generation}`;

const missing = ({ name, generation, head, by }: SaidStatement, newest: number | undefined): Deviation => ({
  kind: 'statement-missing',
  message: `${statementText(name)} of generation ${generation} is not on gc.keys${newest === undefined ? '' : `, where the newest has generation ${newest}`}: a head that ${by} signed says that it was there`,
  node: null,
  places: [head],
});

const manyMore = (lacking: readonly SaidStatement[]): Deviation => ({
  kind: 'statement-missing',
  message: `heads name more statements that are not on gc.keys than the ${lacking.length} that are looked for`,
  node: null,
  places: lacking.slice(-1).map(({ head }) => head),
});

const statementText = (name: string): string =>
  `the ${name === revokedName(keyIn(name)) ? 'revocation' : 'certificate'} of ${keyIn(name)}`;
