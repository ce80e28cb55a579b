import type { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { Census } from '../../schemas/events/census.ts';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { approvalsInForce } from '../../schemas/policy/approval.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import type { ClusterStatus, ClusterWarning } from '../../schemas/reports/cluster-status.ts';
import { type DashboardCluster, DashboardClusters } from '../../schemas/reports/dashboard-clusters.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import type { StoredPolicies } from '../policy/stored-policies.ts';
import { leastOf } from '../process/collections.ts';
import { DAY_MS, MINUTE_MS } from '../process/durations.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import type { RecordedEvent } from '../records/read-log.ts';
import { counted } from '../text/counted.ts';
import { censusesOfTheDay } from './censuses.ts';
import { CLUSTER_SILENT_AFTER_MS } from './fleet-watch.ts';
import type { UnlocatedSubject } from './latest-facts.ts';
import { unreadKindsIn } from './project.ts';
import { type HeldCluster, readHolds } from './read-holds.ts';
import { COARSE_STEP_MS, FINE_STEP_MS } from './rows.ts';
import { partitionsOf, scan } from './scan.ts';

/** What the log tells of a cluster lately. */
export interface ReportingCluster {
  readonly cluster: string;
  readonly clusterInstance: string;
  /** By the log's clock. */
  readonly heardMs: number;
  readonly census: Census | null;
  readonly held: HeldCluster | null;
  readonly unanswered: { readonly commands: number; readonly sinceMs: number | null };
}

/** Agents tell each candidate, and how their cluster stands, within ten minutes. */
const TOLD_WITHIN_MS = 30 * MINUTE_MS;

/** How what is held is judged. */
interface Judging {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly policies: PolicySetOf<'cluster'>;
  /** Whose signatures count; `null` where nobody checks them. */
  readonly roots: TrustRoots | null;
}

/** Those that were heard in the last day. */
interface ReportingClusters {
  /** By their names. */
  readonly clusters: readonly ReportingCluster[];
  /** Clusters of which nothing is known but that they were there. */
  readonly unlocated: readonly UnlocatedSubject[];
}

export async function readReportingClusters(
  log: LogReader,
  { nowMs, policies, roots }: Judging,
  signal: AbortSignal,
): Promise<ReportingClusters> {
  const fromMs = nowMs - TOLD_WITHIN_MS;
  const { censuses, unlocated } = await censusesOfTheDay(log, { nowMs, roots }, signal);
  const holds = await readHolds(log, { cluster: null, fromMs, policies, roots, nowMs }, signal);
  const unanswered = await readUnanswered(log, { fromMs, nowMs }, signal);
  const heldOf = new Map(holds.map((held) => [held.cluster, held]));
  const names = [...new Set([...censuses.keys(), ...heldOf.keys()])].toSorted();
  const clusters = names.flatMap((cluster) => {
    const told = censuses.get(cluster);
    const held = heldOf.get(cluster) ?? null;
    const clusterInstance = held?.clusterInstance ?? told?.census.clusterInstance;
    if (clusterInstance === undefined) return [];
    const heardMs = Math.max(told?.heardMs ?? 0, held?.heardAtMs ?? 0);
    const census = told?.census ?? null;
    const open = unanswered.get(cluster) ?? [];
    return {
      cluster,
      clusterInstance,
      heardMs,
      census,
      held,
      unanswered: { commands: open.length, sinceMs: open.length === 0 ? null : leastOf(open) },
    };
  });
  // A census that no key signed may stand there to hide that the signed one is not found.
  const isShown = (key: string): boolean => names.includes(key) && censuses.get(key)?.proof !== 'unsigned';
  return { clusters, unlocated: unlocated.filter(({ key }) => !isShown(key)) };
}

/** Names of the clusters that told of themselves in the last day, or left a position by which nothing is found. */
export const readClusterNames = async (
  log: LogReader,
  nowMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const { censuses, unlocated } = await censusesOfTheDay(log, { nowMs, roots: null }, signal);
  return [...new Set([...censuses.keys(), ...unlocated.map(({ key }) => key)])].toSorted();
};

/** When commands were given whose time is over, and that have no result of their own, by cluster. */
async function readUnanswered(
  log: LogReader,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const open = new Map<string, OpenCommand>();
  const part = {
    topics: ['clusterCommands', 'clusterResults'],
    partitions: partitionsOf('cluster'),
    ranges: [{ fromMs, toMs: null }],
  } as const;
  const note = ({ topicId, record }: RecordedEvent): void =>
    topicId === 'clusterCommands' ? noteCommand(open, record) : noteAnswer(open, record);
  await scan(log, part, note, signal);
  const over = [...open.values()].filter(({ untilMs }) => untilMs < nowMs);
  const byCluster = Map.groupBy(over, ({ cluster }) => cluster);
  return new Map([...byCluster].map(([cluster, all]) => [cluster, all.map(({ givenMs }) => givenMs)]));
}

interface OpenCommand {
  readonly cluster: string;
  /** Both by the log's clock. */
  readonly givenMs: number;
  readonly untilMs: number;
}

function noteCommand(open: Map<string, OpenCommand>, record: LogRecord): void {
  const parsed = parseRecord('clusterCommands', record);
  if (!parsed.ok) return;
  const { id, cluster, lifetimeMs } = parsed.event;
  const givenMs = record.timestampMs;
  open.set(id, { cluster, givenMs, untilMs: givenMs + lifetimeMs });
}

function noteAnswer(open: Map<string, OpenCommand>, record: LogRecord): void {
  const parsed = parseRecord('clusterResults', record);
  if (parsed.ok && parsed.event.type === 'fleetgc.cluster.command-result')
    open.delete(parsed.event.commandId);
}

/** Whether a cluster counts as silent that was heard last at `heardMs`. */
const isSilentCluster = (heardMs: number, nowMs: number): boolean =>
  nowMs - heardMs > CLUSTER_SILENT_AFTER_MS;

/** How a cluster stands; `stored` is `null` where the policies cannot be read. */
export function clusterStatus(
  reporting: ReportingCluster,
  stored: StoredPolicies | null,
  nowMs: number,
): ClusterStatus {
  const { cluster, clusterInstance, heardMs, census, held, unanswered } = reporting;
  const holds = held?.holds ?? [];
  const status = {
    cluster,
    clusterInstance,
    heardMs,
    isSilent: isSilentCluster(heardMs, nowMs),
    objects: census?.totals.objects ?? null,
    ...selectionOf(cluster, stored),
    held: holds.reduce((sum, { objects }) => sum + objects, 0),
    heldSinceMs: holds.length === 0 ? null : leastOf(holds.map(({ sinceMs }) => sinceMs)),
    approvals: approvalsInForce([...(stored?.approvals.values() ?? [])], reporting, nowMs).length,
    unanswered: unanswered.commands,
    unansweredSinceMs: unanswered.sinceMs,
  };
  return { ...status, warnings: warningsOf(status, reporting) };
}

function selectionOf(
  cluster: string,
  stored: StoredPolicies | null,
): Pick<ClusterStatus, 'policy' | 'pausedBecause'> {
  if (stored === null) return { policy: null, pausedBecause: null };
  const set = stored.sets.cluster;
  const paused = selectPolicy(set, { cluster });
  const selected = selectPolicy({ ...set, pauses: [] }, { cluster });
  return {
    policy:
      selected.kind === 'policy'
        ? {
            name: selected.record.policy.name,
            policyVersion: selected.record.policyVersion,
            mode: selected.record.policy.mode,
          }
        : null,
    pausedBecause: paused.kind === 'paused' ? paused.pause.reason : null,
  };
}

type Known = Omit<ClusterStatus, 'warnings'>;

function warningsOf(
  { isSilent, held, unanswered }: Known,
  { census, held: reported }: ReportingCluster,
): ClusterWarning[] {
  const unread = census === null ? 0 : unreadKindsIn(census.findings);
  const stuck = census?.findings.stuckFinalizers.count ?? 0;
  return [
    ...warning('silent', isSilent, 'its agent is not heard any more: does it run, and reach the log?'),
    ...warning('held', held > 0, `${counted(held, 'object is', 'objects are')} held: see fleetgc held`),
    ...warning(
      'too-costly',
      reported?.tooCostly ?? false,
      'a decision would take too many steps, so everything is kept: give its policy fewer names',
    ),
    ...warning(
      'unanswered',
      unanswered > 0,
      `${counted(unanswered, 'command')} of the last half hour ended without an answer: does its executor run?`,
    ),
    ...warning(
      'unread-kinds',
      unread > 0,
      `${counted(unread, 'kind or group', 'kinds or groups')} cannot be read: see fleetgc cluster report`,
    ),
    ...warning(
      'stuck-finalizers',
      stuck > 0,
      `${counted(stuck, 'object waits', 'objects wait')} for finalizers of others: see fleetgc cluster report`,
    ),
  ];
}

const warning = (kind: ClusterWarning['kind'], is: boolean, message: string): ClusterWarning[] =>
  is ? [{ kind, message }] : [];

/** An agent tells each candidate again within ten minutes. */
const TOLD_AGAIN_WITHIN_MS = 15 * MINUTE_MS;

/** From where clusters are told. */
export interface ClustersNeeds {
  readonly db: DatabaseSync;
  /** As `fleetgc status` told them last; `null`: it did not yet, or this is an archive. */
  readonly statuses: readonly ClusterStatus[] | null;
  readonly nowMs: number;
}

interface ClustersPage {
  readonly after: string | null;
  readonly limit: number;
  /** Since when to count what was removed. */
  readonly since: readonly number[];
}

type Told = DashboardClusters['clusters'][number];
type HeardCluster = Omit<Told, 'found' | 'removed'>;

/** Every cluster that told of itself, by name. */
export function readClusters(
  needs: ClustersNeeds,
  { after, limit, since }: ClustersPage,
  knownSinceMs: number | null,
): DashboardClusters {
  const names = clusterNames(needs).filter((name) => after === null || compareText(name, after) > 0);
  const page = names.slice(0, limit);
  return {
    readAtMs: needs.nowMs,
    knownSinceMs,
    clusters: page.flatMap((cluster) => {
      const heard = readHeard(needs, cluster);
      if (heard === null) return [];
      return [
        { ...heard, found: foundOf(needs.db, cluster), removed: removedSince(needs.db, cluster, since) },
      ];
    }),
    after: names.length > page.length ? (page.at(-1) ?? null) : null,
  };
}

const clusterNames = ({ db, statuses }: ClustersNeeds): readonly string[] => {
  const told = db
    .prepare('SELECT cluster FROM censuses')
    .all()
    .map(({ cluster }) => String(cluster));
  return [...new Set([...told, ...(statuses ?? []).map(({ cluster }) => cluster)])].toSorted(compareText);
};

const CENSUS = 'SELECT at_ms, session FROM censuses WHERE cluster = ?';
const SESSION = 'SELECT min(at_ms) AS since FROM census_points WHERE cluster = ? AND session = ?';

/** `null` for a cluster of which nothing is known. */
function readHeard({ db, statuses, nowMs }: ClustersNeeds, cluster: string): HeardCluster | null {
  const status = statuses?.find((each) => each.cluster === cluster) ?? null;
  const census = db.prepare(CENSUS).get(cluster);
  if (status === null && census === undefined) return null;
  const censusMs = Number(census?.at_ms ?? 0);
  const heardMs = Math.max(status?.heardMs ?? 0, censusMs);
  const session = census === undefined ? null : String(census.session);
  const sinceMs = Number(db.prepare(SESSION).get(cluster, session)?.since ?? censusMs);
  return {
    cluster,
    heardMs,
    isSilent: isSilentCluster(heardMs, nowMs),
    status,
    toldBy: session === null ? null : { session, sinceMs },
    candidates: candidatesOf(db, cluster, heardMs),
  };
}

const CANDIDATES = `SELECT count(*) AS candidates FROM cluster_objects AS told
  LEFT JOIN cluster_settled AS settled ON settled.cluster = told.cluster AND settled.uid = told.uid
    AND (settled.at_ms, settled.offset) > (told.at_ms, told.offset)
  WHERE told.cluster = ? AND told.at_ms > ? AND settled.uid IS NULL`;

const candidatesOf = (db: DatabaseSync, cluster: string, heardMs: number): number =>
  Number(db.prepare(CANDIDATES).get(cluster, heardMs - TOLD_AGAIN_WITHIN_MS)?.candidates ?? 0);

const Found = DashboardClusters.shape.clusters.element.shape.found;

function foundOf(db: DatabaseSync, cluster: string): Told['found'] {
  const found = db.prepare('SELECT found FROM censuses WHERE cluster = ?').get(cluster)?.found;
  return typeof found === 'string' ? Found.parse(JSON.parse(found)) : null;
}

const REMOVED = `SELECT coalesce(sum(objects), 0) AS objects FROM cluster_outcomes
  WHERE cluster = ? AND at_ms >= ? AND outcome IN ('removed', 'accepted')`;

const removedSince = (db: DatabaseSync, cluster: string, since: readonly number[]): number[] =>
  since.map((fromMs) => Number(db.prepare(REMOVED).get(cluster, fromMs)?.objects ?? 0));

/** What `fleetgc cluster report -o json` prints of this cluster. */
function storedCensus(db: DatabaseSync, cluster: string): Census | null {
  const found = db.prepare('SELECT census FROM censuses WHERE cluster = ?').get(cluster)?.census;
  return found instanceof Uint8Array
    ? Census.parse(JSON.parse(zstdDecompressSync(found).toString('utf8')))
    : null;
}

/** More curves cannot be told apart. */
const MOST_CURVES = 6;

/** How one cluster stands, and how many objects it had; `null` where nothing is known of it. */
export function readCluster(needs: ClustersNeeds, cluster: string): DashboardCluster | null {
  const heard = readHeard(needs, cluster);
  if (heard === null) return null;
  const census = storedCensus(needs.db, cluster);
  const kinds = (census?.kinds ?? []).map((kind) => ({ kind: kindName(kind), objects: kind.objects }));
  const curves = curvesOf(
    pointsOf(needs.db, cluster),
    kinds.slice(0, MOST_CURVES).map(({ kind }) => kind),
  );
  return { ...heard, readAtMs: needs.nowMs, census, curves, kinds };
}

interface Point {
  readonly atMs: number;
  readonly objects: number;
  /** `null` where nobody told. */
  readonly kinds: ReadonlyMap<string, number> | null;
}

const Kinds = z.array(z.tuple([z.string(), z.number()]));

/** The fine points of the last day, and the coarse ones before. */
const POINTS = `SELECT at_ms, objects, kinds FROM census_points
  WHERE cluster = ?1 AND ((step_ms = ?2 AND at_ms >= ?4) OR (step_ms = ?3 AND at_ms < ?4)) ORDER BY at_ms`;

function pointsOf(db: DatabaseSync, cluster: string): readonly Point[] {
  const last = db.prepare('SELECT at_ms FROM censuses WHERE cluster = ?').get(cluster)?.at_ms;
  const fineFromMs = Number(last ?? 0) - DAY_MS;
  return db
    .prepare(POINTS)
    .all(cluster, FINE_STEP_MS, COARSE_STEP_MS, fineFromMs)
    .map(({ at_ms, objects, kinds }) => ({
      atMs: Number(at_ms),
      objects: Number(objects),
      kinds: typeof kinds === 'string' ? new Map(Kinds.parse(JSON.parse(kinds))) : null,
    }));
}

/** A kind that was not among those with the most objects has no point there. */
const curvesOf = (points: readonly Point[], kinds: readonly string[]): DashboardCluster['curves'] => ({
  objects: points.map(({ atMs, objects }) => [atMs, objects]),
  kinds: kinds.map((kind) => ({
    kind,
    points: points.map(({ atMs, kinds: counted }) => [atMs, counted?.get(kind) ?? null]),
  })),
});
