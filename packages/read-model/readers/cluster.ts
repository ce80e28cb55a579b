import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { DashboardCluster } from '../../../schemas/reports/dashboard-clusters.ts';
import { DAY_MS } from '../../process/durations.ts';
import { COARSE_STEP_MS, FINE_STEP_MS } from '../projection/cluster-rows.ts';
import { type ClustersNeeds, readHeard, storedCensus } from './clusters.ts';

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
