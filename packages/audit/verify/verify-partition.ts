import { TOPICS, type TopicId, type TopicName } from '../../../schemas/events/topics.ts';
import type { EventLog } from '../../log/port.ts';
import { createPeriodicYield } from '../../process/event-loop.ts';
import {
  firstRecord,
  type PartitionReading,
  type RecordedEvent,
  readPartition,
  type TimeRange,
  TOPICS_OF_SUBJECTS,
} from '../../records/read-log.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import { DECISION_TOPICS } from '../events/recorded-decision.ts';
import type { PoliciesInForce } from '../policies/policies-in-force.ts';
import type { PolicyHistory } from '../policies/policy-history.ts';
import { PartitionCheck } from './check-partition.ts';
import { createCollector, type Found } from './collected-findings.ts';
import {
  AHEAD_MS,
  AROUND_MS,
  type Coverages,
  coverageOf,
  EARLIER_CAUSES,
  type EarlierCause,
} from './coverage.ts';
import { Inputs } from './decisions/inputs.ts';
import type { DecisionHeads } from './heads/decision-heads.ts';
import { HeadedDecisions } from './heads/headed-decisions.ts';

/** How much of a partition was read. */
export interface PartitionProgress {
  readonly records: number;
  /** The part of its time that went by, from 0 to 1. */
  readonly part: number;
}

/** Verifies one partition, wherever that happens. */
export type PartitionVerifier = (
  partition: number,
  onProgress: (progress: PartitionProgress) => void,
  signal: AbortSignal,
) => Promise<Found>;

export interface VerifierParts {
  readonly log: Pick<EventLog, 'read'>;
  readonly policies: PolicyHistory;
  readonly inForce: PoliciesInForce;
  readonly findDecider: (name: string, version: string) => Promise<FrozenDecider | null>;
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** Whether retention deletes from this log; from an archive nothing goes, however old it is. */
  readonly deletes: boolean;
  /** What signed heads say of decisions; `null` where nobody asks. */
  readonly headed: DecisionHeads | null;
}

/**
 * Verifies partitions of a log in this thread. Not by `readNodes`, as other audits read: a partition is gone through up to three
 * times, each record may wait for another reading, and a range that begins late needs causes from before it.
 */
export function createVerifier(parts: VerifierParts): PartitionVerifier {
  const openedMs = performance.now();
  return async (partition, onProgress, signal) => {
    const { log, range, headed, ...others } = parts;
    const findings = createCollector();
    const coverages = await coveragesIn(parts, partition, signal);
    const inputs = new Inputs(log, partition, { signal });
    const check = new PartitionCheck({ ...others, ...coverages, inputs, findings });
    const heads = await headed?.(partition, performance.now() - openedMs, signal);
    const headedDecisions = new Map<TopicName, HeadedDecisions>(
      (heads ?? []).map((of) => [TOPICS[of.topicId].name, new HeadedDecisions({ ...of, findings })] as const),
    );
    const takeHeaded = ({ record }: RecordedEvent, isAsked: boolean): void =>
      headedDecisions.get(record.topic)?.take(record, isAsked);
    const progress = tellNowAndThen(parts, onProgress);
    const yieldToEventLoop = createPeriodicYield(() => performance.now());
    const take = async (event: RecordedEvent): Promise<void> => {
      findings.passed(event.record.timestampMs);
      takeHeaded(event, true);
      await check.take(event);
      await yieldToEventLoop();
      progress(event.record.timestampMs, findings.counts.records);
    };
    const readAll = async (reading: PartitionReading, each: (event: RecordedEvent) => unknown) => {
      for await (const event of readPartition(log, reading, signal)) await each(event);
    };
    const readDecisions = (reading: PartitionReading) =>
      headedDecisions.size > 0 && readAll(reading, (event) => takeHeaded(event, false));
    try {
      for (const topicId of EARLIER_CAUSES)
        await readAll(rightBefore(range, { topicId, partition }), (event) => check.earlier.take(event));
      await readDecisions(decisionsBefore(range, partition));
      await readAll({ topics: TOPICS_OF_SUBJECTS, partition, range }, take);
      const isLate = check.finish();
      if (isLate)
        await readAll(allEarlierCommands(range, partition), (event) => check.earlier.takeForLate(event));
      await readDecisions(decisionsBehind(range, partition));
    } finally {
      await inputs.close();
    }
    check.end();
    for (const decisions of headedDecisions.values()) decisions.finish();
    return findings.found();
  };
}

/** Where nothing is deleted any more, each topic begins where it was first archived, and that is looked at. */
async function coveragesIn(
  { log, range, nowMs, deletes }: VerifierParts,
  partition: number,
  signal: AbortSignal,
): Promise<Coverages> {
  const keptSinceMs: Partial<Record<TopicId, number>> = {};
  const beganMs: Partial<Record<TopicId, number>> = {};
  for (const topicId of TOPICS_OF_SUBJECTS) {
    const request = { topic: TOPICS[topicId].name, partition, from: 'earliest' } as const;
    const oldest = await firstRecord(log, request, signal);
    if (oldest === null) continue;
    if (oldest.offset === 0n) beganMs[topicId] = oldest.timestampMs;
    else if (topicId === 'inventory' || !deletes) keptSinceMs[topicId] = oldest.timestampMs;
  }
  const facts = { keptSinceMs, deletesAtMs: deletes ? nowMs : null };
  const whole = { fromMs: null, toMs: null };
  return {
    coverage: coverageOf({ ...facts, range }),
    kept: coverageOf({ ...facts, range: whole }),
    beganAfter: (topicId, timestampMs) => (beganMs[topicId] ?? Number.NEGATIVE_INFINITY) > timestampMs,
  };
}

/** Causes so long before the range that their effects may lie in it; none where there is no limit. */
const rightBefore = (
  { fromMs }: TimeRange,
  { topicId, partition }: { readonly topicId: EarlierCause; readonly partition: number },
): PartitionReading => ({
  topics: fromMs === null ? [] : [topicId],
  partition,
  range: { fromMs: Math.max(0, (fromMs ?? 0) - AHEAD_MS[topicId]), toMs: fromMs },
});

const DECISIONS: readonly TopicId[] = Object.values(DECISION_TOPICS);

/** Decisions about a range, for the heads that name some in it together with these. */
const decisionsBefore = ({ fromMs }: TimeRange, partition: number): PartitionReading => ({
  topics: fromMs === null ? [] : DECISIONS,
  partition,
  range: { fromMs: Math.max(0, (fromMs ?? 0) - AROUND_MS), toMs: fromMs },
});

const decisionsBehind = ({ toMs }: TimeRange, partition: number): PartitionReading => ({
  topics: toMs === null ? [] : DECISIONS,
  partition,
  range: { fromMs: toMs, toMs: (toMs ?? 0) + AROUND_MS },
});

/** All commands that lie before the range. */
const allEarlierCommands = ({ fromMs }: TimeRange, partition: number): PartitionReading => ({
  topics: fromMs === null ? [] : ['commands'],
  partition,
  range: { fromMs: null, toMs: fromMs },
});

const PROGRESS_EVERY_RECORDS = 200;

function tellNowAndThen({ range, nowMs }: VerifierParts, onProgress: (progress: PartitionProgress) => void) {
  let firstMs: number | null = null;
  return (timestampMs: number, records: number): void => {
    firstMs ??= timestampMs;
    if (records % PROGRESS_EVERY_RECORDS !== 0) return;
    const span = Math.max(1, (range.toMs ?? nowMs) - firstMs);
    onProgress({ records, part: Math.min(1, Math.max(0, (timestampMs - firstMs) / span)) });
  };
}
