import { type AnyDeciderName, DECIDERS } from '../../../../schemas/events/deciders.ts';
import type { DecisionRange } from '../../../../schemas/events/head.ts';
import { SubjectKind } from '../../../../schemas/events/identity.ts';
import type { BelievedHead } from '../../../records/read-heads.ts';
import type { TimeRange } from '../../../records/read-log.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { DECISION_TOPICS, type DecisionTopicId } from '../../events/recorded-decision.ts';
import { AROUND_MS, SETTLED_MS } from '../coverage.ts';

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

/** Heads of a chain that cannot all be right: its writer names each decision once. */
export interface Contradiction {
  readonly chain: string;
  /** The first two. */
  readonly heads: readonly [Place, Place];
  readonly count: number;
}

/** What heads say of one partition. */
export interface RangesOfPartition {
  /** In the order of their numbers. */
  readonly byChain: ReadonlyMap<string, readonly HeadedRange[]>;
  /** One for each chain. */
  readonly contradictions: readonly Contradiction[];
}

/**
 * A head that was told twice counts once, and of two that contradict each other the earlier one. What was acknowledged about the end
 * of what is read may lie behind it.
 */
export async function decisionRanges(
  heads: AsyncIterable<BelievedHead> | Iterable<BelievedHead>,
  { range: { toMs }, ...place }: PartitionOfDecisions & { readonly range: TimeRange },
): Promise<RangesOfPartition> {
  const settledMs = toMs === null ? Number.POSITIVE_INFINITY : toMs + AROUND_MS - SETTLED_MS;
  const told = new ToldRanges();
  for await (const head of heads)
    for (const one of rangesIn(head, place)) if (one.lastAtMs < settledMs) told.take(one);
  return told.all();
}

class ToldRanges {
  readonly #once = new Map<string, HeadedRange>();
  readonly #contradictions = new Map<string, Contradiction>();

  take(one: HeadedRange): void {
    const name = `${one.chain} ${one.first}`;
    const before = this.#once.get(name);
    if (before === undefined) this.#once.set(name, one);
    else if (!isSame(before, one)) this.#contradict(before, one);
  }

  /** Nothing more comes. */
  all(): RangesOfPartition {
    const sorted = [...this.#once.values()].toSorted((a, b) => a.first - b.first);
    const byChain = Map.groupBy(sorted, ({ chain }) => chain);
    for (const ranges of byChain.values())
      for (const [one, other] of overlapping(ranges)) this.#contradict(one, other);
    return { byChain, contradictions: [...this.#contradictions.values()] };
  }

  #contradict(one: HeadedRange, other: HeadedRange): void {
    const { chain } = one;
    const { heads, count } = this.#contradictions.get(chain) ?? { heads: [one.head, other.head], count: 0 };
    this.#contradictions.set(chain, { chain, heads, count: count + 1 });
  }
}

const isSame = (one: HeadedRange, other: HeadedRange): boolean =>
  one.records === other.records &&
  one.sha256 === other.sha256 &&
  one.firstAtMs === other.firstAtMs &&
  one.lastAtMs === other.lastAtMs;

/** Each with one before it that reaches into it. */
function* overlapping(ranges: readonly HeadedRange[]): Iterable<readonly [HeadedRange, HeadedRange]> {
  let farthest: HeadedRange | null = null;
  for (const range of ranges) {
    if (farthest !== null && range.first < endOf(farthest)) yield [farthest, range];
    if (farthest === null || endOf(range) > endOf(farthest)) farthest = range;
  }
}

const endOf = ({ first, records }: HeadedRange): number => first + records;

const rangesIn = (
  { event, record }: BelievedHead,
  { topicId, partition }: PartitionOfDecisions,
): readonly HeadedRange[] =>
  event.type === 'fleetgc.decision-head' && writesOn(event.decider, topicId)
    ? event.ranges
        .filter((range) => range.partition === partition)
        .map((range) => ({ ...range, topicId, chain: event.chain, head: placeOf(record) }))
    : [];
