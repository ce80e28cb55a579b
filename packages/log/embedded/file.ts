import { fsyncSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { makeDirectories } from '../../files/make-directories.ts';
import { openDatabaseFile, withNewFile, writeAll } from '../../files/open-file.ts';
import { systemProblem } from '../../process/system-problem.ts';
import { sizeText } from '../../text/size-text.ts';
import { corruptError, isBusy, noDirectoryError, noEventLogError, replacedError } from './errors.ts';

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

const MEBIBYTE = 1024 * 1024;
/** What a relief writes at the most, several times over: so much is free in the file, and so long is its journal. */
const SPACE_BYTES = 8 * MEBIBYTE;
const RESERVE_BYTES = SPACE_BYTES + MEBIBYTE;
/**
 * On a disk with less than this nothing is made larger.
 * @limit Free disk space below which the embedded log does not grow.
 */
const ROOM_BYTES = 4 * SPACE_BYTES;
/**
 * Below this people are told, while everything can still be written.
 * @limit Free disk space below which `fleetgc run` warns. Equal to `LOW_STATE_BYTES`.
 */
const LOW_BYTES = 8 * ROOM_BYTES;

const reserveOf = (path: string): string => `${path}-reserve`;

/** What is reserved for root counts for root. Throws a system error. */
function freeBytesAt(path: string): number {
  const { bsize, bfree, bavail } = statfsSync(dirname(path));
  return bsize * (process.getuid?.() === 0 ? bfree : bavail);
}

const hasRoom = (path: string): boolean => freeBytesAt(path) >= ROOM_BYTES;

/**
 * A file that only takes space, to be given back when the log is opened on a full disk: its journal went when it was closed.
 * Throws a system error.
 */
function writeReserve(path: string): void {
  const file = reserveOf(path);
  if (statSync(file, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
  rmSync(file, { force: true });
  withNewFile(file, (fd) => {
    for (let left = RESERVE_BYTES; left > 0; left -= MEBIBYTE) writeAll(fd, Buffer.alloc(MEBIBYTE));
    fsyncSync(fd);
  });
}

/** Gives it back; false where there is none. */
export function releaseReserve(path: string): boolean {
  try {
    rmSync(reserveOf(path));
    return true;
  } catch {
    return false;
  }
}
const SPACE_PAGES = SPACE_BYTES / PAGE_BYTES;
/** Pages of a table beside its content. */
const TABLE_PAGES = 32;

/** Removes about so many bytes of the oldest records; says whether any went. */
type RemoveOldest = (bytes: number) => boolean;
/** Takes what people should know. */
export type Report = (message: string) => void;

/**
 * Keeps the file so that it can be written while its disk is full. Pages that were written and freed again are reused
 * without another block of the disk, and so is a journal that was as long before. The file does not grow by itself: a
 * journal with pages for which the disk has no block can not be emptied any more, and then nothing can be written, not
 * even a deletion.
 */
export class SpareSpace {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #mostPages: number;
  readonly #report: Report;
  #limitPages = 0;
  #reported = '';
  #isLowReported = false;
  readonly #freeBytes: (path: string) => number;

  constructor(
    db: DatabaseSync,
    path: string,
    maxBytes: number,
    report: Report,
    freeBytes: (path: string) => number = freeBytesAt,
  ) {
    this.#freeBytes = freeBytes;
    this.#db = db;
    this.#path = path;
    this.#mostPages = Math.floor(maxBytes / PAGE_BYTES);
    this.#report = report;
  }

  /** At the start, and once in a while: sees that there is space, and takes more where the disk has room. Never throws. */
  keep(): void {
    this.#reportLow();
    try {
      this.#db.exec('DROP TABLE IF EXISTS space');
      if (this.#isShort()) this.#fill();
      this.#limit(this.#pages());
      if (hasRoom(this.#path)) writeReserve(this.#path);
      if (!this.#isShort()) this.#reported = '';
    } catch (error) {
      if (isBusy(error)) return;
      // A file that never had space grows as it can.
      this.#limit(this.#pages() < SPACE_PAGES ? this.#mostPages : this.#pages());
      this.#say(
        `Could not reserve emergency space for the event log ${this.#path} (${systemProblem(error) ?? String(error)}): free 40 MB on it.`,
      );
    }
  }

  /** After a write found no space; says whether it may find some now. Never throws. */
  makeRoom(removeOldest: RemoveOldest): boolean {
    return tryTo(() => this.#growOn()) || this.#removeSome(removeOldest) || this.#useReserve();
  }

  /** Once, until there is more again. */
  #reportLow(): void {
    let free: number;
    try {
      free = this.#freeBytes(this.#path);
    } catch {
      return;
    }
    const isLow = free < LOW_BYTES;
    if (isLow && !this.#isLowReported)
      this.#report(
        `The disk of the event log ${this.#path} has ${sizeText(BigInt(free))} left. Free space on it, or move --state-directory and --log-path: once it is full, the oldest records go to make room for new ones.`,
      );
    this.#isLowReported = isLow;
  }

  #growOn(): boolean {
    const before = this.#limitPages;
    // Another process may have made it grow.
    if (this.#pages() > before) return this.#limit(this.#pages()) > before;
    if (!hasRoom(this.#path)) return false;
    if (this.#pages() + SPACE_PAGES <= this.#mostPages) this.#fill();
    else this.#limit(this.#mostPages);
    return this.#limit(Math.max(this.#pages(), this.#limitPages)) > before;
  }

  #removeSome(removeOldest: RemoveOldest): boolean {
    if (this.#pages() >= this.#mostPages || this.#freePages() > 2 * SPACE_PAGES) return false;
    if (!tryTo(() => removeOldest(SPACE_BYTES / 2))) return false;
    this.#say(
      `The disk of the event log ${this.#path} is full: its oldest records go, to make room for new ones.`,
    );
    return true;
  }

  #useReserve(): boolean {
    if (!releaseReserve(this.#path)) return false;
    this.#say(`The disk of the event log ${this.#path} is full: what was kept for that is used now.`);
    return true;
  }

  #isShort(): boolean {
    const journal = statSync(`${this.#path}-wal`, { throwIfNoEntry: false });
    return (journal?.size ?? 0) < SPACE_BYTES / 2 || this.#freePages() < SPACE_PAGES / 2;
  }

  /** Writes to the file and its journal and frees it again; on a full disk no more than is free in the file. */
  #fill(): void {
    const isRoomy = hasRoom(this.#path);
    if (isRoomy) this.#limit(this.#pages() + SPACE_PAGES + TABLE_PAGES);
    else releaseReserve(this.#path);
    const pages = isRoomy ? SPACE_PAGES : Math.min(SPACE_PAGES, this.#freePages()) - TABLE_PAGES;
    if (pages < 1) throw new Error('the disk is full');
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      this.#db.exec('CREATE TABLE space (filler BLOB)');
      this.#db.exec(`INSERT INTO space VALUES (zeroblob(${pages * PAGE_BYTES}))`);
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
    this.#db.exec('PRAGMA wal_checkpoint(PASSIVE); DROP TABLE space; PRAGMA wal_checkpoint(PASSIVE)');
  }

  #freePages(): number {
    return this.#pragma('freelist_count');
  }

  #pages(): number {
    return this.#pragma('page_count');
  }

  /** SQLite sets none below what the file has. */
  #limit(pages: number): number {
    this.#limitPages = this.#pragma(`max_page_count = ${Math.min(pages, this.#mostPages)}`);
    return this.#limitPages;
  }

  #pragma(text: string): number {
    return Number(Object.values(this.#db.prepare(`PRAGMA ${text}`).get() ?? {})[0]);
  }

  #say(message: string): void {
    if (message !== this.#reported) this.#report(message);
    this.#reported = message;
  }
}

function tryTo(action: () => boolean): boolean {
  try {
    return action();
  } catch {
    return false;
  }
}
