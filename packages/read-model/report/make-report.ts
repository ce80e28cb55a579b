import { TOPICS } from '../../../schemas/events/topics.ts';
import type { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { inventoryTimes } from '../../audit/events/inventory-times.ts';
import { ALL_PARTITIONS, type ReadingProgress, readNodes } from '../../audit/events/reading.ts';
import { evidenceOfRecords, withDecisions } from '../../audit/policies/policy-evidence.ts';
import { readPolicyHistory } from '../../audit/policies/policy-history.ts';
import { deletionsIn, pausesIn } from '../../audit/policies/policy-periods.ts';
import type { EventLog } from '../../log/port.ts';
import { readPartition, type TimeRange } from '../../records/read-log.ts';
import { PolicyChanges, type PolicyChangesTold } from './policy-changes.ts';
import { REPORTED_TOPICS, Tally } from './tally.ts';

export interface ReportNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly onProgress: (progress: ReadingProgress) => void;
}

/** Sums up a part of the log. Throws `INTERRUPTED` when `signal` aborts: half a report tells less than none. */
export async function makeReport(needs: ReportNeeds, signal: AbortSignal): Promise<AuditReport> {
  const tally = new Tally();
  const { range } = needs;
  await readInto(tally, needs, signal);
  const { policyChanges, clusterPolicyChanges, approvals } = await readPolicyChanges(needs, tally, signal);
  const policyPeriods = await readPolicyPeriods(needs, tally, signal);
  const { records, unreadable, span } = tally.read;
  const kept = records === 0 && { kept: await inventoryTimes(needs.log, needs.nowMs, signal) };
  return {
    type: 'fleetgc.audit-report',
    version: 1,
    range,
    read: { nodes: tally.nodes.size, records, unreadable, firstMs: span.firstMs, lastMs: span.lastMs },
    ...kept,
    ...tally.told(),
    policyChanges,
    ...policyPeriods,
    clusters: { ...tally.clusters.told(), policyChanges: clusterPolicyChanges, approvals },
  };
}

/** One partition after the other: the tally forgets what it knows of nodes at the end of each. */
async function readInto(
  tally: Tally,
  { log, range, onProgress }: ReportNeeds,
  signal: AbortSignal,
): Promise<void> {
  const reading = {
    log,
    topics: REPORTED_TOPICS,
    range,
    partitions: ALL_PARTITIONS,
    partitionsAtOnce: 1,
    onProgress,
  };
  const taker = {
    take: (recorded: Parameters<Tally['take']>[0]): boolean => {
      tally.take(recorded);
      return true;
    },
    finish: () => tally.endPartition(),
  };
  await readNodes(reading, async () => taker, signal);
}

/** What was written of policies, and of approvals, in that time. */
async function readPolicyChanges(
  { log, range }: ReportNeeds,
  { read }: Tally,
  signal: AbortSignal,
): Promise<PolicyChangesTold> {
  const changes = new PolicyChanges();
  const reading = { topics: ['policyVersions'], partition: 0, range } as const;
  for await (const { record } of readPartition(log, reading, signal)) {
    const event = read.event('policyVersions', record);
    if (event !== null) changes.take(event, record);
  }
  return changes.told();
}

/** Whom the decisions are about that a report sums up: its policies are those for them. */
const { key: SUBJECT } = TOPICS.decisions;

/** Pauses, and policies that were deleted. */
async function readPolicyPeriods(
  { log, range }: ReportNeeds,
  { read, decidedUnder }: Tally,
  signal: AbortSignal,
): Promise<Pick<AuditReport, 'policyDeletions' | 'pauses'>> {
  const { policySetOf } = await readPolicyHistory(log, signal);
  const records = await evidenceOfRecords(log, { subject: SUBJECT, range }, signal);
  read.unreadable += records.unreadable;
  const evidence = withDecisions(records, decidedUnder, (hash) => policySetOf(SUBJECT, hash));
  return { policyDeletions: deletionsIn(range, evidence), pauses: pausesIn(range, evidence) };
}
