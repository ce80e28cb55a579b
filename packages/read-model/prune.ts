import type { DatabaseSync } from 'node:sqlite';
import { HOUR_MS } from '../process/durations.ts';
import { FINE_STEP_MS, SEEN_MS, SPAN_MS } from './rows.ts';

/** How much of the past a projection may hold. */
export interface StoreBounds {
  readonly historyMs: number;
  readonly mostBytes: number;
  readonly mostActivity: number;
  readonly mostNames: number;
  readonly mostLetters: number;
}

interface DatedTable extends KeyedTable {
  /** What one of its column stands for. */
  readonly unitMs: number;
}

const dated = (table: string, key = 'rowid'): DatedTable => ({ table, key, column: 'at_ms', unitMs: 1 });

/** What goes with time. */
const DATED = {
  removals: dated('removals'),
  activity: dated('activity'),
  disks: { table: 'disks', key: 'number, span, filesystem', column: 'span', unitMs: SPAN_MS },
  names: { table: 'names', key: 'kind, id, name', column: 'seen', unitMs: SEEN_MS },
  censuses: dated('censuses'),
  censusPoints: dated('census_points', 'cluster, step_ms, slot'),
  clusterOutcomes: dated('cluster_outcomes'),
  clusterObjects: dated('cluster_objects'),
  clusterSettled: dated('cluster_settled'),
  clusterOwners: dated('cluster_owners'),
  clusterDeeds: dated('cluster_deeds'),
  letters: dated('letters'),
  redrives: dated('redrives', 'partition, offset'),
} as const satisfies Readonly<Record<string, DatedTable>>;

/** What is known of each node now, and is told again and again. */
const OF_NODES = ['nodes', 'inventories', 'held'].map((table) => dated(table));

/** Of what is told again, nothing of the past is missing. */
const HALVED: readonly DatedTable[] = [
  ...Object.values(DATED),
  ...OF_NODES.map((each) => ({ ...each, unitMs: 0 })),
];

/** What has a row for each object of clusters: a large cluster may tell of very many. */
const OF_OBJECTS = ['cluster_objects', 'cluster_settled', 'cluster_owners', 'cluster_deeds'] as const;
const MOST_OBJECTS = 500_000;
/** Finer points of the counts of clusters are kept for a day. */
const FINE_MS = 24 * HOUR_MS;

/** @limit Time that the dashboard keeps a node that stopped reporting. */
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
  for (const { table } of OF_NODES) db.prepare(`DELETE FROM ${table} WHERE at_ms < ?`).run(nowMs - NODES_MS);
  db.prepare('DELETE FROM census_points WHERE step_ms = ? AND at_ms < ?').run(FINE_STEP_MS, nowMs - FINE_MS);
  for (const table of OF_OBJECTS) keepNewest(db, { table, key: 'rowid', column: 'at_ms' }, MOST_OBJECTS);
  keepNames(db, bounds.mostNames);
  const droppedMs = keepNewest(db, DATED.activity, bounds.mostActivity);
  const lettersMs = keepNewest(db, DATED.letters, bounds.mostLetters);
  keepNewest(db, DATED.redrives, bounds.mostLetters);
  const sinceMs = keepWithin(db, bounds, nowMs);
  db.prepare(UNUSED_NUMBERS).run();
  return {
    sinceMs,
    activitySinceMs: Math.max(sinceMs, droppedMs),
    lettersSinceMs: Math.max(sinceMs, lettersMs),
  };
}

const UNUSED_NUMBERS = `DELETE FROM node_numbers
  WHERE NOT EXISTS (SELECT 1 FROM disks WHERE disks.number = node_numbers.number)`;

/** The oldest goes until there is room. Returns since when all is kept. */
function keepWithin(
  db: DatabaseSync,
  { historyMs, mostBytes }: Pick<StoreBounds, 'historyMs' | 'mostBytes'>,
  nowMs: number,
): number {
  let keptMs = historyMs;
  dropBefore(db, nowMs - keptMs);
  while (usedBytes(db) > mostBytes && keptMs > LEAST_HISTORY_MS) {
    keptMs = Math.max(LEAST_HISTORY_MS, keptMs * 0.9);
    dropBefore(db, nowMs - keptMs);
  }
  let sinceMs = Math.floor(nowMs - keptMs);
  while (usedBytes(db) > mostBytes) {
    const droppedMs = halveLargest(db);
    if (droppedMs === null) break;
    sinceMs = Math.max(sinceMs, droppedMs);
  }
  notCovered(db, sinceMs);
  return sinceMs;
}

