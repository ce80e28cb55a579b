import type { EventLog, LogRecord } from '../../../../packages/event-log/port.ts';
import type { TimeRange } from '../../../../packages/pipeline/read-log.ts';
import type { DecisionRange } from '../../../../schemas/events/head.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import { SETTLED_MS } from '../coverage.ts';
import { type BelievedHead, readHeads } from './read-heads.ts';

/** What a head says of some decisions. */
export interface HeadedRange extends DecisionRange {
  readonly chain: string;
  /** The record with the head. */
  readonly head: LogRecord;
}

/** Of one partition, by chain, in the order of their numbers. */
export type RangesByChain = ReadonlyMap<string, readonly HeadedRange[]>;

/** By partition. */
export type DecisionRanges = ReadonlyMap<number, RangesByChain>;

export interface RangesReading {
  readonly roots: TrustRoots;
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly deletes: boolean;
}

/** What signed heads say of the decisions in a range. */
export async function readDecisionRanges(
  log: Pick<EventLog, 'read'>,
  { roots, range, nowMs, deletes }: RangesReading,
  signal: AbortSignal,
): Promise<DecisionRanges> {
  const keptFromMs = deletes ? nowMs - TOPICS.decisions.retentionMs : 0;
  const timestampMs = Math.max(0, keptFromMs, range.fromMs ?? 0);
  const { heads } = await readHeads(log, { roots, from: { timestampMs } }, signal);
  return decisionRanges(heads, range);
}

/** A head that was told twice counts once. What was acknowledged about the end of the range may lie behind it. */
export function decisionRanges(heads: readonly BelievedHead[], { toMs }: TimeRange): DecisionRanges {
  const settledMs = toMs === null ? Number.POSITIVE_INFINITY : toMs - SETTLED_MS;
  const said = heads.flatMap(rangesIn).filter(({ lastAtMs }) => lastAtMs < settledMs);
  const once = new Map(said.map((one) => [`${one.partition} ${one.chain} ${one.first}`, one]));
  const sorted = [...once.values()].toSorted((a, b) => a.first - b.first);
  const byPartition = Map.groupBy(sorted, ({ partition }) => partition);
  return new Map(
    [...byPartition].map(([partition, ranges]) => [partition, Map.groupBy(ranges, ({ chain }) => chain)]),
  );
}

const rangesIn = ({ event, record }: BelievedHead): readonly HeadedRange[] =>
  event.type === 'fleetgc.decision-head'
    ? event.ranges.map((range) => ({ ...range, chain: event.chain, head: record }))
    : [];
