import type { DatabaseSync } from 'node:sqlite';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import { FINE_STEP_MS } from './cluster-rows.ts';
import { SEEN_MS, SPAN_MS } from './rows.ts';

/** How much of the past a projection may hold. */
export interface StoreBounds {
  readonly historyMs: number;
  readonly mostBytes: number;
  readonly mostActivity: number;
  readonly mostNames: number;
  readonly mostLetters: number;
}

/** What goes with time, by the name of its table and by how it is dated. */
const DATED = [
  { table: 'removals', column: 'at_ms', unitMs: 1 },
  { table: 'activity', column: 'at_ms', unitMs: 1 },
  { table: 'disks', column: 'span', unitMs: SPAN_MS },
  { table: 'names', column: 'seen', unitMs: SEEN_MS },
  { table: 'censuses', column: 'at_ms', unitMs: 1 },
  { table: 'census_points', column: 'at_ms', unitMs: 1 },
  { table: 'cluster_outcomes', column: 'at_ms', unitMs: 1 },
  { table: 'cluster_objects', column: 'at_ms', unitMs: 1 },
  { table: 'cluster_settled', column: 'at_ms', unitMs: 1 },
  { table: 'cluster_owners', column: 'at_ms', unitMs: 1 },
  { table: 'cluster_deeds', column: 'at_ms', unitMs: 1 },
  { table: 'letters', column: 'at_ms', unitMs: 1 },
  { table: 'redrives', column: 'at_ms', unitMs: 1 },
] as const;

/** What has a row for each object of clusters: a large cluster may tell of very many. */
const OF_OBJECTS = ['cluster_objects', 'cluster_settled', 'cluster_owners', 'cluster_deeds'] as const;
const MOST_OBJECTS = 500_000;
/** Finer points of the counts of clusters are kept for a day. */
const FINE_MS = 24 * HOUR_MS;

/** Nodes are listed for a day after they were heard last. */
const NODES_MS = 24 * HOUR_MS;
/** With less than this nothing on the page makes sense. */
const LEAST_HISTORY_MS = HOUR_MS;

/** Since when the projection keeps what it is given, epoch milliseconds: what is older goes at once. */
export interface Kept {
  readonly sinceMs: number;
  /** Of activity alone. */
  readonly activitySinceMs: number;
  /** Of dead letters alone. */
  readonly lettersSinceMs: number;
}

/** In a transaction. */
export function prune(db: DatabaseSync, bounds: StoreBounds, nowMs: number): Kept {
  db.prepare('DELETE FROM nodes WHERE at_ms < ?').run(nowMs - NODES_MS);
  db.prepare('DELETE FROM inventories WHERE at_ms < ?').run(nowMs - NODES_MS);
  db.prepare('DELETE FROM census_points WHERE step_ms = ? AND at_ms < ?').run(FINE_STEP_MS, nowMs - FINE_MS);
  for (const table of OF_OBJECTS) keepNewest(db, { table, column: 'at_ms', most: MOST_OBJECTS });
  db.prepare('DELETE FROM held WHERE at_ms < ?').run(nowMs - NODES_MS);
  keepNewest(db, { table: 'names', column: 'seen', most: bounds.mostNames });
  const droppedMs = keepNewest(db, { table: 'activity', column: 'at_ms', most: bounds.mostActivity });
  const lettersMs = keepNewest(db, { table: 'letters', column: 'at_ms', most: bounds.mostLetters });
  let historyMs = bounds.historyMs;
  dropBefore(db, nowMs - historyMs);
  while (usedBytes(db) > bounds.mostBytes && historyMs > LEAST_HISTORY_MS) {
    historyMs = Math.max(LEAST_HISTORY_MS, historyMs * 0.9);
    dropBefore(db, nowMs - historyMs);
  }
  const sinceMs = Math.floor(nowMs - historyMs);
  return {
    sinceMs,
    activitySinceMs: Math.max(sinceMs, droppedMs),
    lettersSinceMs: Math.max(sinceMs, lettersMs),
  };
}

/** What was dropped was not read. */
function dropBefore(db: DatabaseSync, beforeMs: number): void {
  for (const { table, column, unitMs } of DATED)
    db.prepare(`DELETE FROM ${table} WHERE ${column} < ?`).run(Math.floor(beforeMs / unitMs));
  const sinceMs = Math.floor(beforeMs);
  db.prepare('DELETE FROM covered WHERE to_ms <= ?').run(sinceMs);
  db.prepare('UPDATE covered SET from_ms = ? WHERE from_ms < ?').run(sinceMs, sinceMs);
}

interface Counted {
  readonly table: string;
  readonly column: string;
  readonly most: number;
}

/** What was dropped, all of it up to this; 0 where there was room for all. */
function keepNewest(db: DatabaseSync, { table, column, most }: Counted): number {
  const newest = db.prepare(
    `SELECT ${column} AS value FROM ${table} ORDER BY ${column} DESC LIMIT 1 OFFSET ?`,
  );
  const found = newest.get(most)?.value;
  if (found === undefined) return 0;
  db.prepare(`DELETE FROM ${table} WHERE ${column} <= ?`).run(found);
  return Number(found);
}

/** Pages that hold something: what was deleted is written over, and not given back. */
function usedBytes(db: DatabaseSync): number {
  const pragma = (name: string): number => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
}
