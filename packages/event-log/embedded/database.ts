import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetGcError } from '../../process/errors.ts';
import { trackProblems } from '../problems.ts';
import { busyError, isBusy, isFull, toLogError } from './errors.ts';
import { openFile, sameFileCheck } from './file.ts';
import { releaseReserve } from './reserve.ts';
import { KeptSpace, type RemoveOldest, type Tell } from './space.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** How long a call waits for another process's lock, in all; between tries the event loop is free. */
const BUSY_TOTAL_MS = 5000;
const BUSY_PAUSE_MS = 25;
/** How often room is made for one write: it grows, or loses its oldest, by some MB each time. */
const MOST_TRIES = 5;

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
  /** Sees that the file has space for a full disk, where it is to have some. */
  keepSpace(): void;
  close(): void;
}

/** How a file is to be kept writable while its disk is full; `null`: it is not. */
export interface SpaceKeeping {
  readonly tell: Tell;
  /** In a transaction of its own: removes about so many bytes of the oldest records, and says how many records went. */
  readonly removeOldest: (statements: Statements, bytes: number) => number;
}

const givesRoom = (path: string, error: unknown): boolean => isFull(error) && releaseReserve(path);

async function openWhenFree(path: string, maxBytes: number): Promise<DatabaseSync> {
  for (let waitedMs = 0; ; waitedMs += BUSY_PAUSE_MS) {
    try {
      return openFile(path, maxBytes);
    } catch (error) {
      const isOver = !isBusy(error) || waitedMs >= BUSY_TOTAL_MS;
      if (isOver && !givesRoom(path, error)) throw toLogError(path, error);
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
export async function openDatabase(
  path: string,
  maxBytes: number,
  keeping: SpaceKeeping | null = null,
): Promise<Database> {
  const db = await openWhenFree(path, maxBytes);
  const requireSame = sameFileCheck(path);
  const statements = prepareStatements(db, path);
  const version = db.prepare('PRAGMA data_version');
  const takeTurn = createTurns(path);
  const space = keeping && new KeptSpace(db, path, maxBytes, keeping.tell);
  const removeOldest: RemoveOldest = (bytes) =>
    transact(db, BEGIN.write, () => (keeping?.removeOldest(statements, bytes) ?? 0) > 0);
  space?.keep();
  const problems = trackProblems();

  function failure(kind: Kind, error: unknown): FleetGcError {
    const failed = db.isOpen
      ? toLogError(path, error)
      : new FleetGcError('LOG_UNREACHABLE', `The event log ${path} was closed by this process.`);
    problems.set(kind, failed.message);
    return failed;
  }

  /** Tries again while room can be made for it. */
  function withRoom<T>(attempt: () => T): T {
    for (let tries = 0; ; tries += 1) {
      try {
        return attempt();
      } catch (error) {
        if (!isFull(error) || tries >= MOST_TRIES || !space?.makeRoom(removeOldest)) throw error;
      }
    }
  }

  const inTransaction = <T>(kind: Kind, work: (statements: Statements) => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const attempt = (): void => {
        try {
          requireSame();
          const result = withRoom(() => transact(db, BEGIN[kind], () => work(statements)));
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
    keepSpace: () => space?.keep(),
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}
