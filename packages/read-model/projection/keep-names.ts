import type { DatabaseSync } from 'node:sqlite';
import { countOf } from './keep-newest.ts';

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
export function keepNames(db: DatabaseSync, most: number): void {
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
