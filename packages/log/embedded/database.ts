import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { FleetGcError } from '../../process/errors.ts';
import { type Problems, trackProblems } from '../problems.ts';
import { busyError, isBusy, isFull, toEventLogError } from './errors.ts';
import { openFile, type Report, releaseReserve, SpareSpace, sameFileCheck } from './file.ts';
import { GroupsTable } from './groups.ts';
import { PartitionsTable, RecordsTable } from './records.ts';

/** How often room is made for one write: it grows, or loses its oldest, by some MB each time. */
const MOST_TRIES = 5;

/** What a transaction may use. */
export interface Tables {
  readonly partitions: PartitionsTable;
  readonly records: RecordsTable;
  readonly groups: GroupsTable;
  readonly removals: Removals;
}

function openTables(db: DatabaseSync, path: string): Tables {
  const partitions = new PartitionsTable(db, path);
  const records = new RecordsTable(db, partitions);
  return { partitions, records, groups: new GroupsTable(db, records), removals: new Removals(db) };
}

const givesRoom = (path: string, error: unknown): boolean => isFull(error) && releaseReserve(path);

async function openWhenFree(path: string, maxBytes: number): Promise<DatabaseSync> {
  for (let waitedMs = 0; ; waitedMs += BUSY_PAUSE_MS) {
    try {
      return openFile(path, maxBytes);
    } catch (error) {
      const isOver = !isBusy(error) || waitedMs >= BUSY_TOTAL_MS;
      if (isOver && !givesRoom(path, error)) throw toEventLogError(path, error);
      await sleep(BUSY_PAUSE_MS);
    }
  }
}

/**
 * Opens the file, creating it when missing. With `tell`, which takes what people should know, it is kept writable while its
 * disk is full. Throws `LOG_BUSY`, `LOG_CORRUPT`, `LOG_FULL` or `LOG_UNREACHABLE`.
 */
export async function openDatabase(
  path: string,
  maxBytes: number,
  report: Report | null = null,
): Promise<Database> {
  const db = await openWhenFree(path, maxBytes);
  return new Database(db, path, report && new SpareSpace(db, path, maxBytes, report));
}

/** The file behind the embedded log: synchronous statements, asynchronous waiting. */
export class Database {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #spareSpace: SpareSpace | null;
  readonly #tables: Tables;
  readonly #requireSame: () => void;
  readonly #dataVersion: StatementSync;
  readonly #queue: TransactionQueue;
  readonly #problems: Problems = trackProblems();

  /** `db` is open. */
  constructor(db: DatabaseSync, path: string, spareSpace: SpareSpace | null) {
    this.#db = db;
    this.#path = path;
    this.#spareSpace = spareSpace;
    this.#requireSame = sameFileCheck(path);
    this.#tables = openTables(db, path);
    this.#dataVersion = db.prepare('PRAGMA data_version');
    this.#queue = new TransactionQueue(path);
    this.keepSpace();
  }

  /** One `BEGIN IMMEDIATE` transaction, whole or not at all. Writes happen in the order of the calls. */
  write<T>(work: (tables: Tables) => T): Promise<T> {
    return this.#inTransaction('write', work);
  }

  /** What `work` reads is of one moment. */
  read<T>(work: (tables: Tables) => T): Promise<T> {
    return this.#inTransaction('read', work);
  }

  /** Another number after another connection changed the file. */
  dataVersion(): number {
    this.#requireSame();
    return Number(this.#dataVersion.get()?.data_version);
  }

  /** The last failure, until the same (reading or writing) succeeds again. */
  problem(): string | null {
    return this.#problems.latest();
  }

  /** Sees that the file has space for a full disk, where it is to have some. */
  keepSpace(): void {
    this.#spareSpace?.keep();
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #inTransaction<T>(kind: TransactionKind, work: (tables: Tables) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const attempt = (): void => {
        try {
          this.#requireSame();
          const result = this.#withRoom(() => transact(this.#db, kind, () => work(this.#tables)));
          this.#problems.set(kind, null);
          resolve(result);
        } catch (error) {
          if (this.#db.isOpen && isBusy(error)) throw error;
          reject(this.#failure(kind, error));
        }
      };
      this.#queue.add({ attempt, giveUp: (error) => reject(this.#failure(kind, error)) });
    });
  }

  /** Tries again while room can be made for it. */
  #withRoom<T>(attempt: () => T): T {
    for (let tries = 0; ; tries += 1) {
      try {
        return attempt();
      } catch (error) {
        const mayHelp = isFull(error) && tries < MOST_TRIES;
        if (!mayHelp || !this.#spareSpace?.makeRoom((bytes) => this.#removeOldest(bytes))) throw error;
      }
    }
  }

  #removeOldest(bytes: number): boolean {
    return transact(this.#db, 'write', () => this.#tables.removals.removeOldest(bytes)) > 0;
  }

  #failure(kind: TransactionKind, error: unknown): FleetGcError {
    const failed = this.#db.isOpen
      ? toEventLogError(this.#path, error)
      : new FleetGcError('LOG_UNREACHABLE', `The event log ${this.#path} was closed by this process.`);
    this.#problems.set(kind, failed.message);
    return failed;
  }
}

/** What one call removes at most, so that no other writer and no event loop waits long. */
const STEP_RECORDS = 64;
const STEP_BYTES = 8 * 1024 * 1024;

