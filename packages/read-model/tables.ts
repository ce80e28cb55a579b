import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { openDatabaseFile, removeDatabaseFile } from '../files/open-file.ts';
import { FleetGcError } from '../process/errors.ts';
import { systemProblem } from '../process/system-problem.ts';

/** What is kept of clusters. */
const CLUSTER_TABLES = `
  CREATE TABLE censuses (
    cluster TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    session TEXT NOT NULL, found TEXT NOT NULL, census BLOB NOT NULL
  ) STRICT;
  CREATE TABLE census_points (
    cluster TEXT NOT NULL, step_ms INTEGER NOT NULL, slot INTEGER NOT NULL,
    at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, session TEXT NOT NULL, objects INTEGER NOT NULL, kinds TEXT,
    PRIMARY KEY (cluster, step_ms, slot)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE cluster_outcomes (
    cluster TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
    action TEXT NOT NULL, rule TEXT NOT NULL, own_rule TEXT, outcome TEXT NOT NULL, reason TEXT, objects INTEGER NOT NULL,
    PRIMARY KEY (cluster, id, position)
  ) STRICT;
  CREATE INDEX cluster_outcomes_by_cluster ON cluster_outcomes (cluster, at_ms);
  CREATE TABLE cluster_objects (
    cluster TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, deleting INTEGER NOT NULL, finalizers TEXT NOT NULL,
    PRIMARY KEY (cluster, uid)
  ) STRICT;
  CREATE INDEX cluster_objects_by_age ON cluster_objects (at_ms);
  CREATE INDEX cluster_objects_by_cluster ON cluster_objects (cluster, at_ms);
  CREATE TABLE cluster_settled (
    cluster TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, how TEXT NOT NULL,
    PRIMARY KEY (cluster, uid)
  ) STRICT;
  CREATE INDEX cluster_settled_by_age ON cluster_settled (at_ms);
  CREATE TABLE cluster_owners (
    cluster TEXT NOT NULL, owner_uid TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    owner_kind TEXT NOT NULL, owner_name TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (cluster, owner_uid, uid)
  ) STRICT;
  CREATE INDEX cluster_owners_by_age ON cluster_owners (at_ms);
  CREATE INDEX cluster_owners_by_dependent ON cluster_owners (cluster, uid);
  CREATE INDEX cluster_owners_by_owner ON cluster_owners (cluster, owner_uid, at_ms, offset);
  CREATE TABLE cluster_deeds (
    cluster TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    action TEXT NOT NULL, rule TEXT NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (cluster, uid)
  ) STRICT;
  CREATE INDEX cluster_deeds_by_age ON cluster_deeds (at_ms);
`;

/** Marks the file as ours ("FGCD"). */
const APPLICATION_ID = 0x46474344;
/** Of the tables and of what is projected into them. Another one is made anew from the log. */
const PROJECTION_VERSION = 7;

/**
 * Nodes are named by a number in the table that has the most rows. An id is that of its node alone: a node that took the id of another's
 * event would else hide it.
 */
