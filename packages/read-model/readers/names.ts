import type { DatabaseSync } from 'node:sqlite';

const MOST_NAMES = 20;
/** Of one object; nobody gives one so many, and each is looked at for each line that tells of it. */
export const MOST_LOOKED_AT = 1_000;

const NAMES = `SELECT name FROM (SELECT name, seen FROM names WHERE kind = ? AND id = ? LIMIT ${MOST_LOOKED_AT})
  ORDER BY seen DESC, name LIMIT ?`;

/** Names that nodes listed an image or a pod by, the one that was seen last first. */
export const namesOfObject = (
  db: DatabaseSync,
  kind: string,
  id: string,
  most = MOST_NAMES,
): readonly string[] =>
  db
    .prepare(NAMES)
    .all(kind, id, most)
    .map(({ name }) => String(name));
