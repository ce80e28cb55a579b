import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetGcError } from '../../process/errors.ts';
import { type Problems, trackProblems } from '../problems.ts';
import { isBusy, isFull, toEventLogError } from './errors.ts';
import { openFile, sameFileCheck } from './file.ts';
import { type Report, releaseReserve, SpareSpace } from './full-disk.ts';
import { GroupsTable } from './groups.ts';
import { PartitionsTable } from './partitions.ts';
import { RecordsTable } from './records.ts';
import { Removals } from './removals.ts';
import {
  BUSY_PAUSE_MS,
  BUSY_TOTAL_MS,
  type TransactionKind,
  TransactionQueue,
  transact,
} from './transactions.ts';

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
