import type { LogRecord } from '../../../packages/event-log/port.ts';
import { parseHead } from '../../../packages/pipeline/parse/parse-head.ts';
import { parseRecord } from '../../../packages/pipeline/parse/parse-record.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import type { Fleet } from './fleet.ts';
import type { Held } from './held.ts';
import { PROJECT, type ProjectedTopic } from './project.ts';
import type { ActivityRow, Row } from './rows.ts';
import type { Read, Store } from './store.ts';

/** So many rows are written at once. */
const ROWS_AT_ONCE = 2_000;
/** Statistics carry two hours of the past: the curve of a node is stored this often, and its newest part is in them. */
export const CURVE_EVERY_MS = 30 * MINUTE_MS;
const MOST_REMEMBERED = 500_000;

export interface ProjectorNeeds {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly held: Held;
  /** What was written of what is new. */
  readonly onActivity: (rows: readonly ActivityRow[]) => void;
}

/** Takes records of the log into the store, and leaves out what it has just written. */
export class Projector {
  readonly #needs: ProjectorNeeds;
  #rows: Row[] = [];
  #news: ActivityRow[] = [];
  /** By what was written, the time that it was written with. */
  readonly #written = new Map<string, number>();
  /** Records that are no events of their topics. */
  unreadable = 0;

  constructor(needs: ProjectorNeeds) {
    this.#needs = needs;
  }

  /**
   * Takes of disk statistics no more than that the node was heard, which is a tenth of the work: where newer ones follow, they say
   * all else.
   */
  takeSighting(record: LogRecord): void {
    const head = parseHead('diskStats', record);
    if (head === null) this.take('diskStats', record, false);
    else this.#needs.fleet.sighted(head, record.timestampMs);
  }

  /** `isNew`: it lies after everything that was there at the start. */
  take(topic: ProjectedTopic, record: LogRecord, isNew: boolean): void {
    const parsed = parseRecord(topic, record);
    if (!parsed.ok) {
      this.unreadable += 1;
      if (topic === 'diskStats') this.#needs.fleet.unreadable += 1;
      return;
    }
    const hasCurve =
      topic !== 'diskStats' ||
      !isNew ||
      this.#isDue(`curve ${record.key}`, Math.floor(record.timestampMs / CURVE_EVERY_MS));
    try {
      for (const row of rowsOf(topic, parsed.event, record))
        if (hasCurve || row.table !== 'disks') this.#add(row, isNew);
    } catch (error) {
      this.#leaveOut(error);
    }
    if (this.#rows.length >= ROWS_AT_ONCE) this.flush();
  }

  /** Rows of what somebody else has read. */
  put(rows: readonly Row[]): void {
    this.#rows.push(...rows);
  }

  /** Writes down what was taken, and that it was read. */
  flush(read: readonly Read[] = []): void {
    const [rows, news] = [this.#rows, this.#news];
    [this.#rows, this.#news] = [[], []];
    if (rows.length > 0 || read.length > 0) this.#write(rows, read);
    if (news.length > 0) this.#needs.onActivity(news);
  }

  clear(): void {
    [this.#rows, this.#news] = [[], []];
    this.#written.clear();
    this.unreadable = 0;
  }

  /** A row that no table takes is left out: what one record says may not keep the others away. */
  #write(rows: readonly Row[], read: readonly Read[]): void {
    const { store } = this.#needs;
    try {
      store.apply(rows, read);
    } catch (error) {
      if (!isOfRow(error)) throw error;
      for (const row of rows) this.#writeAlone(row);
      store.apply([], read);
    }
  }

  #writeAlone(row: Row): void {
    try {
      this.#needs.store.apply([row]);
    } catch (error) {
      this.#leaveOut(error);
    }
  }

  #leaveOut(error: unknown): void {
    if (!isOfRow(error)) throw error;
    this.unreadable += 1;
  }

  #add(row: Row, isNew: boolean): void {
    if (row.table === 'nodes') this.#needs.fleet.heard(row.stats, row.atMs);
    if (row.table === 'held' && !this.#needs.held.heard(row)) return;
    if (row.table === 'names' && !this.#isDue(`${row.kind} ${row.id} ${row.name}`, row.seen)) return;
    if (row.table === 'activity' && isNew) this.#news.push(row);
    this.#rows.push(row);
  }

  #isDue(what: string, at: number): boolean {
    const before = this.#written.get(what);
    if (before !== undefined && before >= at) return false;
    if (this.#written.size >= MOST_REMEMBERED) this.#written.clear();
    this.#written.set(what, at);
    return true;
  }
}

/** SQLite's codes for a value that is too large, that a column refuses, or that is of another type. */
const REFUSED_VALUES: readonly number[] = [18, 19, 20];
/** Above it stands what more there is to say. */
const CODE_BITS = 0xff;

/** Whether it is the content that cannot be written, and not the file. */
const isOfRow = (error: unknown): boolean =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  (error instanceof Error &&
    'errcode' in error &&
    REFUSED_VALUES.includes(Number(error.errcode) & CODE_BITS));

const rowsOf = <Topic extends TopicId & ProjectedTopic>(
  topic: Topic,
  event: EventOf<Topic>,
  record: LogRecord,
): readonly Row[] => PROJECT[topic](event, record);
