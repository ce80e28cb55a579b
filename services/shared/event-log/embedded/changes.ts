import type { Database } from './database.ts';

/** How soon a record of another process is seen: sooner while there is traffic. One look costs some microseconds. */
const POLL_MS = 10;
const QUIET_POLL_MS = 50;
const QUIET_AFTER_LOOKS = 200;

/** Tells readers that the log grew, by this process or another. */
export interface Changes {
  /** Grows with every change; take it before reading, and wait `after` it. */
  version(): number;
  /** Resolves when something changed since `seen`, when `signal` aborts, or after `atMostMs`. */
  after(seen: number, signal: AbortSignal, atMostMs: number): Promise<void>;
  /** This process changed the log: its own commits do not show in the data version. */
  notify(): void;
}

export function watchChanges(database: Database): Changes {
  const waiters = new Set<() => void>();
  let counter = 0;
  let dataVersion = database.dataVersion();
  let poll: NodeJS.Timeout | undefined;
  let quietLooks = 0;

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

  function keepLooking(): void {
    quietLooks += 1;
    look();
    const pauseMs = quietLooks > QUIET_AFTER_LOOKS ? QUIET_POLL_MS : POLL_MS;
    if (waiters.size > 0) poll = setTimeout(keepLooking, pauseMs);
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
      if (waiters.size === 0) poll = setTimeout(keepLooking, POLL_MS);
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
  };
}
