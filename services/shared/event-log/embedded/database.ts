import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetGcError } from '../../errors.ts';
import { trackProblems } from '../problems.ts';
import { busyError, isBusy, toLogError } from './errors.ts';
import { openFile, sameFileCheck } from './file.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** How long a call waits for another process's lock, in all; between tries the event loop is free. */
const BUSY_TOTAL_MS = 5000;
const BUSY_PAUSE_MS = 25;

/** The file behind the embedded log: synchronous statements, asynchronous waiting. */
export interface Database {
  /** One `BEGIN IMMEDIATE` transaction, whole or not at all. Writes happen in the order of the calls. */
  write<T>(work: (statements: Statements) => T): Promise<T>;
  /** What `work` reads is of one moment. */
  read<T>(work: (statements: Statements) => T): Promise<T>;
  /** Another number after another connection changed the file. */
  dataVersion(): number;
  /** The last failure, until the same (reading or writing) succeeds again. */
  problem(): string | null;
  close(): void;
}

async function openWhenFree(path: string, maxBytes: number): Promise<DatabaseSync> {
  for (let waitedMs = 0; ; waitedMs += BUSY_PAUSE_MS) {
    try {
      return openFile(path, maxBytes);
    } catch (error) {
      if (!isBusy(error) || waitedMs >= BUSY_TOTAL_MS) throw toLogError(path, error);
      await sleep(BUSY_PAUSE_MS);
    }
  }
}

function transact<T>(db: DatabaseSync, begin: string, work: () => T): T {
  db.exec(begin);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

type Kind = 'read' | 'write';
const BEGIN: Readonly<Record<Kind, string>> = { read: 'BEGIN', write: 'BEGIN IMMEDIATE' };

interface Job {
  waitedMs: number;
  /** Runs the work and settles its promise; rethrows only that the file is locked. */
  readonly attempt: () => void;
  readonly giveUp: (error: FleetGcError) => void;
}

/** Runs jobs in order, at once when the file is free. While it is locked each waits its own 5 s. */
function createTurns(path: string): (job: Job) => void {
  const queue: Job[] = [];
  let waiting = false;

  function runUntilBusy(): unknown {
    for (let job = queue[0]; job !== undefined; job = queue[0]) {
      try {
        job.attempt();
      } catch (busy) {
        return busy;
      }
      queue.shift();
    }
    return null;
  }

  function endOverdue(cause: unknown): void {
    for (const job of queue) job.waitedMs += BUSY_PAUSE_MS;
    for (let job = queue[0]; job !== undefined && job.waitedMs >= BUSY_TOTAL_MS; job = queue[0]) {
      job.giveUp(busyError(path, cause));
      queue.shift();
    }
  }

  async function run(): Promise<void> {
    waiting = true;
    for (let busy = runUntilBusy(); busy !== null; busy = runUntilBusy()) {
      await sleep(BUSY_PAUSE_MS);
      endOverdue(busy);
    }
    waiting = false;
  }

  return (job) => {
    queue.push(job);
    if (!waiting) void run();
  };
}

/** Opens the file, creating it when missing. Throws `LOG_BUSY`, `LOG_CORRUPT`, `LOG_FULL` or `LOG_UNREACHABLE`. */
export async function openDatabase(path: string, maxBytes: number): Promise<Database> {
  const db = await openWhenFree(path, maxBytes);
  const requireSame = sameFileCheck(path);
  const statements = prepareStatements(db, path);
  const version = db.prepare('PRAGMA data_version');
  const takeTurn = createTurns(path);
  const problems = trackProblems();

  function failure(kind: Kind, error: unknown): FleetGcError {
    const failed = db.isOpen
      ? toLogError(path, error)
      : new FleetGcError('LOG_UNREACHABLE', `The event log ${path} was closed by this process.`);
    problems.set(kind, failed.message);
    return failed;
  }

  const inTransaction = <T>(kind: Kind, work: (statements: Statements) => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const attempt = (): void => {
        try {
          requireSame();
          const result = transact(db, BEGIN[kind], () => work(statements));
          problems.set(kind, null);
          resolve(result);
        } catch (error) {
          if (db.isOpen && isBusy(error)) throw error;
          reject(failure(kind, error));
        }
      };
      takeTurn({ waitedMs: 0, attempt, giveUp: (error) => reject(failure(kind, error)) });
    });

  return {
    write: (work) => inTransaction('write', work),
    read: (work) => inTransaction('read', work),
    dataVersion: () => {
      requireSame();
      return Number(version.get()?.data_version);
    },
    problem: problems.latest,
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}
