import { type AnyDeciderName, DECIDERS } from '../../../schemas/events/deciders.ts';
import type { DecisionRange } from '../../../schemas/events/head.ts';
import { SubjectKind } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { ManifestLine } from '../../archive/manifest.ts';
import type { EventLog, LogReader, TopicDifference } from '../../log/port.ts';
import { HOUR_MS } from '../../process/durations.ts';
import { toFleetGcError } from '../../process/errors.ts';
import { type BelievedHead, headsOf } from '../../records/read-heads.ts';
import { firstRecord, type TimeRange } from '../../records/read-log.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import { DECISION_TOPICS, type DecisionTopicId } from '../events/recorded-decision.ts';
import { AROUND_MS, SETTLED_MS } from './coverage.ts';

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
  /** What came before has to be named by heads; `null` where nobody requires that. */
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

interface HeadsReading extends HeadsAsked {
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** A log, or an archive with its manifest. */
type HeadedLog = LogReader & { readonly lines?: readonly ManifestLine[] };

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
  log: LogReader,
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

/** What a head says of some decisions. */
export interface HeadedRange extends DecisionRange {
  readonly topicId: DecisionTopicId;
  readonly chain: string;
  /** Where the head lies. */
  readonly head: Place;
}

/** Heads say who decided, and by that on which topic. */
interface PartitionOfDecisions {
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
interface RangesOfPartition {
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

/** Which decisions have to be there, by when their writers heard that the log had them. Epoch milliseconds. */
export interface KeptDecisions {
  /** What is older was deleted by retention, or nobody asked for it. */
  readonly expectedFromMs: number;
  /** What is younger than this was not deleted by retention; between the two nobody knows. Infinity where nobody ever knows. */
  readonly certainFromMs: number;
  /** What the log got later was not read. */
  readonly readToMs: number;
}

/** Offsets that were deleted before they could be archived: an archive notes them in its manifest. */
export interface LostOffsets {
  readonly partition: number;
  readonly first: bigint;
  readonly last: bigint;
}

/** Of the log as it is at this moment. `keepsAsDeclared`: its topics of decisions keep them as long as this release says. */
export function keptOnLog(
  range: TimeRange,
  { nowMs, keepsAsDeclared }: { readonly nowMs: number; readonly keepsAsDeclared: boolean },
): KeptDecisions {
  const expectedFromMs = Math.max(range.fromMs ?? 0, declaredFromMs(nowMs));
  return {
    expectedFromMs,
    certainFromMs: keepsAsDeclared ? expectedFromMs : Number.POSITIVE_INFINITY,
    readToMs: readTo(range),
  };
}

/** An archive got what the log had when it was begun, of which nobody knows how long it kept anything; and all that came since. */
export function keptInArchive(range: TimeRange, lines: readonly ManifestLine[]): KeptDecisions {
  const [first] = lines;
  const begunMs = first?.kind === 'archive' ? first.begunAtMs : 0;
  return {
    expectedFromMs: Math.max(range.fromMs ?? 0, declaredFromMs(begunMs)),
    certainFromMs: Math.max(range.fromMs ?? 0, begunMs),
    readToMs: readTo(range),
  };
}

/**
 * Before when decisions are old enough for a head to name them. An archive got its heads before its decisions, so that it has no
 * head without these; so what counts is its newest head.
 */
export function headedBeforeMs(
  { toMs }: TimeRange,
  nowMs: number,
  lines: readonly ManifestLine[] | null,
): number {
  const endMs = lines === null ? nowMs : newestHeadMs(lines);
  return Math.min(endMs, toMs ?? endMs) - AROUND_MS;
}

const newestHeadMs = (lines: readonly ManifestLine[]): number =>
  lines.reduce(
    (ms, line) =>
      line.kind === 'file' && line.topic === TOPICS.heads.name ? Math.max(ms, line.newestMs) : ms,
    0,
  );

export const lostFrom = (topicId: DecisionTopicId, lines: readonly ManifestLine[]): readonly LostOffsets[] =>
  lines.flatMap((line) =>
    line.kind === 'gap' && line.topic === TOPICS[topicId].name
      ? [{ partition: line.partition, first: BigInt(line.firstOffset), last: BigInt(line.lastOffset) }]
      : [],
  );

const readTo = ({ toMs }: TimeRange): number => (toMs === null ? Number.POSITIVE_INFINITY : toMs + AROUND_MS);

const DECISION_TOPIC_NAMES: readonly string[] = Object.values(DECISION_TOPICS).map((id) => TOPICS[id].name);

/** Nobody knows when exactly a broker deletes. All decisions are kept as long. */
const declaredFromMs = (ms: number): number => ms - TOPICS.decisions.retentionMs + HOUR_MS;

/**
 * Whether retention leaves decisions on their topics for as long as this release declares, or longer. Where the log does not say how
 * the topic is set up, nobody knows.
 */
export async function keepsAsDeclared(log: Pick<EventLog, 'checkTopics'>): Promise<boolean> {
  try {
    return !(await log.checkTopics()).some(keepsLess);
  } catch (error) {
    if (toFleetGcError(error).code === 'INTERRUPTED') throw error;
    return false;
  }
}

const SETTING = /^(retention\.ms|retention\.bytes|cleanup\.policy)=(.*)$/;

function keepsLess({ topic, kind, found }: TopicDifference): boolean {
  if (!DECISION_TOPIC_NAMES.includes(topic)) return false;
  if (kind === 'missing') return true;
  const [, name, value] = SETTING.exec(found) ?? [];
  if (name !== 'retention.ms') return name !== undefined;
  return !(value === '-1' || Number(value) >= TOPICS.decisions.retentionMs);
}
