import type { DatabaseSync } from 'node:sqlite';

const MOST_NAMES = 20;

/** Names that nodes listed an image or a pod by, the one that was seen last first. */
export const namesOfObject = (db: DatabaseSync, kind: string, id: string): readonly string[] =>
  db
    .prepare(`SELECT name FROM names WHERE kind = ? AND id = ? ORDER BY seen DESC, name LIMIT ${MOST_NAMES}`)
    .all(kind, id)
    .map(({ name }) => String(name));
