import type { Decision, Verdict } from '../../schemas/events/decision.ts';
import { isNodeKey, nodeKey, SUBJECTS, type SubjectKind } from '../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { ObjectResult, PressureUnrelieved, Removed } from '../../schemas/events/result.ts';
import { type EventOf, TOPICS } from '../../schemas/events/topics.ts';
import { approvalKey } from '../../schemas/policy/approval.ts';
import type { AuditReport, UnrelievedNode, WouldGo } from '../../schemas/reports/audit-report.ts';
import type { ClustersReport, GivenApproval } from '../../schemas/reports/clusters-report.ts';
import { type ImageBack, ImagesPulledAgain } from '../audit/events/images-pulled-again.ts';
import { objectKey } from '../audit/events/log-position.ts';
import {
  ALL_PARTITIONS,
  inventoryTimes,
  type ReadingProgress,
  readNodes,
  type SubjectTopicsRead,
  type TopicTakers,
  takeByTopic,
} from '../audit/events/reading.ts';
import { EventReader } from '../audit/events/record-reader.ts';
import { type DecisionHeadOf, isAboutNode } from '../audit/events/recorded-decision.ts';
import { evidenceOfRecords, SetsDecidedUnder, withDecisions } from '../audit/policies/policy-evidence.ts';
import { deletionsIn, pausesIn, readPolicyHistory } from '../audit/policies/policy-history.ts';
import { addFreed, type FreedSums, freedSpace, NOTHING_FREED, withFreed } from '../decision/freed-space.ts';
import { objectsIn } from '../decision/inventory-entries.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { addUnder } from '../process/collections.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../process/durations.ts';
import { type RecordedEvent, readPartition, type TimeRange } from '../records/read-log.ts';
import { ClusterTally, Counts, REPORTED_OF_CLUSTERS } from './cluster-report.ts';

interface ReportNeeds {
  readonly log: LogReader;
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

/** What is read of a partition for a report. */
const REPORTED = {
  node: ['inventory', 'decisions', 'results'],
  cluster: REPORTED_OF_CLUSTERS,
} as const satisfies SubjectTopicsRead;
type ReportedTopic = (typeof REPORTED)[SubjectKind][number];
const REPORTED_TOPICS: readonly ReportedTopic[] = Object.values(REPORTED).flat();

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
class Tally {
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

interface Sum {
  readonly objects: number;
  readonly freed: FreedSums;
}

const NOTHING: Sum = { objects: 0, freed: NOTHING_FREED };

const add = (a: Sum, b: Sum): Sum => ({
  objects: a.objects + b.objects,
  freed: addFreed(a.freed, b.freed),
});

interface RuleSum {
  readonly kind: ObjectKind;
  readonly rule: string;
  readonly sum: Sum;
}

/** Sums what went, by rule and by minute. */
class Removals {
  readonly #byRule = new Map<string, RuleSum>();
  readonly #byMinute = new Map<number, Sum>();