/** What was dropped was not read. */
function dropBefore(db: DatabaseSync, beforeMs: number): void {
  for (const { table, column, unitMs } of Object.values(DATED))
    db.prepare(`DELETE FROM ${table} WHERE ${column} < ?`).run(Math.floor(beforeMs / unitMs));
}

function notCovered(db: DatabaseSync, sinceMs: number): void {
  db.prepare('DELETE FROM covered WHERE to_ms <= ?').run(sinceMs);
  db.prepare('UPDATE covered SET from_ms = ? WHERE from_ms < ?').run(sinceMs, sinceMs);
}

/** By what its tables and their indexes take of the file. */
const LARGEST = `SELECT tbl_name FROM dbstat JOIN sqlite_schema USING (name)
  WHERE aggregate = TRUE GROUP BY tbl_name ORDER BY sum(pgsize) DESC`;

/**
 * All that is left came in the last hour: of what takes the most room the newest half stays. Returns up to when something of the past was
 * dropped, 0 where it was none of the past; `null` where nothing can go.
 */
function halveLargest(db: DatabaseSync): number | null {
  for (const { tbl_name } of db.prepare(LARGEST).all()) {
    const found = HALVED.find(({ table }) => table === tbl_name);
    const rows = found === undefined ? 0 : countOf(db, found.table);
    if (found !== undefined && rows > 1) return keepNewest(db, found, Math.floor(rows / 2)) * found.unitMs;
  }
  return null;
}

/** Pages that hold something: what was deleted is written over, and not given back. */
function usedBytes(db: DatabaseSync): number {
  const pragma = (name: string): number => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
}

interface OfNode {
  readonly node: string;
  readonly names: number;
}

const COUNTS = 'SELECT node, count(*) AS names FROM names GROUP BY node ORDER BY node';
const DELETE = `DELETE FROM names WHERE (kind, id, name) IN
  (SELECT kind, id, name FROM names WHERE node = ? ORDER BY seen, kind, id, name LIMIT ?)`;

/**
 * Deletes what is too much, and not one name more. Every node has the same share, and what it does not need others have: so a node that
 * makes up names loses its own, the oldest first.
 */
function keepNames(db: DatabaseSync, most: number): void {
  if (countOf(db, 'names') <= most) return;
  const counts = db
    .prepare(COUNTS)
    .all()
    .map(({ node, names }): OfNode => ({ node: String(node), names: Number(names) }));
  const share = shareOf(counts, most);
  let left = most - counts.reduce((sum, { names }) => sum + Math.min(names, share), 0);
  const remove = db.prepare(DELETE);
  for (const { node, names } of counts.filter((each) => each.names > share)) {
    const kept = left > 0 ? share + 1 : share;
    left -= kept - share;
    if (names > kept) remove.run(node, names - kept);
  }
}

/** The largest number of names that every node may have at most, so that all together have no more than `most`. */
export function shareOf(counts: readonly OfNode[], most: number): number {
  let [left, others] = [most, counts.length];
  for (const { names } of counts.toSorted((a, b) => a.names - b.names)) {
    const share = Math.floor(left / others);
    if (names > share) return share;
    left -= names;
    others -= 1;
  }
  return most;
}

/** A table, what tells its rows apart, and the column that says how old each is. */
interface KeyedTable {
  readonly table: string;
  readonly key: string;
  readonly column: string;
}

/**
 * Deletes the oldest rows of a table until no more than `most` are left, and not one more: of rows of one time some stay. Returns the
 * newest time of which something was deleted; 0 where there was room for all.
 */
function keepNewest(db: DatabaseSync, { table, key, column }: KeyedTable, most: number): number {
  const surplus = countOf(db, table) - most;
  if (surplus <= 0) return 0;
  const oldest = `FROM ${table} ORDER BY ${column}, ${key} LIMIT ?`;
  const newestMs = db
    .prepare(`SELECT max(at) AS newest FROM (SELECT ${column} AS at ${oldest})`)
    .get(surplus)?.newest;
  db.prepare(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} ${oldest})`).run(surplus);
  return Number(newestMs);
}

const countOf = (db: DatabaseSync, table: string): number =>
  Number(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows);
