import type { EventLog } from '../../../../packages/event-log/port.ts';
import type { TimeRange } from '../../../../packages/pipeline/read-log.ts';
import { readKeys } from '../../../../packages/trust/read-keys.ts';
import type { DecisionRange } from '../../../../schemas/events/head.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { SETTLED_MS } from '../coverage.ts';
import { type BelievedHead, BelievedHeads } from './read-heads.ts';

/** What a head says of some decisions. */
export interface HeadedRange extends DecisionRange {
  readonly chain: string;
  /** Where the head lies. */
  readonly head: Place;
}

/** Of one partition, by chain, in the order of their numbers. */
export type RangesByChain = ReadonlyMap<string, readonly HeadedRange[]>;

/** What signed heads say of the decisions of one partition; to be asked before these are read, so that all of them are there. */
export type DecisionRanges = (partition: number, signal: AbortSignal) => Promise<RangesByChain>;

export interface RangesReading {
  readonly roots: TrustRoots;
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly deletes: boolean;
}

/** Each partition reads all heads, and keeps its own part of them. */
export async function openDecisionRanges(
  log: Pick<EventLog, 'read'>,
  { roots, range, nowMs, deletes }: RangesReading,
  signal: AbortSignal,
): Promise<DecisionRanges> {
  const keptFromMs = deletes ? nowMs - TOPICS.decisions.retentionMs : 0;
  const from = { timestampMs: Math.max(0, keptFromMs, range.fromMs ?? 0) };
  const { ring } = await readKeys(log, roots, signal);
  const heads = new BelievedHeads({ log, ring, from });
  return (partition, reading) => decisionRanges(heads.read(reading), { partition, range });
}

/**
 * A head that was told twice counts once, and of two that contradict each other the earlier one. What was acknowledged about the end
 * of the time that is verified may lie behind it.
 */
export async function decisionRanges(
  heads: AsyncIterable<BelievedHead> | Iterable<BelievedHead>,
  { partition, range: { toMs } }: { readonly partition: number; readonly range: TimeRange },
): Promise<RangesByChain> {
  const settledMs = toMs === null ? Number.POSITIVE_INFINITY : toMs - SETTLED_MS;
  const once = new Map<string, HeadedRange>();
  for await (const head of heads)
    for (const one of rangesIn(head, partition)) {
      const name = `${one.chain} ${one.first}`;
      if (one.lastAtMs < settledMs && !once.has(name)) once.set(name, one);
    }
  const sorted = [...once.values()].toSorted((a, b) => a.first - b.first);
  return Map.groupBy(sorted, ({ chain }) => chain);
}

const rangesIn = ({ event, record }: BelievedHead, partition: number): readonly HeadedRange[] =>
  event.type === 'fleetgc.decision-head'
    ? event.ranges
        .filter((range) => range.partition === partition)
        .map((range) => ({ ...range, chain: event.chain, head: placeOf(record) }))
    : [];