  removed({ object, rule }: ObjectResult, { measured, estimatedBytes }: Removed, atMs: number): void {
    const one = { objects: 1, freed: withFreed(NOTHING_FREED, freedSpace(measured, estimatedBytes)) };
    const key = `${object.kind} ${rule}`;
    const sum = add(this.#byRule.get(key)?.sum ?? NOTHING, one);
    this.#byRule.set(key, { kind: object.kind, rule, sum });
    const minute = Math.floor(atMs / MINUTE_MS);
    this.#byMinute.set(minute, add(this.#byMinute.get(minute) ?? NOTHING, one));
  }

  total(): AuditReport['removed'] {
    return {
      ...asText([...this.#byMinute.values()].reduce(add, NOTHING)),
      byRule: [...this.#byRule.values()]
        .toSorted(mostBytesFirst)
        .map(({ kind, rule, sum }) => ({ kind, rule, ...asText(sum) })),
      bySpan: spansOf(this.#byMinute),
    };
  }
}

function mostBytesFirst({ sum: a }: RuleSum, { sum: b }: RuleSum): number {
  const [first, second] = [a.freed.freedBytes, b.freed.freedBytes];
  return Number(second > first) - Number(second < first) || b.objects - a.objects;
}

const asText = ({ objects, freed: { freedBytes, unmeasured, estimatedBytes } }: Sum) => ({
  objects,
  freedBytes: String(freedBytes),
  unmeasured,
  estimatedBytes: String(estimatedBytes),
});

/** So many bars are easy to take in. */
const MOST_SPANS = 72;

function spansOf(byMinute: ReadonlyMap<number, Sum>): AuditReport['removed']['bySpan'] {
  const minutes = [...byMinute.keys()];
  const first = minutes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const last = minutes.reduce((a, b) => Math.max(a, b), 0);
  const wholeMs = (last - first + 1) * MINUTE_MS;
  const spanMs = [MINUTE_MS, HOUR_MS].find((span) => wholeMs / span <= MOST_SPANS) ?? DAY_MS;
  const groups = Map.groupBy(byMinute, ([minute]) => Math.floor((minute * MINUTE_MS) / spanMs) * spanMs);
  const spans = [...groups].map(([startMs, group]) => ({
    startMs,
    ...asText(group.map(([, sum]) => sum).reduce(add, NOTHING)),
  }));
  return { spanMs, spans: spans.toSorted((a, b) => a.startMs - b.startMs) };
}

/** A decision follows its inventory soon; what was taken for it is among the last so many of its node. */
const KEPT_INVENTORIES = 16;

type Named = Pick<WouldGo, 'kind' | 'id' | 'name'>;
/** Objects by kind and position, as verdicts name them. */
type Listing = ReadonlyMap<ObjectKind, readonly Named[]>;

/** Sums up what policies in dry-run would have removed: each object of a node once. */
class DryRuns {
  /** By installation, what its inventories list by their ids, the newest last. */
  #nodes = new Map<string, ReadonlyMap<string, Listing>>();
  readonly #wouldGo = new Map<string, WouldGo>();
  #decisions = 0;
  #unnamed = 0;

  listed(inventory: CompleteInventory): void {
    const key = SUBJECTS.node.installationOf(inventory);
    const before = [...(this.#nodes.get(key) ?? [])];
    const listing = listingOf(inventory, knownFrom(before.at(-1)?.[1]));
    this.#nodes.set(key, new Map([...before, [inventory.id, listing] as const].slice(-KEPT_INVENTORIES)));
  }

  /** `atMs`: by the log's clock. */
  decided(decision: Decision, atMs: number): void {
    this.#decisions++;
    const listing = this.#nodes.get(SUBJECTS.node.installationOf(decision))?.get(decision.input.id);
    if (listing === undefined) this.#unnamed++;
    else this.#planned(decision, listing, atMs);
  }

  #planned(decision: Decision, listing: Listing, atMs: number): void {
    for (const verdict of decision.verdicts) {
      const object = listing.get(verdict.kind)?.[verdict.position];
      if (verdict.action === 'remove' && object) this.#add({ decision, verdict, object, atMs });
    }
  }

  #add({ decision, verdict, object, atMs }: Planned): void {
    const key = `${SUBJECTS.node.installationOf(decision)} ${objectKey(object)}`;
    const before = this.#wouldGo.get(key);
    const { estimatedBytes } = verdict.facts;
    this.#wouldGo.set(key, {
      cluster: decision.cluster,
      node: decision.node,
      ...object,
      rule: verdict.rule,
      policy: decision.policy?.name ?? '',
      estimatedBytes: typeof estimatedBytes === 'number' ? Math.max(0, Math.round(estimatedBytes)) : null,
      decisions: (before?.decisions ?? 0) + 1,
      firstMs: before?.firstMs ?? atMs,
      lastMs: atMs,
    });
  }

  /** What is known of its nodes is not needed any more. */
  endPartition(): void {
    this.#nodes = new Map();
  }

  told(): Pick<AuditReport, 'dryRun' | 'wouldGo'> {
    const wouldGo = [...this.#wouldGo.values()].toSorted(largestFirst);
    const bytes = wouldGo.reduce((sum, { estimatedBytes }) => sum + BigInt(estimatedBytes ?? 0), 0n);
    const dryRun = {
      decisions: this.#decisions,
      unnamed: this.#unnamed,
      objects: wouldGo.length,
      estimatedBytes: String(bytes),
    };
    return { dryRun, wouldGo };
  }
}

interface Planned {
  readonly decision: Decision;
  readonly verdict: Verdict;
  readonly object: Named;
  readonly atMs: number;
}

const namedKey = (object: Named): string => `${objectKey(object)} ${object.name}`;

/** So that an object that many inventories list is held once. */
const knownFrom = (listing: Listing | undefined): ReadonlyMap<string, Named> =>
  new Map([...(listing?.values() ?? [])].flat().map((object) => [namedKey(object), object]));

const listingOf = (inventory: CompleteInventory, known: ReadonlyMap<string, Named>): Listing =>
  Map.groupBy(
    objectsIn(inventory).map(({ kind, id, name }) => {
      const object = { kind, id, name };
      return known.get(namedKey(object)) ?? object;
    }),
    ({ kind }) => kind,
  );

const largestFirst = (a: WouldGo, b: WouldGo): number =>
  (b.estimatedBytes ?? 0) - (a.estimatedBytes ?? 0) || a.firstMs - b.firstMs;

interface PolicyChangesTold extends Pick<ClustersReport, 'approvals'> {
  readonly policyChanges: AuditReport['policyChanges'];
  readonly clusterPolicyChanges: ClustersReport['policyChanges'];
}

type Change = Pick<AuditReport['policyChanges'][number], 'name' | 'policyVersion' | 'hash'>;

/** What was applied and approved, in the order of the log. */
class PolicyChanges {
  readonly #ofNodes: AuditReport['policyChanges'] = [];
  readonly #ofClusters: ClustersReport['policyChanges'] = [];
  /** By record key; each that was given. */
  readonly #approvals = new Map<string, GivenApproval[]>();

  take(event: EventOf<'policyVersions'>, { timestampMs: atMs }: LogRecord): void {
    switch (event.type) {
      case 'fleetgc.policy':
        addNew(this.#ofNodes, { atMs, ...changeOf(event), mode: event.policy.mode });
        break;
      case 'fleetgc.cluster-policy':
        addNew(this.#ofClusters, { atMs, ...changeOf(event), mode: event.policy.mode });
        break;
      case 'fleetgc.approval': {
        const { cluster, what, by, reason, untilMs } = event;
        const given = { cluster, what, by, reason, atMs, untilMs, withdrawnMs: null };
        addUnder(this.#approvals, approvalKey(event), given);
        break;
      }
      case 'fleetgc.policy-deletion':
        this.#withdraw(event.key, atMs);
        break;
      case 'fleetgc.pause':
      case 'fleetgc.policy-set':
        break;
    }
  }

  told(): PolicyChangesTold {
    const approvals = [...this.#approvals.values()].flat().toSorted((a, b) => a.atMs - b.atMs);
    return { policyChanges: this.#ofNodes, clusterPolicyChanges: this.#ofClusters, approvals };
  }

  #withdraw(key: string, atMs: number): void {
    const given = this.#approvals.get(key) ?? [];
    const last = given.at(-1);
    if (last !== undefined && atMs < last.untilMs)
      this.#approvals.set(key, [...given.slice(0, -1), { ...last, withdrawnMs: atMs }]);
  }
}

interface AppliedPolicy {
  readonly policy: { readonly name: string };
  readonly policyVersion: number;
  readonly hash: string;
}

const changeOf = ({ policy: { name }, policyVersion, hash }: AppliedPolicy): Change => ({
  name,
  policyVersion,
  hash,
});

/** Written once more as it was: it was signed again. */
function addNew<One extends Change>(changes: One[], change: One): void {
  const before = changes.findLast(({ name }) => name === change.name);
  if (before?.policyVersion !== change.policyVersion || before.hash !== change.hash) changes.push(change);
}
