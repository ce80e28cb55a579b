import type { EventLog } from '../../../packages/event-log/port.ts';
import { parseRecord } from '../../../packages/pipeline/parse/parse-record.ts';
import { readPartition, type TimeRange } from '../../../packages/pipeline/read-log.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import type { AuditReport, PolicyChange } from '../../../schemas/reports/audit-report.ts';
import { inventoryTimes } from '../inventory-times.ts';
import { readPolicyHistory } from '../policy-history.ts';
import { recordSigns, withSightings } from './policy-signs.ts';
import { deletionsIn, pausesIn } from './policy-standings.ts';
import { createTally, REPORTED_TOPICS, type Tally } from './tally.ts';

export interface ReportNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly onProgress: (progress: {
    readonly done: number;
    readonly of: number;
    readonly records: number;
  }) => void;
}

/** Sums up a part of the log. Throws `INTERRUPTED` when `signal` aborts: half a report tells less than none. */
export async function makeReport(needs: ReportNeeds, signal: AbortSignal): Promise<AuditReport> {
  const tally = createTally();
  const { range } = needs;
  for (let partition = 0; partition < NODE_PARTITIONS; partition++) {
    await readInto(tally, { ...needs, partition }, signal);
  }
  const policyChanges = await readPolicyChanges(needs, tally, signal);
  const stood = await readStandings(needs, tally, signal);
  const kept = tally.read.records === 0 && { kept: await inventoryTimes(needs.log, needs.nowMs, signal) };
  const { records, unreadable, nodes, firstMs, lastMs } = tally.read;
  return {
    type: 'fleetgc.audit-report',
    version: 1,
    range,
    read: { nodes: nodes.size, records, unreadable, firstMs, lastMs },
    ...kept,
    ...tally.told(),
    policyChanges,
    ...stood,
  };
}

const PROGRESS_EVERY_RECORDS = 200;

async function readInto(
  tally: Tally,
  { log, range, partition, onProgress }: ReportNeeds & { readonly partition: number },
  signal: AbortSignal,
): Promise<void> {
  for await (const event of readPartition(log, { topics: REPORTED_TOPICS, partition, range }, signal)) {
    tally.take(event);
    const { records } = tally.read;
    if (records % PROGRESS_EVERY_RECORDS === 0) onProgress({ done: partition, of: NODE_PARTITIONS, records });
  }
  tally.endPartition();
}

async function readPolicyChanges(
  { log, range }: ReportNeeds,
  { read }: Tally,
  signal: AbortSignal,
): Promise<PolicyChange[]> {
  const changes: PolicyChange[] = [];
  const reading = { topics: ['policyVersions'], partition: 0, range } as const;
  for await (const { record } of readPartition(log, reading, signal)) {
    const parsed = parseRecord('policyVersions', record);
    if (!parsed.ok) read.unreadable++;
    else if (parsed.event.type === 'fleetgc.policy') {
      const { policy, policyVersion, hash } = parsed.event;
      changes.push({ atMs: record.timestampMs, name: policy.name, policyVersion, hash, mode: policy.mode });
    }
  }
  return changes;
}

/** Pauses, and policies that were deleted. */
async function readStandings(
  { log, range }: ReportNeeds,
  { read, sightings }: Tally,
  signal: AbortSignal,
): Promise<Pick<AuditReport, 'policyDeletions' | 'pauses'>> {
  const { policySetOf } = await readPolicyHistory(log, signal);
  const { unreadable, ...records } = await recordSigns(log, range, signal);
  read.unreadable += unreadable;
  const signs = withSightings(records, sightings, policySetOf);
  return { policyDeletions: deletionsIn(range, signs), pauses: pausesIn(range, signs) };
}
