import { SUBJECTS } from '../../schemas/events/identity.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { type Approved, approvedName } from '../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import type { DashboardHeld } from '../../schemas/reports/dashboard-clusters.ts';
import type { HeldList, HeldProof } from '../../schemas/reports/policy-list.ts';
import { partitionOf } from '../log/partition.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { onEmbeddedLog } from '../policy/ending-commands.ts';
import { readPoliciesBy, type StoredPolicies } from '../policy/stored-policies.ts';
import { DAY_MS } from '../process/durations.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { type RecordedEvent, readPartition } from '../records/read-log.ts';
import type { Trust } from '../records/trust/trust.ts';
import { ToldOrder } from './censuses.ts';
import { CANDIDATE_TOPICS, type CandidateTopic, HeldObjects } from './held-objects.ts';
import {
  approveCommand,
  approvedText,
  type Hold,
  holdsOf,
  neededHours,
  shownMark,
  widthOf,
} from './holds.ts';
import type { LogSource } from './read.ts';
import { recordedTrust } from './trust.ts';

/** What is held in one cluster. */
export interface HeldCluster {
  readonly cluster: string;
  readonly clusterInstance: string;
  /** When its agent was heard last, by the log's clock. */
  readonly heardAtMs: number;
  /** Whose word it is. */
  readonly proof: HeldProof;
  readonly holds: readonly Hold[];
  /** The last fact of one of its services would take more steps than a decision may. */
  readonly tooCostly: boolean;
}

interface Reading {
  /** `null`: all. */
  readonly cluster: string | null;
  /** Epoch milliseconds, by the log's clock. */
  readonly fromMs: number;
  /** Those that are active now, with their approvals. */
  readonly policies: PolicySetOf<'cluster'>;
  /** Whose signatures count; `null` where nobody checks them. */
  readonly roots: TrustRoots | null;
  /** Epoch milliseconds: which approvals have ended. */
  readonly nowMs: number;
}

/** What the facts since then hold under these policies, by clusters. */
export async function readHolds(
  log: LogReader,
  { cluster, fromMs, policies, roots, nowMs }: Reading,
  signal: AbortSignal,
): Promise<readonly HeldCluster[]> {
  const trust = await recordedTrust(roots, log, signal);
  const clusters = new Map<string, ClusterReading>();
  const readingOf = (name: string): ClusterReading => {
    const reading = clusters.get(name) ?? new ClusterReading(policies, { trust, nowMs });
    clusters.set(name, reading);
    return reading;
  };
  for (const partition of partitionsOf(cluster)) {
    const topics = [...CANDIDATE_TOPICS, 'clusterResults', 'clusterCensus'] as const;
    const events = readPartition(log, { topics, partition, range: { fromMs, toMs: null } }, signal);
    for await (const event of events) {
      const { key } = event.record;
      if (key !== null && (cluster === null || key === cluster)) readingOf(key).take(event);
    }
  }
  return [...clusters].flatMap(([name, reading]) => reading.held(name)).toSorted(byName);
}

const partitionsOf = (cluster: string | null): readonly number[] =>
  cluster === null
    ? Array.from({ length: SUBJECTS.cluster.partitions }, (_, partition) => partition)
    : [partitionOf(TOPICS.clusterOwnership.name, SUBJECTS.cluster.keyOf({ cluster }))];

/** What is reported of one cluster: by records with a signature that counts and were not put back, and by all of them. */
class ClusterReading {
  readonly #trust: Trust | null;
  readonly #signed: HeldObjects;
  readonly #signedOrder = new ToldOrder();
  readonly #all: HeldObjects;

  constructor(
    policies: PolicySetOf<'cluster'>,
    { trust, nowMs }: { readonly trust: Trust | null; readonly nowMs: number },
  ) {
    this.#trust = trust;
    this.#signed = new HeldObjects(policies, nowMs);
    this.#all = new HeldObjects(policies, nowMs);
  }

