import { isNodeKey, nodeKey } from '../../../schemas/events/identity.ts';
import { isOffsetText } from '../../../schemas/events/offset-text.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { type FleetEvent, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import type { RecordedEvent, TimeRange } from '../../records/read-log.ts';
import {
  type PartitionTaker,
  type ReadingProgress,
  readNodes,
  type SubjectTopicsRead,
} from '../events/reading.ts';
import { EventReader } from '../events/record-reader.ts';
import { NodeFollower, type Subject } from './node.ts';
import {
  type AskedName,
  askableNames,
  meansNode,
  type NodeFilter,
  nodeOfKey,
  type WatchedNode,
} from './question.ts';

interface WatchNeeds {
  readonly log: LogReader;
  readonly asked: AskedName;
  readonly range: TimeRange;
  readonly filter: NodeFilter;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReadingProgress) => void;
}

/** What the records of one partition told. */
export interface Watched {
  readonly subjects: readonly Subject[];
  /** What else could have been asked for; gathered where nothing was found. */
  readonly names: ReadonlySet<string>;
  readonly records: number;
  readonly unreadable: number;
  readonly firstRecordMs: number | null;
  readonly lastRecordMs: number | null;
}

const TOLD = {
  node: ['inventory', 'decisions', 'commands', 'results'],
  cluster: [],
} as const satisfies SubjectTopicsRead;
const TOPICS_TOLD = Object.values(TOLD).flat();
/** Waiting for a broker is most of the work where a partition has little to read. */
const PARTITIONS_AT_ONCE = 4;

/** Follows whatever the name means in several partitions at once; the first failure ends them all. */
export async function watchPartitions(
  { log, asked, range, filter, signal, onProgress }: WatchNeeds,
  partitions: readonly number[],
): Promise<readonly Watched[]> {
  const reading = {
    log,
    topics: TOPICS_TOLD,
    range,
    partitions,
    partitionsAtOnce: PARTITIONS_AT_ONCE,
    onProgress,
  };
  const elsewhere = { isFound: false };
  return await readNodes(reading, async () => new PartitionWatch(asked, filter, elsewhere), signal);
}

/** A node with any record that was read. */
interface WatchedKey {
  readonly node: WatchedNode;
  readonly watch: NodeFollower;
  /** The first and the last, for near names. */
  inventories: readonly LogRecord[];
}

/** Reads the records of one partition, and parses only those that can concern what the name means. */
class PartitionWatch implements PartitionTaker<Watched> {
  readonly #asked: AskedName;
  readonly #filter: NodeFilter;
  /** Near names are of use only while nothing was found. */
  readonly #elsewhere: { isFound: boolean };
  readonly #nodes = new Map<string, WatchedKey>();
  readonly #reader = new EventReader();
  readonly #causesFirst = new CausesFirst();

  constructor(asked: AskedName, filter: NodeFilter, elsewhere: { isFound: boolean }) {
    this.#asked = asked;
    this.#filter = filter;
    this.#elsewhere = elsewhere;
  }

