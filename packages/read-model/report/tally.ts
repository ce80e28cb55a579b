import { isNodeKey, nodeKey, type SubjectKind } from '../../../schemas/events/identity.ts';
import type { ObjectResult, PressureUnrelieved } from '../../../schemas/events/result.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import type { AuditReport, UnrelievedNode } from '../../../schemas/reports/audit-report.ts';
import { EventReader } from '../../audit/events/event-reader.ts';
import { type ImageBack, ImagesPulledAgain } from '../../audit/events/images-pulled-again.ts';
import { type SubjectTopicsRead, type TopicTakers, takeByTopic } from '../../audit/events/reading.ts';
import { type DecisionHeadOf, isAboutNode } from '../../audit/events/recorded-decision.ts';
import { SetsDecidedUnder } from '../../audit/policies/policy-evidence.ts';
import type { LogRecord } from '../../log/port.ts';
import type { RecordedEvent } from '../../records/read-log.ts';
import { ClusterTally, REPORTED_OF_CLUSTERS } from './clusters/cluster-tally.ts';
import { Counts } from './counts.ts';
import { DryRuns } from './dry-runs.ts';
import { Removals } from './removals.ts';

/** What is read of a partition for a report. */
const REPORTED = {
  node: ['inventory', 'decisions', 'results'],
  cluster: REPORTED_OF_CLUSTERS,
} as const satisfies SubjectTopicsRead;
type ReportedTopic = (typeof REPORTED)[SubjectKind][number];
export const REPORTED_TOPICS: readonly ReportedTopic[] = Object.values(REPORTED).flat();

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

/** Sums up records, partition by partition, each in the order of `readPartition`. */
export class Tally {
  readonly read = new EventReader();
  readonly nodes = new Set<string>();
  readonly clusters = new ClusterTally(this.read);
  readonly decidedUnder = new SetsDecidedUnder();
  readonly #decisions = new Counts<Omit<AuditReport['decisions'][number], 'decisions'>>(
    ({ decider, outcome }) => `${decider} ${outcome}`,
  );
  readonly #removals = new Removals();
  readonly #dryRuns = new DryRuns();
  readonly #refused = new Counts<Stayed<'refused'>>(({ kind, reason }) => `${kind} ${reason}`);
  readonly #failed = new Counts<Stayed<'failed'>>(({ kind, reason }) => `${kind} ${reason}`);
  readonly #refusedCommands = new Counts<AuditReport['refusedCommands'][number]['reason']>(
    (reason) => reason,
  );
  readonly #unrelieved = new UnrelievedNodes();
  readonly #back: ImageBack[] = [];
  #pulledAgain = new ImagesPulledAgain();

  readonly #takers: TopicTakers<ReportedTopic, void> = {
    inventory: (record) => this.#takeInventory(record),
    decisions: (record) => this.#takeOnDecisions(record),
    results: (record) => this.#takeResult(record),
    ...this.clusters.takers,
  };

  take(recorded: RecordedEvent): void {
    const { record } = recorded;
    this.read.count(record);
    if (record.key !== null && isNodeKey(record.key)) this.nodes.add(record.key);
    takeByTopic(this.#takers, recorded);
  }

  /** What is known of its nodes is not needed any more. */
  endPartition(): void {
    this.#pulledAgain = new ImagesPulledAgain();
    this.#dryRuns.endPartition();
    this.clusters.endPartition();
    this.read.endPartition();
  }

  told(): Told {
    return {
      decisions: this.#decisions.mostFirst().map(({ thing, count: decisions }) => ({ ...thing, decisions })),
      removed: this.#removals.total(),
      ...this.#dryRuns.told(),
      refused: this.#refused.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      failed: this.#failed.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      refusedCommands: this.#refusedCommands
        .mostFirst()
        .map(({ thing, count: commands }) => ({ reason: thing, commands })),
      unrelieved: this.#unrelieved.all(),
      pulledAgain: this.#back
        .map(({ node, ...image }) => ({ ...node, ...image }))
        .toSorted((a, b) => a.removedAtMs - b.removedAtMs),
    };
  }

  #takeInventory(record: LogRecord): void {
    const event = this.read.event('inventory', record);
    if (event?.status !== 'complete') return;
    this.#back.push(...this.#pulledAgain.listed(event, record.timestampMs));
    this.#dryRuns.listed(event);
  }

  #takeOnDecisions(record: LogRecord): void {
    const on = this.read.onDecisions(record);
    if (on?.kind === 'unrelieved') {
      if (this.read.isNew(on.event, record)) this.#unrelieved.add(on.event, record.timestampMs);
    } else if (on !== null && isAboutNode(on.decision.head) && this.read.isNew(on.decision.head, record))
      this.#takeDecision(on.decision.head, record);
  }

  #takeDecision({ decider, outcome, policySetHash }: DecisionHeadOf<'node'>, record: LogRecord): void {
    this.#decisions.add({ decider: decider.name, outcome });
    this.decidedUnder.decided(policySetHash, record.timestampMs);
    if (outcome !== 'dry-run') return;
    const event = this.read.event('decisions', record);
    if (event?.type === 'fleetgc.node.decision') this.#dryRuns.decided(event, record.timestampMs);
  }

  #takeResult(record: LogRecord): void {
    const event: EventOf<'results'> | null = this.read.newEvent('results', record);
    switch (event?.type) {
      case 'fleetgc.node.object-result':
        this.#takeObject(event, record.timestampMs);
        break;
      case 'fleetgc.node.pressure-unrelieved':
        this.#unrelieved.add(event, record.timestampMs);
        break;
      case 'fleetgc.node.command-result':
        if (event.result.outcome === 'refused') this.#refusedCommands.add(event.result.reason);
        break;
      case 'fleetgc.node.removal-intent':
      case 'fleetgc.node.pass-failed':
      case 'fleetgc.node.reclaim-continues':
      case undefined:
        break;
    }
  }

  #takeObject(event: ObjectResult, atMs: number): void {
    const { object, result } = event;
    if (result.outcome === 'refused') this.#refused.add({ kind: object.kind, reason: result.reason });
    if (result.outcome === 'failed') this.#failed.add({ kind: object.kind, reason: result.reason });
    if (result.outcome !== 'removed') return;
    this.#removals.removed(event, result, atMs);
    if (object.kind === 'image') this.#pulledAgain.removed(event, atMs);
  }
}

/** Nodes that could not be relieved, each with what held its space the last time. */
class UnrelievedNodes {
  readonly #nodes = new Map<string, UnrelievedNode>();

  add(event: PressureUnrelieved, atMs: number): void {
    const key = nodeKey(event);
    const { cluster, node, holders, reclaim } = event;
    const before = this.#nodes.get(key);
    const reclaims = (before?.reclaims ?? 0) + 1;
    if (before !== undefined && before.lastAtMs > atMs) this.#nodes.set(key, { ...before, reclaims });
    else
      this.#nodes.set(key, {
        cluster,
        node,
        reclaims,
        lastAtMs: atMs,
        signal: reclaim.cause.signal,
        holders,
      });
  }

  /** The most often short of space first. */
  all(): UnrelievedNode[] {
    return [...this.#nodes.values()].toSorted((a, b) => b.reclaims - a.reclaims);
  }
}
