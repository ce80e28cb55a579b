import { type FSWatcher, watch } from 'node:fs';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { recreatedTopic } from '../topic-differences.ts';
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
export class Changes {
  readonly #database: Pick<Database, 'dataVersion'>;
  readonly #watcher: FSWatcher | null;
  readonly #waiters = new Set<() => void>();
  #counter = 0;
  #dataVersion: number;
  #poll: NodeJS.Timeout | undefined;
  #quietLooks = 0;
  #writeLooks = 0;

  /** `path` is the file of the log. */
  constructor(database: Pick<Database, 'dataVersion'>, path: string) {
    this.#database = database;
    this.#dataVersion = database.dataVersion();
    this.#watcher = watchWrites(path, () => {
      this.#writeLooks = WRITE_LOOKS;
      if (this.#waiters.size > 0) this.#lookIn(WRITE_POLL_MS);
    });
  }

  /** Grows with every change; take it before reading, and wait `after` it. */
  version(): number {
    this.#look();
    return this.#counter;
  }

  /** Resolves when something changed since `seen`, when `signal` aborts, or after `atMostMs`. */
  async after(seen: number, signal: AbortSignal, atMostMs: number): Promise<void> {
    if (this.#counter === seen && !signal.aborted) await this.#wait(signal, atMostMs);
  }

  /** This process changed the log: its own commits do not show in the data version. */
  notify(): void {
    this.#counter += 1;
    this.#quietLooks = 0;
    for (const wake of [...this.#waiters]) wake();
  }

  close(): void {
    this.#watcher?.close();
  }

  #wait(signal: AbortSignal, atMostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#waiters.delete(wake);
        if (this.#waiters.size === 0) clearTimeout(this.#poll);
        resolve();
      };
      const timer = setTimeout(wake, atMostMs);
      signal.addEventListener('abort', wake);
      if (this.#waiters.size === 0) this.#lookIn(this.#pauseMs());
      this.#waiters.add(wake);
    });
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#poll);
    this.#poll = setTimeout(() => this.#keepLooking(), ms);
  }

  #pauseMs(): number {
    if (this.#writeLooks > 0) return WRITE_POLL_MS;
    return this.#quietLooks > QUIET_AFTER_LOOKS ? QUIET_POLL_MS : POLL_MS;
  }

  #keepLooking(): void {
    this.#quietLooks += 1;
    this.#writeLooks = Math.max(0, this.#writeLooks - 1);
    this.#look();
    if (this.#waiters.size > 0) this.#lookIn(this.#pauseMs());
  }

  #look(): void {
    if (this.#changedElsewhere()) this.notify();
  }

  /** A file that cannot be read counts as changed: the reader meets the error itself, and says so. */
  #changedElsewhere(): boolean {
    try {
      const found = this.#database.dataVersion();
      const changed = found !== this.#dataVersion;
      this.#dataVersion = found;
      return changed;
    } catch {
      return true;
    }
  }
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

/** The end of every partition, by its id. */
type PartitionEnds = ReadonlyMap<number, number>;

/** Where partitions end now; read once per change of the log, however many ask. */
export class Ends {
  readonly #database: Database;
  readonly #changes: Changes;
  #readAt = -1;
  #known: Promise<PartitionEnds> = Promise.resolve(new Map());

  constructor(database: Database, changes: Changes) {
    this.#database = database;
    this.#changes = changes;
  }

  current(): Promise<PartitionEnds> {
    const version = this.#changes.version();
    if (version !== this.#readAt) this.#known = this.#database.read(({ partitions }) => partitions.ends());
    this.#readAt = version;
    return this.#known;
  }
}

/** The end of a partition of which offsets up to `next` were read. Throws `TOPICS_RECREATED` when it is not that partition. */
export function endFor(
  ends: PartitionEnds,
  { id, topic, next }: { readonly id: number; readonly topic: TopicName; readonly next: number },
): number {
  const end = ends.get(id);
  if (end === undefined || end < next) throw recreatedTopic(topic, {});
  return end;
}
