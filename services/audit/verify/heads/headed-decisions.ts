import type { LogRecord } from '../../../../packages/event-log/port.ts';
import { counted } from '../../../../packages/text/counted.ts';
import type { Findings } from '../findings.ts';
import type { RangesByChain } from './decision-ranges.ts';
import type { KeptDecisions, LostOffsets } from './kept-decisions.ts';
import { hasLostBetween, type Neighbours, numbersText, placesOf, tellMissing } from './missing-decisions.ts';
import { RangeProgress } from './range-progress.ts';
import { RequiredHeads } from './required-heads.ts';

export interface HeadedDecisionsSettings {
  readonly ranges: RangesByChain;
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
  /** Which of them is in hand. */
  at: number;
  /** The first number that came, headed or not. */
  begun: number | null;
}

/**
 * Compares the decisions of one partition with what their writers signed of them. What retention took from the beginning, and what
 * is younger than the newest head, is no fault.
 */
export class HeadedDecisions {
  readonly #settings: HeadedDecisionsSettings;
  readonly #chains: ReadonlyMap<string, Chain>;
  readonly #required: RequiredHeads | null;
  #oldest: LogRecord | null = null;

  constructor(settings: HeadedDecisionsSettings) {
    this.#settings = settings;
    const { requiredBeforeMs } = settings;
    this.#required = requiredBeforeMs === null ? null : new RequiredHeads(requiredBeforeMs);
    this.#chains = new Map(
      [...settings.ranges].map(([chain, ranges]) => [
        chain,
        { all: ranges.map((range) => new RangeProgress(range)), at: 0, begun: null },
      ]),
    );
  }

  /** Every record of the topic of decisions, in order. `isAsked`: it lies in the time that is verified, and not before or behind it. */
  take(record: LogRecord, isAsked: boolean): void {
    this.#oldest ??= record;
    const { ce_fleetgcchain: name = '', ce_fleetgcsequence } = record.headers;
    const chain = this.#chains.get(name);
    const number = numberOf(ce_fleetgcsequence);
    const met = chain === undefined || number === null ? null : rangeWith(chain, number);
    if (met === 'repeated') return;
    if (met !== null && number !== null) met.take(number, record, isAsked);
    else if (isAsked) this.#withoutHead(record, chain);
  }

  #withoutHead(record: LogRecord, chain: Chain | undefined): void {
    this.#settings.findings.counts.withoutHead++;
    const near = chain?.all.slice(chain.at, chain.at + 2) ?? [];
    this.#required?.take(
      record,
      near.map(({ range }) => range),
    );
  }

  /** Nothing more comes. */
  finish(): void {
    const begunMs = Math.min(...this.#met().map(({ begunByMs }) => begunByMs));
    for (const chain of this.#chains.values())
      for (const [at, progress] of chain.all.entries())
        if (progress.isWhole) this.#compare(progress);
        else this.#tellMissing(chain, at, begunMs);
    this.#required?.finish(this.#settings.findings);
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

/** Numbers grow with offsets, but for those that the log took twice. */
function rangeWith(chain: Chain, number: number): RangeProgress | 'repeated' | null {
  chain.begun ??= number;
  while (chain.at < chain.all.length - 1 && (chain.all[chain.at + 1]?.range.first ?? 0) <= number)
    chain.at += 1;
  const progress = chain.all[chain.at];
  if (progress === undefined || number >= progress.end) return null;
  if (number < progress.next) return number < progress.range.first && chain.at === 0 ? null : 'repeated';
  return progress;
}

const NUMBER = /^(0|[1-9][0-9]{0,14})$/;
const numberOf = (text: string | undefined): number | null =>
  text !== undefined && NUMBER.test(text) ? Number(text) : null;
