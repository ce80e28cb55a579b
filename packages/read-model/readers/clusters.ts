import type { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { Census } from '../../../schemas/events/census.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { ClusterStatus } from '../../../schemas/reports/cluster-status.ts';
import { DashboardClusters } from '../../../schemas/reports/dashboard-clusters.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { isSilentCluster } from '../fleet-status/cluster-status.ts';

/** An agent tells each candidate again within ten minutes. */
const TOLD_WITHIN_MS = 15 * MINUTE_MS;

/** From where clusters are told. */
export interface ClustersNeeds {
  readonly db: DatabaseSync;
  /** As `fleetgc status` told them last; `null`: it did not yet, or this is an archive. */
  readonly statuses: readonly ClusterStatus[] | null;
  readonly nowMs: number;
}

export interface ClustersPage {
  readonly after: string | null;
  readonly limit: number;
  /** Since when to count what was removed. */
  readonly since: readonly number[];
}

type Told = DashboardClusters['clusters'][number];
export type HeardCluster = Pick<
  Told,
  'cluster' | 'heardMs' | 'isSilent' | 'status' | 'toldBy' | 'candidates'
>;

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
export function readHeard({ db, statuses, nowMs }: ClustersNeeds, cluster: string): HeardCluster | null {
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
  Number(db.prepare(CANDIDATES).get(cluster, heardMs - TOLD_WITHIN_MS)?.candidates ?? 0);

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
export function storedCensus(db: DatabaseSync, cluster: string): Census | null {
  const found = db.prepare('SELECT census FROM censuses WHERE cluster = ?').get(cluster)?.census;
  return found instanceof Uint8Array
    ? Census.parse(JSON.parse(zstdDecompressSync(found).toString('utf8')))
    : null;
}