  take({ topicId, record }: RecordedEvent): boolean {
    if (topicId === 'inventory') this.#causesFirst.passed(record.offset);
    const node = nodeOf(record, this.#filter);
    if (node === null) return true;
    this.#reader.count(record);
    const known = this.#watchOf(node);
    if (topicId === 'inventory' && !this.#elsewhere.isFound)
      known.inventories = [known.inventories[0] ?? record, record];
    if (concerns(topicId, record, known, this.#asked)) this.#tell(known, topicId, record);
    else if (topicId === 'inventory' && isComplete(record)) known.watch.passOver();
    return true;
  }

  finish(): Watched {
    this.#causesFirst.release();
    const nodes = [...this.#nodes.values()];
    const subjects = nodes.flatMap(({ watch }) => watch.subjects());
    const gathersNames = !this.#elsewhere.isFound && subjects.length === 0;
    this.#elsewhere.isFound ||= subjects.length > 0;
    const { records, unreadable, span } = this.#reader;
    return {
      subjects,
      names: new Set(gathersNames ? namesOn(nodes, this.#asked) : []),
      records,
      unreadable,
      firstRecordMs: span.firstMs,
      lastRecordMs: span.lastMs,
    };
  }

  /** A decision may be on the log twice, and is one all the same. */
  #tell({ watch }: WatchedKey, topicId: TopicId, record: LogRecord): void {
    const event = this.#reader.event(topicId, record);
    if (event === null) return;
    if (event.type === 'fleetgc.node.decision' && !this.#reader.isNew(event, record)) return;
    this.#causesFirst.tell(watch, event, record);
  }

  #watchOf(node: WatchedNode): WatchedKey {
    const key = nodeKey(node);
    const known = this.#nodes.get(key) ?? {
      node,
      watch: new NodeFollower(this.#asked, node),
      inventories: [],
    };
    this.#nodes.set(key, known);
    return known;
  }
}

function nodeOf({ key }: LogRecord, filter: NodeFilter): WatchedNode | null {
  if (key === null || !isNodeKey(key)) return null;
  const node = nodeOfKey(key);
  return filter(node) ? node : null;
}

/**
 * Whether a record can say anything of what is meant. Inventories are most of the log, so those are left unparsed in
 * which no name of it stands, while nothing of it is there that could be missing. An escaped letter could hide a name.
 */
function concerns(
  topicId: TopicId,
  { value }: LogRecord,
  { node, watch }: WatchedKey,
  asked: AskedName,
): boolean {
  if (meansNode(asked, node) || value === null) return true;
  if (topicId === 'decisions') return watch.isFound();
  if (watch.isThere() || value.includes('\\u')) return true;
  return [...asked.needles, ...watch.ids()].some((needle) => value.includes(needle));
}

/** As the agent writes it; told of an inventory that nobody parsed. */
const isComplete = ({ value }: LogRecord): boolean => value?.includes('"status":"complete"') ?? false;

function namesOn(nodes: readonly WatchedKey[], asked: AskedName): string[] {
  return nodes.flatMap(({ node, inventories }) => [
    ...inventories.flatMap((record) => namesListed(record, asked)),
    ...(asked.kind === null || asked.kind === 'node' ? [node.node] : []),
  ]);
}

function namesListed(record: LogRecord, asked: AskedName): string[] {
  const parsed = parseRecord('inventory', record);
  return parsed.ok && parsed.event.status === 'complete' ? askableNames(parsed.event, asked) : [];
}

interface Waiter {
  readonly watch: NodeFollower;
  readonly event: FleetEvent;
  readonly record: LogRecord;
}

/** Clocks of brokers differ less. A cause that has not come by then is not on the log. */
const MOST_MS = 10_000;

/**
 * Tells the events of one partition so that no decision comes before its inventory. Clocks of brokers differ a little, so that an
 * effect can be read before its cause; what follows it waits with it.
 */
class CausesFirst {
  /** Of the last inventory that was told. */
  #lastOffset = -1n;
  #waiters: Waiter[] = [];

  tell(watch: NodeFollower, event: FleetEvent, record: LogRecord): void {
    const waiter = { watch, event, record };
    const [first] = this.#waiters;
    if (first && record.timestampMs - first.record.timestampMs > MOST_MS) this.release();
    if (event.type === 'fleetgc.node.inventory') tellNow(waiter);
    else this.#waiters.push(waiter);
    this.#releaseReady();
  }

  /** The inventory at this offset is the next to be told, or is not told at all. */
  passed(offset: bigint): void {
    this.#releaseReady();
    this.#lastOffset = offset;
  }

  /** Nothing more comes, so nothing needs to wait. */
  release(): void {
    const released = this.#waiters;
    this.#waiters = [];
    released.forEach(tellNow);
  }

  #releaseReady(): void {
    if (this.#waiters.every(({ event }) => awaited(event) <= this.#lastOffset)) this.release();
  }
}

const tellNow = ({ watch, event, record }: Waiter): void => watch.tell(event, momentOf(event, record));

/** The offset of the inventory that has to be known before; of other events none. */
const awaited = (event: FleetEvent): bigint =>
  event.type === 'fleetgc.node.decision' &&
  event.input.topic === TOPICS.inventory.name &&
  isOffsetText(event.input.offset)
    ? BigInt(event.input.offset)
    : -1n;

function momentOf(event: FleetEvent, { topic, partition, offset, timestampMs }: LogRecord) {
  return {
    loggedAtMs: timestampMs,
    nodeTimeMs: instantOf(event)?.wallTimeMs ?? timestampMs,
    record: { topic, partition, offset: String(offset) },
  };
}

/** By the clock of a node; what is about a cluster has the API server's. */
const instantOf = (event: FleetEvent): Instant | undefined => {
  if (!('node' in event)) return undefined;
  if ('takenAt' in event) return event.takenAt;
  return 'at' in event ? event.at : undefined;
};
