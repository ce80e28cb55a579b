import type { DatabaseSync } from 'node:sqlite';
import type { Logger } from 'pino';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { EventOf, TopicId } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { NameIndex } from '../archive/names.ts';
import type { EventHead } from '../decision/overtaking.ts';
import type { EventLog, LogReader, LogRecord } from '../log/port.ts';
import { MINUTE_MS } from '../process/durations.ts';
import type { Sources } from '../process/system-sources.ts';
import { parseHead } from '../records/parse/parse-head.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import type { FactsTrust } from '../records/trust/process-trust.ts';
import type { Held } from './images-on-nodes.ts';
import type { Fleet } from './nodes.ts';
import { namesIn, PROJECT, type ProjectedTopic } from './project.ts';
import type { ActivityRow, Row } from './rows.ts';
import type { Read, Store } from './store.ts';
import type { FactTrust } from './trust.ts';

/** What is read: a log that lives can be asked how it is, and an archive cannot. */
export type ProjectedLog =
  | { readonly kind: 'kafka'; readonly log: EventLog; readonly name: string }
  | { readonly kind: 'embedded'; readonly log: EventLog; readonly name: string; readonly path: string }
  | {
      readonly kind: 'archive';
      /** Of an archive that is indexed not all has to be read. */
      readonly log: LogReader & { readonly index?: NameIndex };
      readonly name: string;
      /** When its last record was written. */
      readonly endMs: number;
    };

/** A log and who is believed on it; an archive stands still at its end. */
export interface LogSource {
  readonly from: ProjectedLog;
  readonly roots: TrustRoots | null;
  readonly nowMs: number;
}

export interface ProjectionSettings {
  readonly from: ProjectedLog;
  readonly roots: TrustRoots | null;
  /** Which facts of nodes and clusters count, by the roots. */
  readonly facts: FactsTrust;
  /** The file. */
  readonly path: string;
  readonly historyMs: number;
  readonly mostBytes: number;
  readonly logger: Logger;
  readonly sources: Sources;
}

/** An archive stands still: its time is that of its last record. */
export const timeOf = ({ from, sources }: ProjectionSettings): number =>
  from.kind === 'archive' ? from.endMs : sources.now();

/** So many rows are written at once. */
const ROWS_AT_ONCE = 2_000;
/** Statistics carry two hours of the past: the curve of a node is stored this often, and its newest part is in them. */
export const CURVE_EVERY_MS = 30 * MINUTE_MS;
const MOST_REMEMBERED = 500_000;
/** Of their texts together. */
const MOST_REMEMBERED_LENGTH = 100_000_000;
/** Labels are by far the most that memory holds of a node; nodes have some kilobytes of them. */
const MOST_LABELS_LENGTH = 16 * 1024;

/** Of whom a place on the page is needed. What was done counts, whoever did it. */
const NEEDS_PLACE: Readonly<Record<ProjectedTopic, 'node' | 'cluster' | null>> = {
  diskStats: 'node',
  inventory: 'node',
  results: null,
  decisions: null,
  deadLetters: null,
  clusterCensus: 'cluster',
  clusterOwnership: 'cluster',
  clusterResults: 'cluster',
};

/** Told of what is new. */
export interface News {
  readonly onActivity: (rows: readonly ActivityRow[]) => void;
}

interface ProjectorNeeds extends News {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly held: Held;
  readonly places: FleetPlaces;
  readonly trust: FactTrust;
}

/** Takes records of the log into the store, and leaves out what it has just written. */
export class Projector {
  readonly #needs: ProjectorNeeds;
  #rows: Row[] = [];
  #news: ActivityRow[] = [];
  /** By what was written, the time that it was written with. */
  readonly #written = new Map<string, number>();
  #writtenLength = 0;
  /** Records that are no events of their topics. */
  unreadable = 0;
  /** Names of inventories that are too many, or too long. */
  namesLeftOut = 0;

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
    else if (this.#needs.trust.believes('diskStats', record)) this.#sight(head, record.timestampMs);
  }

