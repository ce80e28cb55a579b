import { TOPICS } from '../../../schemas/events/topics.ts';
import { NOTHING_HASHED, runningHash } from '../../canonical/running-hash.ts';
import type { LogRecord } from '../../log/port.ts';
import { counted } from '../../text/counted.ts';
import { timeText } from '../../text/time-text.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import { AROUND_MS, SETTLED_MS } from './coverage.ts';
import type {
  Contradiction,
  HeadedRange,
  HeadsOfPartition,
  KeptDecisions,
  LostOffsets,
} from './decision-heads.ts';
import type { Findings, GapKind } from './findings.ts';

/** What its writer signed in a partition, in the order of the numbers. */
interface Chain {
  readonly all: readonly RangeProgress[];
  /** The first number that came, headed or not. */
  begun: number | null;
}

interface Numbered {
  readonly record: LogRecord;
  readonly isAsked: boolean;
  readonly number: number;
}

/**
 * Compares the decisions of one partition with what their writers signed of them. What retention took from the beginning, and what
 * is younger than the newest head, is no fault.
 */
export class HeadedDecisions {
  readonly #heads: HeadsOfPartition;
  readonly #findings: Findings;
  readonly #chains: ReadonlyMap<string, Chain>;
  readonly #required: RequiredHeads | null;
  readonly #recent = new RecentDecisions();
  #oldest: LogRecord | null = null;

  constructor(heads: HeadsOfPartition, findings: Findings) {
    this.#heads = heads;
    this.#findings = findings;
    const { requiredBeforeMs } = heads;
    this.#required = requiredBeforeMs === null ? null : new RequiredHeads(requiredBeforeMs);
    this.#chains = new Map(
      [...heads.ranges.byChain].map(([chain, ranges]) => [
        chain,
        { all: ranges.map((range) => new RangeProgress(range)), begun: null },
      ]),
    );
  }

  /** Every record of the topic of decisions, in order. `isAsked`: it lies in the time that is verified, and not before or behind it. */
  take(record: LogRecord, isAsked: boolean): void {
    this.#oldest ??= record;
    const { ce_fleetgcchain: name = '', ce_fleetgcsequence } = record.headers;
    const chain = this.#chains.get(name);
    const number = numberOf(ce_fleetgcsequence);
    if (chain !== undefined && number !== null) this.#takeNumbered({ record, isAsked, number }, chain);
    else if (isAsked) this.#withoutHead(record, chain?.all.slice(0, 2) ?? []);
  }

  #takeNumbered({ record, isAsked, number }: Numbered, chain: Chain): void {
    chain.begun ??= number;
    const at = placeIn(chain.all, number);
    const progress = chain.all[at];
    if (progress !== undefined && number < progress.end) {
      const name = `${progress.range.chain} ${number}`;
      if (number >= progress.next) this.#recent.add(name, progress.take(number, record, isAsked));
      else this.#again({ record, isAsked, number }, name, progress);
    } else if (isAsked) {
      const from = Math.max(0, at);
      this.#withoutHead(record, chain.all.slice(from, from + 2));
    }
  }

  /** The log takes some twice. What bears the number of another one is not what was signed. */
  #again({ record, isAsked }: Numbered, name: string, progress: RangeProgress): void {
    const isSame = this.#recent.isSame(name, record);
    if (isSame === null) progress.late += 1;
    if (!isAsked) return;
    if (isSame === null) this.#withoutHead(record, [progress]);
    if (isSame === false)
      this.#findings.deviation({
        kind: 'decisions-rewritten',
        message: `a decision bears the number of another one before it (chain and number ${name}): one of them is not of that writer`,
        node: null,
        places: [placeOf(record), progress.range.head],
      });
  }

  #withoutHead(record: LogRecord, near: readonly RangeProgress[]): void {
    this.#findings.counts.withoutHead++;
    this.#required?.take(
      record,
      near.map(({ range }) => range),
    );
  }

  /** Nothing more comes. */
  finish(): void {
    for (const one of this.#heads.ranges.contradictions) this.#tellContradiction(one);
    const begunMs = Math.min(...this.#met().map(({ begunByMs }) => begunByMs));
    for (const chain of this.#chains.values())
      for (const [at, progress] of chain.all.entries())
        if (progress.isWhole) this.#compare(progress);
        else this.#tellMissing(chain, at, begunMs);
    this.#required?.finish(this.#findings);
  }

  #tellContradiction({ chain, heads, count }: Contradiction): void {
    this.#findings.deviation({
      kind: 'heads-contradict',
      message: `${counted(count, 'head')} of the chain ${chain} ${count === 1 ? 'names' : 'name'} decisions otherwise than one before: its writer names each once, so somebody else has a decider’s key`,
      node: null,
      places: heads,
    });
  }

  #met(): readonly RangeProgress[] {
    return [...this.#chains.values()].flatMap(({ all }) => all.filter(({ seen }) => seen > 0));
  }

  #compare(progress: RangeProgress): void {
    const { range, asked } = progress;
    if (progress.isAsSigned) this.#findings.counts.headed += asked;
    else
      this.#findings.deviation({
        kind: 'decisions-rewritten',
        message: `${counted(range.records, 'decision')} ${numbersText(range)} are not those that their writer signed: one of them was changed`,
        node: null,
        places: placesOf(progress),
      });
  }

  #tellMissing({ all, begun }: Chain, at: number, begunMs: number): void {
    const { kept, lost } = this.#heads;
    const progress = all[at];
    if (progress === undefined) return;
    this.#findings.counts.headedInPart += progress.asked;
    const isFirstOfChain = begun === null || begun >= (progress.begun ?? progress.end);
    const isLost = lost.length > 0 && hasLostBetween(lost, neighbours(all, at));
    tellMissing(
      { progress, isFirstOfChain, isLost },
      { kept, oldest: this.#oldest, begunMs },
      this.#findings,
    );
  }
}

