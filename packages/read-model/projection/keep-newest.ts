import type { DatabaseSync } from 'node:sqlite';

/** A table, what tells its rows apart, and the column that says how old each is. */
export interface KeyedTable {
  readonly table: string;
  readonly key: string;
  readonly column: string;
}

/**
 * Deletes the oldest rows of a table until no more than `most` are left, and not one more: of rows of one time some stay. Returns the
 * newest time of which something was deleted; 0 where there was room for all.
 */
export function keepNewest(db: DatabaseSync, { table, key, column }: KeyedTable, most: number): number {
  const surplus = countOf(db, table) - most;
  if (surplus <= 0) return 0;
  const oldest = `FROM ${table} ORDER BY ${column}, ${key} LIMIT ?`;
  const newestMs = db
    .prepare(`SELECT max(at) AS newest FROM (SELECT ${column} AS at ${oldest})`)
    .get(surplus)?.newest;
  db.prepare(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} ${oldest})`).run(surplus);
  return Number(newestMs);
}

export const countOf = (db: DatabaseSync, table: string): number =>
  Number(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows);
