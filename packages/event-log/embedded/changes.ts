import { type FSWatcher, watch } from 'node:fs';
import type { Database } from './database.ts';

/**
 * How soon a record of another process is seen where the system does not tell of writes: sooner while there is traffic.
 * One look costs some microseconds.
 */
const POLL_MS = 10;
const QUIET_POLL_MS = 50;
const QUIET_AFTER_LOOKS = 200;
/** Another process writes some milliseconds before its transaction can be seen, so a write is followed for so long. */
const WRITE_POLL_MS = 1;
const WRITE_LOOKS = 20;

/** Tells readers that the log grew, by this process or another. */
export interface Changes {
  /** Grows with every change; take it before reading, and wait `after` it. */
  version(): number;
  /** Resolves when something changed since `seen`, when `signal` aborts, or after `atMostMs`. */
  after(seen: number, signal: AbortSignal, atMostMs: number): Promise<void>;
  /** This process changed the log: its own commits do not show in the data version. */
  notify(): void;
  close(): void;
}

/** `path` is the file of the log. */
export function watchChanges(database: Database, path: string): Changes {
  const waiters = new Set<() => void>();
  let counter = 0;
  let dataVersion = database.dataVersion();
  let poll: NodeJS.Timeout | undefined;
  let quietLooks = 0;
  let writeLooks = 0;
  const watcher = watchWrites(path, () => {
    writeLooks = WRITE_LOOKS;
    if (waiters.size > 0) lookIn(WRITE_POLL_MS);
  });

  function notify(): void {
    counter += 1;
    quietLooks = 0;
    for (const wake of [...waiters]) wake();
  }

  /** A file that cannot be read counts as changed: the reader meets the error itself, and says so. */
  function changedElsewhere(): boolean {
    try {
      const found = database.dataVersion();
      const changed = found !== dataVersion;
      dataVersion = found;
      return changed;
    } catch {
      return true;
    }
  }

  function look(): void {
    if (changedElsewhere()) notify();
  }

  function lookIn(ms: number): void {
    clearTimeout(poll);
    poll = setTimeout(keepLooking, ms);
  }

  function pauseMs(): number {
    if (writeLooks > 0) return WRITE_POLL_MS;
    return quietLooks > QUIET_AFTER_LOOKS ? QUIET_POLL_MS : POLL_MS;
  }

  function keepLooking(): void {
    quietLooks += 1;
    writeLooks = Math.max(0, writeLooks - 1);
    look();
    if (waiters.size > 0) lookIn(pauseMs());
  }

  function wait(signal: AbortSignal, atMostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        waiters.delete(wake);
        if (waiters.size === 0) clearTimeout(poll);
        resolve();
      };
      const timer = setTimeout(wake, atMostMs);
      signal.addEventListener('abort', wake);
      if (waiters.size === 0) lookIn(pauseMs());
      waiters.add(wake);
    });
  }

  return {
    version: () => {
      look();
      return counter;
    },
    after: async (seen, signal, atMostMs) => {
      if (counter === seen && !signal.aborted) await wait(signal, atMostMs);
    },
    notify,
    close: () => watcher?.close(),
  };
}

/** `null` where the system cannot tell of writes: then looking alone finds them. */
function watchWrites(path: string, onWrite: () => void): FSWatcher | null {
  try {
    const watcher = watch(`${path}-wal`, { persistent: false }, onWrite);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}