/** Between which records of its chain lies what is missing of a range. */
function neighbours(all: readonly RangeProgress[], at: number): Neighbours {
  const before = all.slice(0, at).findLast(({ last }) => last !== null)?.last ?? null;
  const progress = all[at];
  const own = progress?.lacksBeginningAlone ? progress.first : null;
  return { before, after: own ?? all.slice(at + 1).find(({ first }) => first !== null)?.first ?? null };
}

/** Of the last one that begins with this number or before; -1 where all begin after it. */
function placeIn(all: readonly RangeProgress[], number: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((all[middle]?.range.first ?? 0) <= number) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const NUMBER = /^(0|[1-9][0-9]{0,14})$/;
const numberOf = (text: string | undefined): number | null =>
  text !== undefined && NUMBER.test(text) ? Number(text) : null;

/** Of what was taken of a range, without and with one decision. */
interface Hashes {
  readonly before: string;
  readonly after: string;
}

/** How far a range was met. */
class RangeProgress {
  readonly range: HeadedRange;
  /** The number that comes next. */
  next: number;
  seen = 0;
  /** Of these, how many lie in the time that is verified. */
  asked = 0;
  /** Records with a number that was due before, and that is not known to have come. */
  late = 0;
  /** The number of the first that was met. */
  begun: number | null = null;
  first: LogRecord | null = null;
  last: LogRecord | null = null;
  #sha256 = NOTHING_HASHED;

  constructor(range: HeadedRange) {
    this.range = range;
    this.next = range.first;
  }

  take(number: number, record: LogRecord, isAsked: boolean): Hashes {
    const before = this.#sha256;
    this.#sha256 = runningHash(before, record);
    this.next = number + 1;
    this.seen += 1;
    if (isAsked) this.asked += 1;
    this.begun ??= number;
    this.first ??= record;
    this.last = record;
    return { before, after: this.#sha256 };
  }

  get end(): number {
    return this.range.first + this.range.records;
  }

  get isWhole(): boolean {
    return this.seen === this.range.records;
  }

  /** Whether what is missing may have come after others that follow it. */
  get isDisordered(): boolean {
    return !this.isWhole && this.late >= this.range.records - this.seen;
  }

  /** Whether its decisions, all of which are there, are those that were signed. */
  get isAsSigned(): boolean {
    return this.#sha256 === this.range.sha256;
  }

  /** Whether what is missing is its beginning, or all of it. */
  get lacksBeginningAlone(): boolean {
    return this.range.records - this.seen === (this.begun ?? this.end) - this.range.first;
  }

  /** Before which time, by the clock of its writer, the log had what is missing of its beginning. */
  get missingUntilMs(): number {
    return this.seen === 0 ? this.range.lastAtMs : this.range.firstAtMs;
  }

  /** The same of the first that was met. */
  get begunByMs(): number {
    return this.begun === this.range.first ? this.range.firstAtMs : this.range.lastAtMs;
  }
}

/** A publish that the log took twice lies there twice within some seconds, in which a partition gets fewer decisions. */
const MOST_RECENT = 10_000;

/** The decisions that came last, by chain and number. */
export class RecentDecisions {
  readonly #taken = new Map<string, Hashes>();
  /** In turn: the first key of a map from which many were deleted takes long to find. */
  readonly #names: string[] = [];
  #at = 0;

  add(name: string, taken: Hashes): void {
    const oldest = this.#names[this.#at];
    if (oldest !== undefined) this.#taken.delete(oldest);
    this.#names[this.#at] = name;
    this.#at = (this.#at + 1) % MOST_RECENT;
    this.#taken.set(name, taken);
  }

  /** Whether this record is the one of that name; `null` where it came too long ago, or never. */
  isSame(name: string, record: LogRecord): boolean | null {
    const taken = this.#taken.get(name);
    return taken === undefined ? null : runningHash(taken.before, record) === taken.after;
  }
}

/** Chains that are remembered although no head names anything of them: each is a service that did not live to sign. */
const MOST_HEADLESS = 1_000;
/** As in heads. */
const MOST_NAME_LENGTH = 64;

/** Some decisions in their order. */
class Some {
  count = 0;
  first: LogRecord | null = null;
  last: LogRecord | null = null;

  add(record: LogRecord): void {
    this.count += 1;
    this.first ??= record;
    this.last = record;
  }

  addAll({ count, first, last }: Some): void {
    this.count += count;
    this.first ??= first;
    this.last = last ?? this.last;
  }

  get spanMs(): number {
    return (this.last?.timestampMs ?? 0) - (this.first?.timestampMs ?? 0);
  }

  get places(): readonly Place[] {
    return [this.first, this.last].flatMap((record) => (record === null ? [] : [placeOf(record)]));
  }
}

/**
 * Decisions of one partition that no head names, where heads are required. A service that ends without a word leaves some minutes of
 * them, and so does a broker that does not say what it took: these are not verified. All others deviate.
 */
class RequiredHeads {
  /** What came later may be too young for a head. */
  readonly #beforeMs: number;
  readonly #explained = new Some();
  readonly #others = new Some();
  readonly #headless = new Map<string, Some>();

  constructor(beforeMs: number) {
    this.#beforeMs = beforeMs;
  }

  /** `near` is what heads name of its chain before and after it. */
  take(record: LogRecord, near: readonly HeadedRange[]): void {
    if (record.timestampMs >= this.#beforeMs) return;
    const { ce_fleetgcchain: chain = '' } = record.headers;
    if (near.length > 0)
      (near.some((range) => isAbout(range, record)) ? this.#explained : this.#others).add(record);
    else (this.#ofHeadless(chain) ?? this.#others).add(record);
  }

  finish({ gap, deviation }: Findings): void {
    for (const chain of this.#headless.values())
      (chain.spanMs <= AROUND_MS ? this.#explained : this.#others).addAll(chain);
    if (this.#explained.count > 0)
      gap({
        kind: 'without-head',
        ...found(
          this.#explained,
          'their service ended without a word, or the brokers did not say that they took them',
        ),
      });
    if (this.#others.count > 0)
      deviation({
        kind: 'no-heads',
        ...found(this.#others, 'nobody signed heads, or heads were taken away'),
      });
  }

  #ofHeadless(chain: string): Some | null {
    const known = this.#headless.get(chain);
    if (known !== undefined) return known;
    if (chain === '' || chain.length > MOST_NAME_LENGTH || this.#headless.size >= MOST_HEADLESS) return null;
    const some = new Some();
    this.#headless.set(chain, some);
    return some;
  }
}

const isAbout = ({ firstAtMs, lastAtMs }: HeadedRange, { timestampMs }: LogRecord): boolean =>
  timestampMs >= firstAtMs - AROUND_MS && timestampMs <= lastAtMs + AROUND_MS;

function found({ count, first, places }: Some, why: string) {
  const where = `${first?.topic ?? TOPICS.decisions.name}/${first?.partition ?? 0}`;
  return {
    message: `${counted(count, 'decision')} in ${where} ${count === 1 ? 'is' : 'are'} named by no head, though there was time to sign: ${why}`,
    node: null,
    places,
  };
}

/** Of a partition, what was met. */
interface Met {
  readonly kept: KeptDecisions;
  /** The first record that was read. */
  readonly oldest: LogRecord | null;
  /** When the log had the first of what heads name and is there, by the clocks of the writers; Infinity where there is none. */
  readonly begunMs: number;
}

/** Of a range that is not whole. */
interface Missing {
  readonly progress: RangeProgress;
  /** No decision of its writer came before what is missing. */
  readonly isFirstOfChain: boolean;
  /** Offsets between which its decisions were, that an archive notes as lost before they were archived. */
  readonly isLost: boolean;
}

/**
 * Tells what is missing. Whether it may lie before what was read is told by what was signed: by the numbers of its writer, and by when
 * writers heard that the log had something. The times of records on the log are signed by nobody.
 */
function tellMissing(missing: Missing, met: Met, findings: Findings): void {
  const { progress, isLost } = missing;
  const found = { node: null, places: placesOf(progress) };
  const verdict = isLost ? 'records-missing' : judged(missing, met);
  if (verdict === 'to be expected') return;
  const message = `${whatText(progress)}${WHY[verdict](progress)}`;
  if (verdict === 'decisions-cut' && progress.isDisordered)
    findings.deviation({ kind: 'decisions-rewritten', message: disorderText(progress), ...found });
  else if (verdict === 'decisions-cut') findings.deviation({ kind: verdict, message, ...found });
  else findings.gap({ kind: verdict, message, ...found });
}

type Verdict = 'to be expected' | 'decisions-cut' | MissingKind;
type MissingKind = Extract<GapKind, 'decisions-gone' | 'topic-recreated' | 'records-missing'>;

function judged({ progress, isFirstOfChain }: Missing, met: Met): Verdict {
  const { expectedFromMs, readToMs } = met.kept;
  const isBeginning = isFirstOfChain && progress.lacksBeginningAlone;
  if (isBeginning && progress.missingUntilMs < expectedFromMs + SETTLED_MS) return 'to be expected';
  // The clock of its writer is behind, or somebody changed the time of the head.
  if (progress.range.head.timestampMs >= readToMs) return 'decisions-gone';
  return isBeginning ? judgedBeginning(progress, met) : 'decisions-cut';
}

/** Of what may have been deleted from the beginning, and should not have been. */
function judgedBeginning(progress: RangeProgress, { kept, oldest, begunMs }: Met): Verdict {
  const untilMs = earliestUntilMs(progress);
  // The clock of its writer is ahead, or somebody changed the time of the head.
  if (untilMs < kept.expectedFromMs + SETTLED_MS) return 'decisions-gone';
  if (untilMs > begunMs + SETTLED_MS) return 'decisions-cut';
  if (oldest?.offset === 0n) return oldest.timestampMs > untilMs ? 'topic-recreated' : 'decisions-cut';
  return untilMs < kept.certainFromMs + SETTLED_MS ? 'decisions-gone' : 'decisions-cut';
}

/** The log took the head after what it names. */
const earliestUntilMs = ({ missingUntilMs, range }: RangeProgress): number =>
  Math.min(missingUntilMs, range.head.timestampMs);

const WHY: Readonly<Record<'decisions-cut' | MissingKind, (progress: RangeProgress) => string>> = {
  'decisions-cut': () => '',
  'decisions-gone': ({ missingUntilMs, range }) =>
    `: by the clock of their writer they were there by ${timeText(missingUntilMs)}, and the log took the head at ${timeText(range.head.timestampMs)}. Either the topic keeps less than this release declares ("fleetgc topics check"), or a clock was wrong, or somebody deleted them`,
  'topic-recreated': () => ': the topic begins after that',
  'records-missing': () => ': they may be among those that were deleted before they could be archived',
};

function whatText({ range, seen }: RangeProgress): string {
  const missing = range.records - seen;
  const where = `${TOPICS[range.topicId].name}/${range.partition}`;
  return `${counted(missing, 'decision')} of ${range.records} ${numbersText(range)} in ${where}, which a signed head names, ${missing === 1 ? 'is' : 'are'} not there`;
}

const disorderText = ({ range }: RangeProgress): string =>
  `${counted(range.records, 'decision')} ${numbersText(range)} stand in another order than their writer signed them: one of them was put before others, or bears a number that is not its own`;

const numbersText = ({ chain, first, records }: HeadedRange): string =>
  `(chain ${chain}, numbers ${first} to ${first + records - 1})`;

/** Between which records it is, and the head that says so. */
const placesOf = ({ first, last, range }: RangeProgress): readonly Place[] => [
  ...[first, last].flatMap((record) => (record === null ? [] : [placeOf(record)])),
  range.head,
];

interface Neighbours {
  readonly before: LogRecord | null;
  readonly after: LogRecord | null;
}

/** Whether an archive notes offsets between these as lost. */
const hasLostBetween = (lost: readonly LostOffsets[], { before, after }: Neighbours): boolean =>
  lost.some(
    ({ first, last }) =>
      (before === null || first > before.offset) && (after === null || last < after.offset),
  );
