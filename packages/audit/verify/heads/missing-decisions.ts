import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { LogRecord } from '../../../log/port.ts';
import { counted } from '../../../text/counted.ts';
import { timeText } from '../../../text/time-text.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { SETTLED_MS } from '../coverage.ts';
import type { Findings, GapKind } from '../findings.ts';
import type { HeadedRange } from './decision-ranges.ts';
import type { KeptDecisions, LostOffsets } from './kept-decisions.ts';
import type { RangeProgress } from './range-progress.ts';

/** Of a partition, what was met. */
export interface Met {
  readonly kept: KeptDecisions;
  /** The first record that was read. */
  readonly oldest: LogRecord | null;
  /** When the log had the first of what heads name and is there, by the clocks of the writers; Infinity where there is none. */
  readonly begunMs: number;
}

/** Of a range that is not whole. */
export interface Missing {
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
export function tellMissing(missing: Missing, met: Met, findings: Pick<Findings, 'gap' | 'deviation'>): void {
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

export const numbersText = ({ chain, first, records }: HeadedRange): string =>
  `(chain ${chain}, numbers ${first} to ${first + records - 1})`;

/** Between which records it is, and the head that says so. */
export const placesOf = ({ first, last, range }: RangeProgress): readonly Place[] => [
  ...[first, last].flatMap((record) => (record === null ? [] : [placeOf(record)])),
  range.head,
];

export interface Neighbours {
  readonly before: LogRecord | null;
  readonly after: LogRecord | null;
}

/** Whether an archive notes offsets between these as lost. */
export const hasLostBetween = (lost: readonly LostOffsets[], { before, after }: Neighbours): boolean =>
  lost.some(
    ({ first, last }) =>
      (before === null || first > before.offset) && (after === null || last < after.offset),
  );
