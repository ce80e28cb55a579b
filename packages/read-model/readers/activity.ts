import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { Activity, type ActivityKind, type DashboardActivity } from '../../../schemas/reports/dashboard.ts';
import { removedBecause } from '../../decision/rule-text.ts';
import type { ActivityRow } from '../projection/rows.ts';
import { namesOfObject } from './names.ts';

/** Where to go on: the last line that was given. */
export interface ActivityBefore {
  readonly atMs: number;
  readonly id: string;
}

export interface ActivityQuestion {
  readonly node: string | null;
  readonly what: ActivityKind | null;
  readonly before: ActivityBefore | null;
  readonly limit: number;
}

/** What was decided and done, the newest first. */
export function readActivity(
  db: DatabaseSync,
  { node, what, before, limit }: ActivityQuestion,
): DashboardActivity {
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  const also = (condition: string, ...given: SQLInputValue[]): void => {
    conditions.push(condition);
    values.push(...given);
  };
  if (node !== null) also('node = ?', node);
  if (what !== null) also('what = ?', what);
  if (before !== null) also('(at_ms, id) < (?, ?)', before.atMs, before.id);
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const rows = db
    .prepare(
      `SELECT id, at_ms AS atMs, node, what, text, rule, kind, object FROM activity ${where} ORDER BY at_ms DESC, id DESC LIMIT ?`,
    )
    .all(...values, limit);
  const activity = rows.map((row) => withName(db, row));
  const last = activity.at(-1);
  const isMore = activity.length === limit && last !== undefined;
  return { activity, before: isMore ? `${last.atMs}:${last.id}` : null };
}

/** A line as it is told. */
export const toldActivity = (db: DatabaseSync, { table: _table, ...row }: ActivityRow): Activity =>
  withName(db, row);

interface StoredLine {
  readonly kind?: unknown;
  readonly object?: unknown;
  readonly rule?: unknown;
}

function withName(db: DatabaseSync, row: StoredLine): Activity {
  const [name = null] =
    row.kind === 'image' && typeof row.object === 'string' ? namesOfObject(db, 'image', row.object, 1) : [];
  return Activity.parse({
    ...row,
    because: typeof row.rule === 'string' ? removedBecause(row.rule) : null,
    name,
  });
}
