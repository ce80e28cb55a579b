import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import type { ManifestLine } from '../../../archive/manifest.ts';
import type { EventLog } from '../../../log/port.ts';
import { headsOf } from '../../../records/read-heads.ts';
import { firstRecord, type TimeRange } from '../../../records/read-log.ts';
import { DECISION_TOPICS, type DecisionTopicId } from '../../events/recorded-decision.ts';
import { SETTLED_MS } from '../coverage.ts';
import { decisionRanges, type PartitionOfDecisions, type RangesOfPartition } from './decision-ranges.ts';
import {
  headedBeforeMs,
  type KeptDecisions,
  keptInArchive,
  keptOnLog,
  type LostOffsets,
  lostFrom,
} from './kept-decisions.ts';

/** What heads of decisions are asked for. */
export interface HeadsAsked {
  readonly roots: TrustRoots;
  /** Whether the topic of decisions keeps them as long as this release declares; `false` where nobody knows. */
  readonly keepsAsDeclared: boolean;
  /** Whether it is a fault to have none. */
  readonly areRequired: boolean;
}

/** What signed heads say of the decisions in a partition of a topic, and which of them have to be there. */
export interface HeadsOfPartition {
  readonly topicId: DecisionTopicId;
  readonly ranges: RangesOfPartition;
  readonly kept: KeptDecisions;
  readonly lost: readonly LostOffsets[];
  readonly requiredBeforeMs: number | null;
}

const DECISIONS: readonly DecisionTopicId[] = Object.values(DECISION_TOPICS);

/**
 * Of every topic of decisions. To be asked before they are read, so that all that heads name are there. `sinceMs` is how long ago the verification began:
 * retention goes on meanwhile.
 */
export type DecisionHeads = (
  partition: number,
  sinceMs: number,
  signal: AbortSignal,
) => Promise<readonly HeadsOfPartition[]>;

export interface HeadsReading extends HeadsAsked {
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** A log, or an archive with its manifest. */
type HeadedLog = Pick<EventLog, 'read'> & { readonly lines?: readonly ManifestLine[] };

/** Since when decisions are to be there, of which heads are compared with them. Epoch milliseconds. */
export const comparedFromMs = (
  range: TimeRange,
  nowMs: number,
  lines: readonly ManifestLine[] | null,
): number =>
  (lines === null ? keptOnLog(range, { nowMs, keepsAsDeclared: false }) : keptInArchive(range, lines))
    .expectedFromMs;

/** Each partition reads all heads, and keeps its own part of them. */
export function openDecisionHeads(
  log: HeadedLog,
  { roots, range, nowMs, keepsAsDeclared, areRequired }: HeadsReading,
): DecisionHeads {
  const { lines = null } = log;
  const keptAfter = (sinceMs: number): KeptDecisions =>
    lines === null
      ? keptOnLog(range, { nowMs: nowMs + sinceMs, keepsAsDeclared })
      : keptInArchive(range, lines);
  const heads = headsOf(log, roots);
  const requiredBeforeMs = areRequired ? headedBeforeMs(range, nowMs, lines) : null;
  return async (partition, sinceMs, reading) => {
    const kept = keptAfter(sinceMs);
    const found: HeadsOfPartition[] = [];
    for (const topicId of DECISIONS) {
      const asked = { topicId, partition, range };
      const from = { timestampMs: await headsFromMs(log, { ...asked, kept }, reading) };
      found.push({
        topicId,
        ranges: await decisionRanges(heads.read(from, reading), asked),
        kept,
        lost: lostFrom(topicId, lines ?? []).filter((one) => one.partition === partition),
        requiredBeforeMs,
      });
    }
    return found;
  };
}

/** Since when heads name decisions that are to be there, or are there all the same: a topic may keep them longer than it has to. */
async function headsFromMs(
  log: Pick<EventLog, 'read'>,
  {
    topicId,
    partition,
    range,
    kept,
  }: Pick<HeadsReading, 'range'> & Pick<HeadsOfPartition, 'kept'> & PartitionOfDecisions,
  signal: AbortSignal,
): Promise<number> {
  const request = { topic: TOPICS[topicId].name, partition, from: 'earliest' } as const;
  const oldest = await firstRecord(log, request, signal);
  const thereFromMs = Math.min(kept.expectedFromMs, oldest?.timestampMs ?? kept.expectedFromMs);
  return Math.max(0, Math.max(range.fromMs ?? 0, thereFromMs) - SETTLED_MS);
}
