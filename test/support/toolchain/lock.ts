import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheDirectory } from './cache.ts';
import { say } from './progress.ts';

const POLL_MS = 250;
const QUIET_MS = 3000;

/**
 * Runs `work` while no other process on this machine runs work of the same name. The lock is an SQLite one, so the
 * operating system frees it when its holder dies.
 */
export async function withLock<T>(name: string, boundMs: number, work: () => Promise<T>): Promise<T> {
  const file = join(cacheDirectory('locks'), `${name}.lock`);
  using lock = new DatabaseSync(file, { timeout: 0 });
  const startedAt = performance.now();
  let told = false;
  while (!tryLock(lock)) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > boundMs) {
      throw new Error(`'${name}' was locked by another process for ${boundMs / 1000} s (${file})`);
    }
    if (waitedMs > QUIET_MS && !told) say(`waiting for another process that prepares '${name}' …`);
    told = waitedMs > QUIET_MS;
    await sleep(POLL_MS);
  }
  return await work();
}

function tryLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && /locked|busy/i.test(error.message)) return false;
    throw error;
  }
}
