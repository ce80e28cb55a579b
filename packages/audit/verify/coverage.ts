import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { HOUR_MS } from '../../process/durations.ts';
import type { TimeRange } from '../../records/read-log.ts';
import type { Deviation, Findings } from './findings.ts';

/**
 * Results may come late, from a node that could not reach the log; commands so long before a range are read too.
 * @limit Delay within which `audit verify` expects a result.
 */
export const LATE_RESULT_MS = 24 * HOUR_MS;
/**
 * What belongs together lies on the log within this time, except results; brokers' clocks and retries take their part.
 * @limit Delay within which `audit verify` expects related messages.
 */
export const SETTLED_MS = HOUR_MS / 6;

/**
 * So long before and behind a range decisions are read for the heads that name some in it: a head comes within ten minutes of the
 * first that it names.
 * @limit Time around a range in which `audit verify` looks for heads. Keep it above `HEAD_EVERY_MS`.
 */
export const AROUND_MS = 2 * SETTLED_MS;

/** Causes of which effects may lie in a range that begins after them. */
export const EARLIER_CAUSES = [
  'decisions',
  'clusterDecisions',
  'observe',
  'commands',
  'clusterCommands',
] as const satisfies readonly TopicId[];
export type EarlierCause = (typeof EARLIER_CAUSES)[number];

/** So long before a range they are read. */
export const AHEAD_MS: Readonly<Record<EarlierCause, number>> = {
  decisions: SETTLED_MS,
  clusterDecisions: SETTLED_MS,
  observe: LATE_RESULT_MS,
  commands: LATE_RESULT_MS,
  clusterCommands: LATE_RESULT_MS,
};

const isEarlierCause = (topicId: TopicId): topicId is EarlierCause => topicId in AHEAD_MS;

const aheadOf = (topicId: TopicId): number => (isEarlierCause(topicId) ? AHEAD_MS[topicId] : 0);

interface CoverageFacts {
  readonly range: TimeRange;
  /** When the oldest record that the log keeps of a topic was written; left out where none was deleted before it, or nobody looked. */
  readonly keptSinceMs: Readonly<Partial<Record<TopicId, number>>>;
  /** Epoch milliseconds, where retention deletes; `null` where nothing goes any more. */
  readonly deletesAtMs: number | null;
}

/** Since when every record of a topic was read: what is missing before that may have been deleted, or was not asked for. */
export type Coverage = (topicId: TopicId) => number;

/**
 * Whether the very first message of a topic was logged after this time: what is missing from before it was on another topic of this
 * name, which was deleted. Where retention took the first one nobody can tell.
 */
type BeganAfter = (topicId: TopicId, timestampMs: number) => boolean;

/** What was read, and what the log has. */
export interface Coverages {
  readonly coverage: Coverage;
  readonly kept: Coverage;
  readonly beganAfter: BeganAfter;
}

export function coverageOf({ range, keptSinceMs, deletesAtMs }: CoverageFacts): Coverage {
  return (topicId) => {
    const { retentionMs } = TOPICS[topicId];
    return Math.max(
      keptSinceMs.inventory ?? Number.NEGATIVE_INFINITY,
      keptSinceMs[topicId] ?? Number.NEGATIVE_INFINITY,
      (range.fromMs ?? Number.NEGATIVE_INFINITY) - aheadOf(topicId),
      // Nobody knows when exactly a broker deletes.
      deletesAtMs === null || retentionMs === 'forever'
        ? Number.NEGATIVE_INFINITY
        : deletesAtMs - retentionMs + HOUR_MS,
    );
  };
}

/** What is judged now: everything from before `beforeMs`, and at the end of the log the rest too. */
export interface Judging {
  readonly beforeMs: number;
  readonly atEnd: boolean;
}

/** Of what `topicId` was to have by `timestampMs`, and does not: it deviates, unless the topic was made anew since. */
export function tellMissing(
  findings: Findings,
  { beganAfter }: Coverages,
  { topicId, timestampMs }: { readonly topicId: TopicId; readonly timestampMs: number },
  deviation: Deviation,
): void {
  if (!beganAfter(topicId, timestampMs)) findings.deviation(deviation);
  else findings.gap({ ...deviation, kind: 'topic-recreated', message: madeAnew(topicId) });
}

const madeAnew = (topicId: TopicId): string =>
  `${TOPICS[topicId].name} begins after this: the topic was deleted and made anew, and what belongs to this is gone with the old one. Or it was empty until then, and somebody made this up`;
