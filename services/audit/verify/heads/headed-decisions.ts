import { NOTHING_HASHED, runningHash } from '../../../../packages/canonical/running-hash.ts';
import type { LogRecord } from '../../../../packages/event-log/port.ts';
import { counted } from '../../../../packages/text/counted.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { SETTLED_MS } from '../coverage.ts';
import type { Findings, GapKind } from '../findings.ts';
import type { HeadedRange, RangesByChain } from './decision-ranges.ts';

export interface HeadedDecisionsSettings {
  readonly partition: number;
  readonly ranges: RangesByChain;
  readonly findings: Findings;
  /** What the log got before was not read, or is deleted. Epoch milliseconds. */
  readonly readFromMs: number;
}

/** How far a range was met. */
interface Progress {
  readonly range: HeadedRange;
  /** The number that comes next. */
  next: number;
  seen: number;
  sha256: string;
  /** Numbers are missing between two that are there. */
  hasHole: boolean;
  first: LogRecord | null;
  last: LogRecord | null;
}

/**
 * Compares the decisions of one partition with what their writers signed of them. What retention took from the beginning, and what
 * is younger than the newest head, is no fault.
 */
export class HeadedDecisions {
  readonly #settings: HeadedDecisionsSettings;
  readonly #chains: ReadonlyMap<string, readonly Progress[]>;
  /** Of each chain, the range in hand. */
  readonly #at = new Map<string, number>();
  /** Chains of which a decision came. */
  readonly #met = new Set<string>();
  #oldest: LogRecord | null = null;

  constructor(settings: HeadedDecisionsSettings) {
    this.#settings = settings;
    this.#chains = new Map(
      [...settings.ranges].map(([chain, ranges]) => [chain, ranges.map(notMetYet)] as const),
    );
  }

  /** Every record of the topic of decisions, in order. */
  take(record: LogRecord): void {
    this.#oldest ??= record;
    const { ce_fleetgcchain: chain = '', ce_fleetgcsequence: number } = record.headers;
    const ranges = this.#chains.get(chain);
    const sequence = sequenceOf(number);
    const met = ranges === undefined || sequence === null ? null : this.#rangeWith(chain, ranges, sequence);
    if (met === 'repeated') return;
    const { counts } = this.#settings.findings;
    if (met === null || sequence === null) counts.withoutHead++;
    else this.#add(met, sequence, record);
  }

  /** Nothing more comes. */
  finish(): void {
    for (const ranges of this.#chains.values()) for (const progress of ranges) this.#judge(progress);
  }

  /** Numbers grow with offsets, but for those that the log took twice. */
  #rangeWith(chain: string, ranges: readonly Progress[], sequence: number): Progress | 'repeated' | null {
    let at = this.#at.get(chain) ?? 0;
    while (at < ranges.length - 1 && (ranges[at + 1]?.range.first ?? 0) <= sequence) at += 1;
    this.#at.set(chain, at);
    const progress = ranges[at];
    if (progress === undefined || sequence >= progress.range.first + progress.range.records) return null;
    if (sequence < progress.next) return sequence < progress.range.first && at === 0 ? null : 'repeated';
    return progress;
  }

  #judge(progress: Progress): void {
    const { range, seen, sha256 } = progress;
    if (seen === range.records) {
      if (sha256 === range.sha256) this.#settings.findings.counts.headed += seen;
      else this.#tellRewritten(progress);
    } else if (!this.#isBefore(progress)) this.#tellMissing(progress);
  }

  #add(progress: Progress, sequence: number, record: LogRecord): void {
    const { chain } = progress.range;
    if (sequence > progress.next && this.#met.has(chain)) progress.hasHole = true;
    this.#met.add(chain);
    progress.sha256 = runningHash(progress.sha256, record);
    progress.next = sequence + 1;
    progress.seen += 1;
    progress.first ??= record;
    progress.last = record;
  }

  /** Whether what is missing may lie before what was read. */
  #isBefore({ range, seen, hasHole, next }: Progress): boolean {
    const untilMs = this.#begunMs() + SETTLED_MS;
    if (this.#begunMs() === 0) return false;
    if (seen === 0) return range.lastAtMs < untilMs;
    return !hasHole && next === range.first + range.records && range.firstAtMs < untilMs;
  }

  /** When the log had got what was read first; 0 where nothing came before that. */
  #begunMs(): number {
    const oldest = this.#oldest;
    const keptFromMs = oldest !== null && oldest.offset > 0n ? oldest.timestampMs : 0;
    return Math.max(this.#settings.readFromMs, keptFromMs);
  }

  #tellRewritten({ range, first, last }: Progress): void {
    this.#settings.findings.deviation({
      kind: 'decisions-rewritten',
      message: `${counted(range.records, 'decision')} ${numbersText(range)} are not those that their writer signed: one of them was changed`,
      node: null,
      places: placesOf([first, last], range.head),
    });
  }

  #tellMissing({ range, seen, first, last }: Progress): void {
    const missing = range.records - seen;
    const found = { node: null, places: placesOf([first, last], range.head) };
    const where = `${TOPICS.decisions.name}/${this.#settings.partition}`;
    const message = `${counted(missing, 'decision')} of ${range.records} ${numbersText(range)} in ${where}, which a signed head names, ${missing === 1 ? 'is' : 'are'} not there`;
    if (this.#isMadeAnew(range)) this.#settings.findings.gap({ kind: MADE_ANEW, message, ...found });
    else this.#settings.findings.deviation({ kind: 'decisions-cut', message, ...found });
  }

  /** Whether the topic begins after these. */
  #isMadeAnew({ lastAtMs }: HeadedRange): boolean {
    const oldest = this.#oldest;
    return oldest !== null && oldest.offset === 0n && oldest.timestampMs > lastAtMs;
  }
}

const MADE_ANEW: GapKind = 'topic-recreated';

const notMetYet = (range: HeadedRange): Progress => ({
  range,
  next: range.first,
  seen: 0,
  sha256: NOTHING_HASHED,
  hasHole: false,
  first: null,
  last: null,
});

const SEQUENCE = /^(0|[1-9][0-9]{0,14})$/;
const sequenceOf = (text: string | undefined): number | null =>
  text !== undefined && SEQUENCE.test(text) ? Number(text) : null;

const numbersText = ({ chain, first, records }: HeadedRange): string =>
  `(chain ${chain}, numbers ${first} to ${first + records - 1})`;

/** Between which records it is, and the head that says so. */
const placesOf = (records: readonly (LogRecord | null)[], head: Place): readonly Place[] => [
  ...records.flatMap((record) => (record === null ? [] : [placeOf(record)])),
  head,
];
