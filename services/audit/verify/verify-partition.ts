import { TOPICS } from '../../../schemas/topics.ts';
import type { EventLog } from '../../shared/event-log/port.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import type { PolicyHistory } from '../policy-history.ts';
import { NODE_TOPICS, readPartition, type TimeRange } from '../read-log.ts';
import { createPartitionCheck } from './check-partition.ts';
import { createCollector, type Found } from './collect.ts';
import { coverageOf, LATE_RESULT_MS } from './coverage.ts';
import { createInputs, firstRecord } from './inputs.ts';

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
  readonly findDecider: (name: string, version: string) => Promise<FrozenDecider | null>;
  readonly range: TimeRange;
  /** Epoch milliseconds: how long ago something was, for what retention may have deleted. */
  readonly nowMs: number;
}

/** Verifies partitions of a log in this thread. */
export const createVerifier =
  (parts: VerifierParts): PartitionVerifier =>
  async (partition, onProgress, signal) => {
    const { log, policies, findDecider, range, nowMs } = parts;
    const findings = createCollector();
    const coverage = coverageOf({ range, keptSinceMs: await keptSince(log, partition, signal), nowMs });
    const inputs = createInputs(log, partition, signal);
    const check = createPartitionCheck({ inputs, policies, findDecider, findings, coverage });
    const progress = tellNowAndThen(parts, onProgress);
    try {
      for await (const event of readPartition(log, earlierCommands(range, partition), signal))
        check.takeEarlier(event);
      for await (const event of readPartition(log, { topics: NODE_TOPICS, partition, range }, signal)) {
        await check.take(event);
        progress(event.record.timestampMs, findings.counts.records);
      }
    } finally {
      await inputs.close();
    }
    if (!signal.aborted) check.end();
    return findings.found();
  };

/** When the oldest inventory that is kept was written; `null` when none was deleted. */
async function keptSince(
  log: Pick<EventLog, 'read'>,
  partition: number,
  signal: AbortSignal,
): Promise<number | null> {
  const request = { topic: TOPICS.inventory.name, partition, from: 'earliest' } as const;
  const oldest = await firstRecord(log, request, signal);
  return oldest === null || oldest.offset === 0n ? null : oldest.timestampMs;
}

/** Commands so long before the range that their results may lie in it; none where there is no limit. */
function earlierCommands({ fromMs }: TimeRange, partition: number) {
  const topics = fromMs === null ? [] : (['commands'] as const);
  return { topics, partition, range: { fromMs: Math.max(0, (fromMs ?? 0) - LATE_RESULT_MS), toMs: fromMs } };
}

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
