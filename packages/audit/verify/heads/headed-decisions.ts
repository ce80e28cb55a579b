import type { LogRecord } from '../../../log/port.ts';
import { counted } from '../../../text/counted.ts';
import { placeOf } from '../../events/log-position.ts';
import type { Findings } from '../findings.ts';
import type { Contradiction, RangesOfPartition } from './decision-ranges.ts';
import type { KeptDecisions, LostOffsets } from './kept-decisions.ts';
import { hasLostBetween, type Neighbours, numbersText, placesOf, tellMissing } from './missing-decisions.ts';
import { RangeProgress } from './range-progress.ts';
import { RecentDecisions } from './recent-decisions.ts';
import { RequiredHeads } from './required-heads.ts';

export interface HeadedDecisionsSettings {
  readonly ranges: RangesOfPartition;
  readonly findings: Findings;
  readonly kept: KeptDecisions;
  /** Of this partition. */
  readonly lost: readonly LostOffsets[];
  /** What came before has to be named by heads; `null` where nobody requires that. */
  readonly requiredBeforeMs: number | null;
}

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
  readonly #settings: HeadedDecisionsSettings;
  readonly #chains: ReadonlyMap<string, Chain>;
  readonly #required: RequiredHeads | null;
  readonly #recent = new RecentDecisions();
  #oldest: LogRecord | null = null;

  constructor(settings: HeadedDecisionsSettings) {
    this.#settings = settings;
    const { requiredBeforeMs } = settings;
    this.#required = requiredBeforeMs === null ? null : new RequiredHeads(requiredBeforeMs);
    this.#chains = new Map(
      [...settings.ranges.byChain].map(([chain, ranges]) => [
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
      this.#settings.findings.deviation({
        kind: 'decisions-rewritten',
        message: `a decision bears the number of another one before it (chain and number ${name}): one of them is not of that writer`,
        node: null,
        places: [placeOf(record), progress.range.head],
      });
  }

  #withoutHead(record: LogRecord, near: readonly RangeProgress[]): void {
    this.#settings.findings.counts.withoutHead++;
    this.#required?.take(
      record,
      near.map(({ range }) => range),
    );
  }

  /** Nothing more comes. */
  finish(): void {
    for (const one of this.#settings.ranges.contradictions) this.#tellContradiction(one);
    const begunMs = Math.min(...this.#met().map(({ begunByMs }) => begunByMs));
    for (const chain of this.#chains.values())
      for (const [at, progress] of chain.all.entries())
        if (progress.isWhole) this.#compare(progress);
        else this.#tellMissing(chain, at, begunMs);
    this.#required?.finish(this.#settings.findings);
  }

  #tellContradiction({ chain, heads, count }: Contradiction): void {
    this.#settings.findings.deviation({
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
    const { findings } = this.#settings;
    const { range, asked } = progress;
    if (progress.isAsSigned) findings.counts.headed += asked;
    else
      findings.deviation({
        kind: 'decisions-rewritten',
        message: `${counted(range.records, 'decision')} ${numbersText(range)} are not those that their writer signed: one of them was changed`,
        node: null,
        places: placesOf(progress),
      });
  }

  #tellMissing({ all, begun }: Chain, at: number, begunMs: number): void {
    const { findings, kept, lost } = this.#settings;
    const progress = all[at];
    if (progress === undefined) return;
    findings.counts.headedInPart += progress.asked;
    const isFirstOfChain = begun === null || begun >= (progress.begun ?? progress.end);
    const isLost = lost.length > 0 && hasLostBetween(lost, neighbours(all, at));
    tellMissing({ progress, isFirstOfChain, isLost }, { kept, oldest: this.#oldest, begunMs }, findings);
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