  #sight(head: EventHead, atMs: number): void {
    const { fleet, places } = this.#needs;
    if (places.node.admits(nodeKey(head), atMs)) fleet.sighted(head, atMs);
  }

  /** `isNew`: it lies after everything that was there at the start. */
  take(topic: ProjectedTopic, record: LogRecord, isNew: boolean): void {
    if (!this.#needs.trust.believes(topic, record)) return;
    const parsed = parseRecord(topic, record);
    if (!parsed.ok) {
      this.unreadable += 1;
      if (topic === 'diskStats') this.#needs.fleet.unreadable += 1;
      return;
    }
    if (parsed.event.type === 'fleetgc.node.pressure-unrelieved')
      this.#needs.fleet.unrelieved(parsed.event, record.timestampMs);
    if (this.#hasPlace(topic, record) && !this.#isTooMuch(parsed.event, record))
      this.#takeRows(topic, parsed.event, { record, isNew });
    if (this.#rows.length >= ROWS_AT_ONCE) this.flush();
  }

  #takeRows<Topic extends ProjectedTopic>(
    topic: Topic,
    event: EventOf<Topic>,
    { record, isNew }: { readonly record: LogRecord; readonly isNew: boolean },
  ): void {
    const hasCurve =
      topic !== 'diskStats' ||
      !isNew ||
      this.#isDue(`curve ${record.key}`, Math.floor(record.timestampMs / CURVE_EVERY_MS));
    try {
      for (const row of rowsOf(topic, event, record))
        if (hasCurve || row.table !== 'disks') this.#add(row, isNew);
    } catch (error) {
      this.#leaveOut(error);
    }
  }

  #hasPlace(topic: ProjectedTopic, { key, timestampMs }: LogRecord): boolean {
    const subject = NEEDS_PLACE[topic];
    return subject === null || this.#needs.places[subject].admits(key ?? '', timestampMs);
  }

  /** Counts what is too much of an event; whether nothing of it is taken. */
  #isTooMuch(event: EventOf<ProjectedTopic>, { key, timestampMs }: LogRecord): boolean {
    if (event.type === 'fleetgc.node.inventory' && event.status === 'complete')
      this.namesLeftOut += namesIn(event).leftOut;
    if (event.type !== 'fleetgc.node.disk-stats' || hasBoundedLabels(event)) return false;
    this.#needs.places.node.leaveOut(key ?? '', timestampMs);
    return true;
  }

  /** Rows of what somebody else has read. */
  put(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.push(row);
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
    this.#forgetWritten();
    this.unreadable = 0;
    this.namesLeftOut = 0;
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
    if (this.#written.size >= MOST_REMEMBERED || this.#writtenLength >= MOST_REMEMBERED_LENGTH)
      this.#forgetWritten();
    if (before === undefined) this.#writtenLength += what.length;
    this.#written.set(what, at);
    return true;
  }

  #forgetWritten(): void {
    this.#written.clear();
    this.#writtenLength = 0;
  }
}

const hasBoundedLabels = ({ nodeLabels }: DiskStats): boolean =>
  Object.entries(nodeLabels).reduce((sum, [name, value]) => sum + name.length + value.length, 0) <=
  MOST_LABELS_LENGTH;

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

/**
 * The page is made for ten thousand nodes.
 * @limit Nodes that the dashboard shows.
 */
const MOST_NODES = 50_000;
/** @limit Clusters that the dashboard shows. */
const MOST_CLUSTERS = 1_000;
/** Others are counted by their names, up to so many. */
const MOST_COUNTED = 10_000;

/**
 * Who has a place on the page. Whoever has one keeps it for as long as it is heard, so names that somebody makes up push nobody out; those
 * who find no place are counted.
 */
class Places {
  readonly #most: number;
  readonly #taken = new Map<string, number>();
  readonly #others = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there is a place for whoever has this name, and was heard at this time. */
  admits(name: string, heardMs: number): boolean {
    const before = this.#taken.get(name);
    if (before === undefined && this.#taken.size >= this.#most) {
      this.leaveOut(name, heardMs);
      return false;
    }
    this.#taken.set(name, Math.max(before ?? 0, heardMs));
    return true;
  }

  /** There is no place for it, whoever else is there. */
  leaveOut(name: string, heardMs: number): void {
    if (this.#others.size < MOST_COUNTED || this.#others.has(name)) this.#others.set(name, heardMs);
  }

  /** How many have no place; of very many at least so many. */
  get others(): number {
    return this.#others.size;
  }

  /** Places of those that were not heard since are free. */
  forgetBefore(ms: number): void {
    for (const names of [this.#taken, this.#others])
      for (const [name, heardMs] of names) if (heardMs < ms) names.delete(name);
    for (const name of this.#taken.keys()) this.#others.delete(name);
  }

  clear(): void {
    this.#taken.clear();
    this.#others.clear();
  }
}

/** Of nodes and of clusters apart. */
export class FleetPlaces {
  readonly node: Places;
  readonly cluster: Places;

  constructor(most = { nodes: MOST_NODES, clusters: MOST_CLUSTERS }) {
    this.node = new Places(most.nodes);
    this.cluster = new Places(most.clusters);
  }

  /** Those that were told before this process began have theirs first. */
  recall(db: DatabaseSync): void {
    for (const { table, name, places } of [
      { table: 'nodes', name: 'node', places: this.node },
      { table: 'inventories', name: 'node', places: this.node },
      { table: 'censuses', name: 'cluster', places: this.cluster },
    ])
      for (const row of db.prepare(`SELECT ${name} AS name, at_ms FROM ${table} ORDER BY at_ms`).all())
        places.admits(String(row.name), Number(row.at_ms));
  }

  forgetBefore(ms: number): void {
    this.node.forgetBefore(ms);
    this.cluster.forgetBefore(ms);
  }

  clear(): void {
    this.node.clear();
    this.cluster.clear();
  }
}