  take({ topicId, record }: RecordedEvent): void {
    const isSigned = this.#trust?.authenticate(topicId, record).ok ?? false;
    const candidates = CANDIDATE_TOPICS.find((each) => each === topicId);
    if (candidates !== undefined) this.#takeFact(candidates, record, isSigned);
    else if (topicId === 'clusterResults') takeResults(record, isSigned ? this.#both : [this.#all]);
    else this.#takeCensus(record, isSigned);
  }

  get #both(): readonly HeldObjects[] {
    return [this.#signed, this.#all];
  }

  #takeFact(topic: CandidateTopic, record: LogRecord, isSigned: boolean): void {
    const parsed = parseRecord(topic, record);
    if (!parsed.ok) return;
    const atMs = record.timestampMs;
    const counts = isSigned && this.#signedOrder.isNews(parsed.event, atMs);
    for (const each of counts ? this.#both : [this.#all]) each.fact(parsed.event, atMs);
  }

  /** An agent reports held objects again; its census shows that it no longer does. */
  #takeCensus(record: LogRecord, isSigned: boolean): void {
    const parsed = parseRecord('clusterCensus', record);
    if (!parsed.ok) return;
    const atMs = record.timestampMs;
    const counts = isSigned && this.#signedOrder.isNews(parsed.event, atMs);
    for (const each of counts ? this.#both : [this.#all]) each.heard(atMs);
  }

  /** Where a key of the cluster signed some of it, what no key signed counts for nothing. */
  held(cluster: string): readonly HeldCluster[] {
    const isSigned = this.#signed.instance !== null;
    const objects = isSigned ? this.#signed : this.#all;
    const { instance, heardMs, held, isTooCostly: tooCostly } = objects;
    if (instance === null) return [];
    const unsigned = this.#trust === null ? 'not-checked' : 'unsigned';
    const proof = isSigned ? 'signed' : unsigned;
    const told = { cluster, clusterInstance: instance, heardAtMs: heardMs };
    return [{ ...told, proof, holds: holdsOf(held), tooCostly }];
  }
}

function takeResults(record: LogRecord, readings: readonly HeldObjects[]): void {
  const parsed = parseRecord('clusterResults', record);
  if (!parsed.ok || parsed.event.type !== 'fleetgc.cluster.object-results') return;
  for (const each of readings) each.results(parsed.event, record.timestampMs);
}

const byName = (a: HeldCluster, b: HeldCluster): number => (a.cluster < b.cluster ? -1 : 1);

interface Asked {
  /** `null`: all. */
  readonly cluster: string | null;
  /** How far back facts are read. Epoch milliseconds, by the log's clock. */
  readonly fromMs: number;
  /** Whose signatures count; `null` where nobody checks them. */
  readonly roots: TrustRoots | null;
  readonly nowMs: number;
  /** The same command for the log that is read. */
  readonly onLog: (command: string) => string;
}

interface ReadHeld {
  readonly stored: StoredPolicies;
  readonly held: HeldList;
}

/** What is held under the active policies, each with the command that approves it, and what is approved. */
export async function readHeldList(
  log: LogReader,
  { cluster, fromMs, roots, nowMs, onLog }: Asked,
  signal: AbortSignal,
): Promise<ReadHeld> {
  const stored = await readPoliciesBy(roots, log, signal);
  const policies = stored.sets.cluster;
  const found = await readHolds(log, { cluster, fromMs, policies, roots, nowMs }, signal);
  const clusters = found.map((each) => {
    const policy = policyFor(each.cluster, policies);
    return {
      ...each,
      holds: each.holds.map((hold) => {
        const command = approveCommand(each.cluster, hold, policy);
        return { ...hold, approve: command === null ? null : onLog(command) };
      }),
    };
  });
  const approvals = approvalsNow(stored.approvals.values(), nowMs).filter(
    (each) => cluster === null || each.cluster === cluster,
  );
  return { stored, held: { type: 'fleetgc.held', version: 1, clusters, approvals: [...approvals] } };
}

/** Those that have not ended by this clock, epoch milliseconds. */
export const approvalsNow = <Approval extends { readonly untilMs: number }>(
  approvals: Iterable<Approval>,
  nowMs: number,
): readonly Approval[] => [...approvals].filter(({ untilMs }) => nowMs < untilMs);

/** The policy for a cluster, whether or not a pause outranks it; `null` where none selects it. */
function policyFor(cluster: string, set: PolicySetOf<'cluster'>): ClusterPolicy | null {
  const selected = selectPolicy({ ...set, pauses: [] }, { cluster });
  return selected.kind === 'policy' ? selected.record.policy : null;
}

/** What `fleetgc held --cluster NAME` tells, from the log as it is, and the limits of the policy that holds there. */
export async function readHeld(
  { from, roots, nowMs }: LogSource,
  cluster: string,
  signal: AbortSignal,
): Promise<DashboardHeld> {
  const onLog = (command: string): string =>
    from.kind === 'embedded' ? onEmbeddedLog(command, from.path) : command;
  const asked = { cluster, fromMs: nowMs - DAY_MS, roots, nowMs, onLog };
  const { stored, held } = await readHeldList(from.log, asked, signal);
  const policy = policyFor(cluster, stored.sets.cluster);
  return {
    readAtMs: nowMs,
    held,
    holdWords: held.clusters.flatMap(({ holds }) =>
      holds.map(({ what }) => what && { ...wordsOf(what), neededHours: neededHours(what, policy) }),
    ),
    approvalWords: held.approvals.map(({ what }) => wordsOf(what)),
    policy: policy && {
      name: policy.name,
      mode: policy.mode,
      profile: policy.profile,
      limits: policy.limits,
    },
  };
}

const wordsOf = (what: Approved): DashboardHeld['approvalWords'][number] => ({
  text: approvedText(what),
  name: approvedName(what),
  as: what.kind,
  objects: widthOf(what),
  shown: shownMark(what),
});
