import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { makeDirectories } from '../../files/make-directories.ts';
import { openDatabaseFile } from '../../files/open-file.ts';
import { corruptError, noDirectoryError, noEventLogError, replacedError } from './errors.ts';

/** Marks the file as ours ("FGCL"), and the form of its tables and of the events in them. */
const APPLICATION_ID = 0x4647434c;
const FORMAT = 2;
const PAGE_BYTES = 4096;

/** `partitions.id` is never given twice: a topic that is made anew is another. `records.id` grows with every append, over all partitions: the smallest is the oldest. */
const TABLES = `
  CREATE TABLE partitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    next_offset INTEGER NOT NULL DEFAULT 0,
    last_timestamp_ms INTEGER NOT NULL DEFAULT 0,
    kept_bytes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic, partition)
  ) STRICT;
  CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    partition_id INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    timestamp_ms INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    key TEXT NOT NULL,
    headers TEXT NOT NULL,
    value BLOB,
    UNIQUE (partition_id, offset)
  ) STRICT;
  CREATE INDEX records_by_time ON records (partition_id, timestamp_ms);
  CREATE TABLE offsets (
    group_name TEXT NOT NULL,
    partition_id INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (group_name, partition_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE leases (
    group_name TEXT PRIMARY KEY,
    member TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

/** Processes that ended while their group had the next record of a partition in hand. Logs of before have none. */
const DEATHS = `
  CREATE TABLE IF NOT EXISTS deaths (
    group_name TEXT NOT NULL,
    partition_id INTEGER NOT NULL,
    deaths INTEGER NOT NULL,
    PRIMARY KEY (group_name, partition_id)
  ) STRICT, WITHOUT ROWID;
`;

const pragma = (db: DatabaseSync, name: string): number =>
  Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);

/** Of an open file, before anything is written to it. Throws `LOG_CORRUPT` for what is no log of this release. */
function requireOwnFile(db: DatabaseSync, path: string): void {
  const application = pragma(db, 'application_id');
  if (application === APPLICATION_ID) {
    const format = pragma(db, 'user_version');
    if (format !== FORMAT)
      throw corruptError(
        path,
        `another release wrote it: its format is ${format}, and this release reads ${FORMAT}`,
      );
    return;
  }
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (application !== 0 || tables.length > 0)
    throw noEventLogError(path, 'it is an SQLite database of something else');
}

function ensureTables(db: DatabaseSync, path: string): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    requireOwnFile(db, path);
    if (pragma(db, 'application_id') !== APPLICATION_ID) db.exec(TABLES);
    db.exec(DEATHS);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Opens or creates the file. Every wait for a lock is the caller's (`timeout: 0`), since the driver waits synchronously.
 * Commits are synced to the disk: what was acknowledged survives a power cut.
 */
export function openFile(path: string, maxBytes: number): DatabaseSync {
  const problem = makeDirectories(dirname(path));
  if (problem !== null) throw noDirectoryError(path, problem);
  const db = openDatabaseFile(path, 0);
  try {
    requireOwnFile(db, path);
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;`);
    db.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / PAGE_BYTES)};`);
    ensureTables(db, path);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const identityOf = (path: string): string | null => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}/${found.ino}`;
};

/**
 * To be called before each use of an open file. An open file that was moved or removed can still be read and written,
 * but nobody else would ever see it. Throws `LOG_UNREACHABLE`.
 */
export function sameFileCheck(path: string): () => void {
  const opened = identityOf(path);
  return () => {
    if (identityOf(path) !== opened) throw replacedError(path);
  };
}