const TABLES = `
  CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE covered (
    topic TEXT NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,
    PRIMARY KEY (topic, from_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE node_numbers (number INTEGER PRIMARY KEY, node TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE nodes (
    node TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, stats BLOB NOT NULL
  ) STRICT;
  CREATE TABLE inventories (
    node TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, partition INTEGER NOT NULL, containers BLOB NOT NULL
  ) STRICT;
  CREATE TABLE disks (
    number INTEGER NOT NULL, span INTEGER NOT NULL, filesystem TEXT NOT NULL,
    least INTEGER NOT NULL, most INTEGER NOT NULL,
    PRIMARY KEY (number, span, filesystem)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE removals (
    id TEXT NOT NULL, at_ms INTEGER NOT NULL, node TEXT NOT NULL, kind TEXT NOT NULL, object TEXT NOT NULL,
    rule TEXT NOT NULL, freed_bytes INTEGER, estimated_bytes INTEGER, node_ms INTEGER NOT NULL,
    PRIMARY KEY (id, node)
  ) STRICT;
  CREATE INDEX removals_by_time ON removals (at_ms);
  CREATE INDEX removals_by_node ON removals (node, at_ms);
  CREATE INDEX removals_by_object ON removals (object, at_ms);
  CREATE TABLE held (
    node TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, taken_ms INTEGER NOT NULL, images BLOB NOT NULL
  ) STRICT;
  CREATE TABLE activity (
    id TEXT NOT NULL, at_ms INTEGER NOT NULL, node TEXT NOT NULL, what TEXT NOT NULL, text TEXT NOT NULL,
    rule TEXT, kind TEXT, object TEXT,
    PRIMARY KEY (id, node)
  ) STRICT;
  CREATE INDEX activity_by_time ON activity (at_ms, id);
  CREATE INDEX activity_by_object ON activity (object, at_ms) WHERE object IS NOT NULL;
  CREATE INDEX activity_by_node ON activity (node, at_ms, id);
  CREATE TABLE names (
    kind TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, seen INTEGER NOT NULL, node TEXT NOT NULL,
    PRIMARY KEY (kind, id, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX names_by_age ON names (seen);
  CREATE INDEX names_by_node ON names (node, seen);
  CREATE TABLE letters (
    id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, partition INTEGER NOT NULL,
    cause TEXT NOT NULL, message TEXT NOT NULL, consumer TEXT NOT NULL, topic TEXT NOT NULL, key TEXT,
    value_bytes INTEGER NOT NULL, suppressed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX letters_by_time ON letters (at_ms, id);
  CREATE TABLE redrives (
    partition INTEGER NOT NULL, offset INTEGER NOT NULL, at_ms INTEGER NOT NULL, letter TEXT NOT NULL,
    by_whom TEXT, reason TEXT NOT NULL,
    PRIMARY KEY (partition, offset)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX redrives_by_letter ON redrives (letter, at_ms);
  CREATE INDEX redrives_by_time ON redrives (at_ms);
  ${CLUSTER_TABLES}
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${PROJECTION_VERSION};
`;

/** What was opened: `isNew` where nothing of the log is in it. */
interface OpenedTables {
  readonly db: DatabaseSync;
  readonly isNew: boolean;
}

/**
 * Opens the projection of a log, or makes it anew where there is none, where it is of another version, or of another log. Throws
 * `STATE_UNREADABLE` for a file that is something else, and `STATE_UNWRITABLE`.
 */
export function openTables(path: string, logName: string): OpenedTables {
  const db = openedOwn(path);
  if (isOf(db, logName)) return { db, isNew: false };
  db.close();
  removeDatabaseFile(path);
  const made = openedOwn(path);
  made.exec(TABLES);
  made.prepare('INSERT INTO about VALUES (?, ?)').run('log', logName);
  return { db: made, isNew: true };
}

/** What is lost with the power is read from the log again; the file stays whole. */
function openedOwn(path: string): DatabaseSync {
  try {
    const db = openDatabaseFile(path, 1_000);
    if (!isOwnOrEmpty(db)) {
      db.close();
      throw new FleetGcError(
        'STATE_UNREADABLE',
        `${path} is an SQLite database of something else. Nothing was written to it; name another file with --projection.`,
      );
    }
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;');
    return db;
  } catch (cause) {
    if (cause instanceof FleetGcError) throw cause;
    const text = systemProblem(cause) ?? (cause instanceof Error ? cause.message : String(cause));
    throw new FleetGcError(
      'STATE_UNWRITABLE',
      `the projection ${path} cannot be opened (${text}): name a file that this user may write with --projection; it can be deleted at any time, and is then made anew`,
      { cause },
    );
  }
}

const pragma = (db: DatabaseSync, name: string): number =>
  Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);

function isOwnOrEmpty(db: DatabaseSync): boolean {
  const application = pragma(db, 'application_id');
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return application === APPLICATION_ID || (application === 0 && tables.length === 0);
}

const isOf = (db: DatabaseSync, logName: string): boolean =>
  pragma(db, 'application_id') === APPLICATION_ID &&
  pragma(db, 'user_version') === PROJECTION_VERSION &&
  db.prepare("SELECT value FROM about WHERE name = 'log'").get()?.value === logName;

/** Columns for `bigSumOf`. SQLite ends a statement whose sum is more than a table can hold: so the halves are summed apart. */
export const bigSum = (column: string, as: string): string =>
  `CAST(coalesce(sum(${column} >> 32), 0) AS TEXT) AS ${as}_high, CAST(coalesce(sum(${column} & 4294967295), 0) AS TEXT) AS ${as}_low`;

export const bigSumOf = (row: Readonly<Record<string, SQLOutputValue>>, as: string): bigint =>
  (BigInt(String(row[`${as}_high`])) << 32n) + BigInt(String(row[`${as}_low`]));