const KEPT_FOREVER: readonly TopicName[] = Object.values(TOPICS)
  .filter(({ retentionMs }) => retentionMs === 'forever')
  .map(({ name }) => name);

const RemovalRow = z.object({ id: z.int(), partition_id: z.int(), size_bytes: z.int() });
const Bytes = z.object({ n: z.int().nullable() }).transform((row) => row.n ?? 0);

/** What retention and compaction remove. Each call returns how many records went; 0 means that nothing is left. */
class Removals {
  readonly #expired: StatementSync;
  readonly #oldest: StatementSync;
  readonly #outdated: StatementSync;
  readonly #kept: StatementSync;
  readonly #remove: StatementSync;
  readonly #subtract: StatementSync;

  constructor(db: DatabaseSync) {
    this.#expired = db.prepare(
      'SELECT id, partition_id, size_bytes FROM records WHERE partition_id = ? AND timestamp_ms < ? ORDER BY timestamp_ms, id LIMIT ?',
    );
    this.#oldest = db.prepare(
      'SELECT r.id, r.partition_id, r.size_bytes FROM records r JOIN partitions p ON p.id = r.partition_id WHERE p.topic NOT IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?',
    );
    this.#outdated = db.prepare(
      'SELECT id, partition_id, size_bytes FROM records AS r WHERE partition_id = ? AND (offset < (SELECT max(offset) FROM records AS n WHERE n.partition_id = r.partition_id AND n.key = r.key) OR (value IS NULL AND timestamp_ms < ?)) ORDER BY offset LIMIT ?',
    );
    this.#kept = db.prepare('SELECT sum(kept_bytes) AS n FROM partitions');
    this.#remove = db.prepare('DELETE FROM records WHERE id = ?');
    this.#subtract = db.prepare('UPDATE partitions SET kept_bytes = kept_bytes - ? WHERE id = ?');
  }

  removeExpired(id: number, beforeMs: number): number {
    return this.#removeFirst(this.#expired.all(id, beforeMs, STEP_RECORDS), STEP_BYTES);
  }

  /** The oldest records of all topics that are not kept for ever, about `bytes` of them. */
  removeOldest(bytes: number): number {
    const rows = this.#oldest.all(JSON.stringify(KEPT_FOREVER), STEP_RECORDS);
    return this.#removeFirst(rows, Math.min(bytes, STEP_BYTES));
  }

  /** Records whose key has a newer one, and tombstones older than the given time. */
  removeOutdated(id: number, tombstonesBeforeMs: number): number {
    return this.#removeFirst(this.#outdated.all(id, tombstonesBeforeMs, STEP_RECORDS), STEP_BYTES);
  }

  keptBytes(): number {
    return Bytes.parse(this.#kept.get());
  }

  /** From the front until `bytes` are gone; at least one record, when there is one. */
  #removeFirst(rows: readonly unknown[], bytes: number): number {
    let removed = 0;
    for (let left = bytes; removed < rows.length && left > 0; removed += 1) {
      const row = RemovalRow.parse(rows[removed]);
      this.#remove.run(row.id);
      this.#subtract.run(row.size_bytes, row.partition_id);
      left -= row.size_bytes;
    }
    return removed;
  }
}

/** How long a call waits for another process's lock, in all; between tries the event loop is free. */
const BUSY_TOTAL_MS = 5000;
const BUSY_PAUSE_MS = 25;

type TransactionKind = 'read' | 'write';
const BEGIN: Readonly<Record<TransactionKind, string>> = { read: 'BEGIN', write: 'BEGIN IMMEDIATE' };

/** Runs `work` in one transaction, whole or not at all. */
function transact<T>(db: DatabaseSync, kind: TransactionKind, work: () => T): T {
  db.exec(BEGIN[kind]);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

interface Job {
  waitedMs: number;
  /** Runs the work and settles its promise; rethrows only that the file is locked. */
  readonly attempt: () => void;
  readonly giveUp: (error: FleetGcError) => void;
}

/**
 * Runs transactions in the order in which they were asked for, at once when the file is free. While it is locked each waits its
 * own 5 s. It is ours because the queues of libraries start a job asynchronously, and have no head that is tried again.
 */
class TransactionQueue {
  readonly #path: string;
  readonly #queue: Job[] = [];
  #isRunning = false;

  constructor(path: string) {
    this.#path = path;
  }

  add(job: Omit<Job, 'waitedMs'>): void {
    this.#queue.push({ waitedMs: 0, ...job });
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let busy = this.#runUntilBusy(); busy !== null; busy = this.#runUntilBusy()) {
      await sleep(BUSY_PAUSE_MS);
      this.#endOverdue(busy);
    }
    this.#isRunning = false;
  }

  #runUntilBusy(): unknown {
    for (let [job] = this.#queue; job !== undefined; [job] = this.#queue) {
      try {
        job.attempt();
      } catch (busy) {
        return busy;
      }
      this.#queue.shift();
    }
    return null;
  }

  #endOverdue(cause: unknown): void {
    for (const job of this.#queue) job.waitedMs += BUSY_PAUSE_MS;
    for (let [job] = this.#queue; job !== undefined && job.waitedMs >= BUSY_TOTAL_MS; [job] = this.#queue) {
      job.giveUp(busyError(this.#path, cause));
      this.#queue.shift();
    }
  }
}
