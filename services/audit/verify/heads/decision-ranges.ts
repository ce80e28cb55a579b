import type { TimeRange } from '../../../../packages/pipeline/read-log.ts';
import { type AnyDeciderName, DECIDERS } from '../../../../schemas/events/deciders.ts';
import type { DecisionRange } from '../../../../schemas/events/head.ts';
import { SubjectKind } from '../../../../schemas/events/identity.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { DECISION_TOPICS, type DecisionTopicId } from '../../events/recorded-decision.ts';
import { AROUND_MS, SETTLED_MS } from '../coverage.ts';
import type { BelievedHead } from './read-heads.ts';

/** What a head says of some decisions. */
export interface HeadedRange extends DecisionRange {
  readonly topicId: DecisionTopicId;
  readonly chain: string;
  /** Where the head lies. */
  readonly head: Place;
}

/** Heads say who decided, and by that on which topic. */
export interface PartitionOfDecisions {
  readonly topicId: DecisionTopicId;
  readonly partition: number;
}

const writesOn = (decider: AnyDeciderName, topicId: DecisionTopicId): boolean =>
  SubjectKind.options.some(
    (kind) => DECISION_TOPICS[kind] === topicId && DECIDERS[kind].safeParse(decider).success,
  );

/** Of one partition, by chain, in the order of their numbers. */
export type RangesByChain = ReadonlyMap<string, readonly HeadedRange[]>;

/**
 * A head that was told twice counts once, and of two that contradict each other the earlier one. What was acknowledged about the end
 * of what is read may lie behind it.
 */
export async function decisionRanges(
  heads: AsyncIterable<BelievedHead> | Iterable<BelievedHead>,
  { range: { toMs }, ...place }: PartitionOfDecisions & { readonly range: TimeRange },
): Promise<RangesByChain> {
  const settledMs = toMs === null ? Number.POSITIVE_INFINITY : toMs + AROUND_MS - SETTLED_MS;
  const once = new Map<string, HeadedRange>();
  for await (const head of heads)
    for (const one of rangesIn(head, place)) {
      const name = `${one.chain} ${one.first}`;
      if (one.lastAtMs < settledMs && !once.has(name)) once.set(name, one);
    }
  const sorted = [...once.values()].toSorted((a, b) => a.first - b.first);
  return Map.groupBy(sorted, ({ chain }) => chain);
}

const rangesIn = (
  { event, record }: BelievedHead,
  { topicId, partition }: PartitionOfDecisions,
): readonly HeadedRange[] =>
  event.type === 'fleetgc.decision-head' && writesOn(event.decider, topicId)
    ? event.ranges
        .filter((range) => range.partition === partition)
        .map((range) => ({ ...range, topicId, chain: event.chain, head: placeOf(record) }))
    : [];
