import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetGcError } from '../../process/errors.ts';
import { busyError } from './errors.ts';

/** How long a call waits for another process's lock, in all; between tries the event loop is free. */
export const BUSY_TOTAL_MS = 5000;
export const BUSY_PAUSE_MS = 25;

export type TransactionKind = 'read' | 'write';
const BEGIN: Readonly<Record<TransactionKind, string>> = { read: 'BEGIN', write: 'BEGIN IMMEDIATE' };

/** Runs `work` in one transaction, whole or not at all. */
export function transact<T>(db: DatabaseSync, kind: TransactionKind, work: () => T): T {
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
export class TransactionQueue {
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
