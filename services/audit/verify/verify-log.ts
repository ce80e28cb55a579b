import { NODE_PARTITIONS, TOPICS } from '../../../schemas/topics.ts';
import { FleetGcError } from '../../shared/errors.ts';
import type { EventLog } from '../../shared/event-log/port.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import { type PolicyHistory, readPolicyHistory } from '../policy-history.ts';
import { readPartition, type TimeRange } from '../read-log.ts';
import { createPartitionCheck, VERIFIED_TOPICS } from './check-partition.ts';
import { type Collector, createCollector, type Found } from './collect.ts';
import { coverageOf, LATE_RESULT_MS } from './coverage.ts';
import { placeOf } from './findings.ts';
import { createInputs, firstRecord } from './inputs.ts';

export interface VerifyProgress {
  /** Partitions that are done; of the one in hand the part of its time that went by. */
  readonly done: number;
  readonly of: number;
  readonly records: number;
}

export interface VerifyNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly range: TimeRange;
  readonly findDecider: (name: string, version: string) => Promise<FrozenDecider | null>;
  /** Epoch milliseconds: how long ago something was, for what retention may have deleted. */
  readonly nowMs: number;
  readonly onProgress: (progress: VerifyProgress) => void;
}

/**
 * Decides every recorded decision again and follows every command and result, partition by partition. Throws
 * `AUDIT_INCOMPLETE` when `signal` aborts: what was not read is not verified.
 */
export async function verifyLog(needs: VerifyNeeds, signal: AbortSignal): Promise<Found> {
  const collector = createCollector();
  const policies = await readPolicyHistory(needs.log, signal);
  for (const { record, message } of policies.problems)
    collector.deviation({ kind: 'policy-changed', message, node: null, places: [placeOf(record)] });
  for (let partition = 0; partition < NODE_PARTITIONS; partition++) {
    await verifyPartition({ ...needs, partition, collector, policies }, signal);
    if (signal.aborted) throw stopped(partition);
  }
  return collector.found();
}

const stopped = (partition: number): FleetGcError =>
  new FleetGcError(
    'AUDIT_INCOMPLETE',
    `stopped in partition ${partition} of ${NODE_PARTITIONS}: nothing is said of what was not read`,
  );

interface PartitionNeeds extends VerifyNeeds {
  readonly partition: number;
  readonly collector: Collector;
  readonly policies: PolicyHistory;
}

async function verifyPartition(needs: PartitionNeeds, signal: AbortSignal): Promise<void> {
  const { log, partition, range, collector: findings, policies, findDecider, nowMs } = needs;
  const keptSinceMs = await keptSince(needs, signal);
  const inputs = createInputs(log, partition, signal);
  const coverage = coverageOf({ range, keptSinceMs, nowMs });
  const check = createPartitionCheck({ inputs, policies, findDecider, findings, coverage });
  const progress = partitionProgress(needs);
  try {
    for await (const event of readPartition(log, earlierCommands(needs), signal)) check.takeEarlier(event);
    for await (const event of readPartition(log, { topics: VERIFIED_TOPICS, partition, range }, signal)) {
      await check.take(event);
      progress(event.record.timestampMs);
    }
  } finally {
    await inputs.close();
  }
  if (!signal.aborted) check.end();
}

/** When the oldest inventory that is kept was written; `null` when none was deleted. */
async function keptSince({ log, partition }: PartitionNeeds, signal: AbortSignal): Promise<number | null> {
  const request = { topic: TOPICS.inventory.name, partition, from: 'earliest' } as const;
  const oldest = await firstRecord(log, request, signal);
  return oldest === null || oldest.offset === 0n ? null : oldest.timestampMs;
}

/** Commands so long before the range that their results may lie in it; none where there is no limit. */
function earlierCommands({ partition, range: { fromMs } }: PartitionNeeds) {
  const topics = fromMs === null ? [] : (['commands'] as const);
  return { topics, partition, range: { fromMs: Math.max(0, (fromMs ?? 0) - LATE_RESULT_MS), toMs: fromMs } };
}

const PROGRESS_EVERY_RECORDS = 200;

function partitionProgress({ partition, collector, onProgress, range, nowMs }: PartitionNeeds) {
  let firstMs: number | null = null;
  return (timestampMs: number): void => {
    const { records } = collector.counts;
    firstMs ??= timestampMs;
    if (records % PROGRESS_EVERY_RECORDS !== 0) return;
    const span = Math.max(1, (range.toMs ?? nowMs) - firstMs);
    const part = Math.min(1, Math.max(0, (timestampMs - firstMs) / span));
    onProgress({ done: partition + part, of: NODE_PARTITIONS, records });
  };
}
