import type { LogRecord } from '../../../packages/event-log/port.ts';
import { parseRecord } from '../../../packages/pipeline/parse/parse-record.ts';
import type { RecordedEvent } from '../../../packages/pipeline/read-log.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import type { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { createPulledAgain, type ImageBack } from '../pulled-again.ts';
import { type DecisionHead, readOnDecisions } from '../verify/recorded-decision.ts';
import { createSeen } from '../verify/seen.ts';
import { createCounts } from './counts.ts';
import { DryRuns } from './dry-runs.ts';
import { createSetSightings } from './policy-signs.ts';
import { createRemovals } from './removals.ts';
import { createUnrelieved } from './unrelieved.ts';

/** What is read of a partition for a report. */
export const REPORTED_TOPICS = ['inventory', 'decisions', 'results'] as const satisfies readonly TopicId[];

type Told = Pick<
  AuditReport,
  | 'decisions'
  | 'removed'
  | 'dryRun'
  | 'wouldGo'
  | 'refused'
  | 'failed'
  | 'refusedCommands'
  | 'unrelieved'
  | 'pulledAgain'
>;
type Stayed<List extends 'refused' | 'failed'> = Omit<AuditReport[List][number], 'objects'>;

/** What became of records, for `read`. */
export interface ReadCounts {
  records: number;
  unreadable: number;
  readonly nodes: Set<string>;
  firstMs: number | null;
  lastMs: number | null;
}

export type Tally = ReturnType<typeof createTally>;

/** Sums up records, partition by partition, each in the order of `readPartition`. */
export function createTally() {
  const read: ReadCounts = { records: 0, unreadable: 0, nodes: new Set(), firstMs: null, lastMs: null };
  const decisions = createCounts<Omit<AuditReport['decisions'][number], 'decisions'>>(
    ({ decider, outcome }) => `${decider} ${outcome}`,
  );
  const sightings = createSetSightings();
  const removals = createRemovals();
  const dryRuns = new DryRuns();
  const refused = createCounts<Stayed<'refused'>>(({ kind, reason }) => `${kind} ${reason}`);
  const failed = createCounts<Stayed<'failed'>>(({ kind, reason }) => `${kind} ${reason}`);
  const refusedCommands = createCounts<AuditReport['refusedCommands'][number]['reason']>((reason) => reason);
  const unrelieved = createUnrelieved();
  const back: ImageBack[] = [];
  let pulledAgain = createPulledAgain();
  let seen = createSeen();

  /** Any message may lie on the log twice. */
  const isNew = ({ id }: { readonly id: string }, record: LogRecord): boolean =>
    seen(`${record.topic} ${id}`, record, '').kind === 'first';

  const eventOf = <Id extends TopicId>(topicId: Id, record: LogRecord): EventOf<Id> | null => {
    const parsed = parseRecord(topicId, record);
    if (parsed.ok) return parsed.event;
    read.unreadable++;
    return null;
  };

  const takeObject = (
    event: Extract<EventOf<'results'>, { type: 'fleetgc.node.object-result' }>,
    atMs: number,
  ) => {
    const { object, result } = event;
    if (result.outcome === 'refused') refused.add({ kind: object.kind, reason: result.reason });
    if (result.outcome === 'failed') failed.add({ kind: object.kind, reason: result.reason });
    if (result.outcome !== 'removed') return;
    removals.removed(event, result, atMs);
    if (object.kind === 'image') pulledAgain.removed(event, atMs);
  };

  const takeDecision = ({ decider, outcome, policySetHash }: DecisionHead, record: LogRecord): void => {
    decisions.add({ decider: decider.name, outcome });
    sightings.decided(policySetHash, record.timestampMs);
    if (outcome === 'dry-run') takeDryRun(record);
  };

  const takeDryRun = (record: LogRecord): void => {
    const event = eventOf('decisions', record);
    if (event?.type === 'fleetgc.node.decision') dryRuns.decided(event, record.timestampMs);
  };

  const takers: Record<(typeof REPORTED_TOPICS)[number], (record: LogRecord) => void> = {
    inventory: (record) => {
      const event = eventOf('inventory', record);
      if (event?.status !== 'complete') return;
      back.push(...pulledAgain.listed(event, record.timestampMs));
      dryRuns.listed(event);
    },
    decisions: (record) => {
      const on = readOnDecisions(record);
      if (on.kind === 'rejected') read.unreadable++;
      else if (on.kind === 'unrelieved') {
        if (isNew(on.event, record)) unrelieved.add(on.event, record.timestampMs);
      } else if (isNew(on.decision.head, record)) takeDecision(on.decision.head, record);
    },
    results: (record) => {
      const event = eventOf('results', record);
      if (event === null || !isNew(event, record)) return;
      if (event.type === 'fleetgc.node.object-result') takeObject(event, record.timestampMs);
      if (event.type === 'fleetgc.node.pressure-unrelieved') unrelieved.add(event, record.timestampMs);
      if (event.type === 'fleetgc.node.command-result' && event.result.outcome === 'refused')
        refusedCommands.add(event.result.reason);
    },
  };

  return {
    read,
    sightings,
    take: ({ topicId, record }: RecordedEvent): void => {
      count(read, record);
      const reported = REPORTED_TOPICS.find((id) => id === topicId);
      if (reported !== undefined) takers[reported](record);
    },
    /** What was remembered of its nodes is not needed any more. */
    endPartition: (): void => {
      pulledAgain = createPulledAgain();
      dryRuns.endPartition();
      seen = createSeen();
    },
    told: (): Told => ({
      decisions: decisions.mostFirst().map(({ thing, count: number }) => ({ ...thing, decisions: number })),
      removed: removals.total(),
      ...dryRuns.told(),
      refused: refused.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      failed: failed.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      refusedCommands: refusedCommands
        .mostFirst()
        .map(({ thing, count: commands }) => ({ reason: thing, commands })),
      unrelieved: unrelieved.all(),
      pulledAgain: back
        .map(({ node, ...image }) => ({ ...node, ...image }))
        .toSorted((a, b) => a.removedAtMs - b.removedAtMs),
    }),
  };
}

function count(read: ReadCounts, { key, timestampMs }: LogRecord): void {
  read.records++;
  if (key !== null) read.nodes.add(key);
  read.firstMs = Math.min(read.firstMs ?? timestampMs, timestampMs);
  read.lastMs = Math.max(read.lastMs ?? timestampMs, timestampMs);
}
