import { isNodeKey, nodeKey } from '../../../schemas/events/identity.ts';
import { isOffsetText } from '../../../schemas/events/offset-text.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { type FleetEvent, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { Candidate, ObjectState } from '../../../schemas/reports/explanation.ts';
import {
  type ActedName,
  type Found,
  type FoundNames,
  isActed,
  isActedName,
  isListed,
  isListedName,
  type ListedName,
  linesOnNodes,
  type NameIndex,
  type NameLine,
  type NameSearch,
  type Span,
} from '../../archive/names.ts';
import type { EventLog, LogRecord } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import type { RecordedEvent, TimeRange } from '../../records/read-log.ts';
import { objectKey } from '../events/log-position.ts';
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
  IS_ASKED_BY_NAME,
  meansById,
  meansListed,
  meansNode,
  type NodeFilter,
  nodeOfKey,
  shortOf,
  type WatchedNode,
} from './question.ts';

/** A node, and where its records lie. */
export type NodePlace = Pick<IndexedNode, 'key' | 'partitions'>;

/** What an index leaves to be read. */
export interface IndexSearchResult {
  /** The nodes whose records tell what is meant there. */
  readonly toRead: readonly NodePlace[];
  /** Everything that is meant on all other nodes. */
  readonly candidates: readonly Candidate[];
  /** All nodes on which something may be meant. */
  readonly nodes: readonly NodePlace[];
  /** What else could have been asked for; gathered where nothing is meant. */
  readonly names: ReadonlySet<string>;
  /** Of all files that the index spoke of, and in which a node that was asked for wrote. */
  readonly records: number;
}

interface IndexSearchNeeds {
  readonly index: NameIndex;
  readonly filter: NodeFilter;
  readonly signal: AbortSignal;
  /** Of so many nodes the records are read, whatever the index says; a name that means more has to be narrowed anyway. */
  readonly mostNodes: number;
}

/** Asks the index where the name can mean something. `null`: it cannot tell, so all has to be read. */
export async function searchIndex(
  asked: AskedName,
  range: NameSearch['range'],
  { index, filter, signal, mostNodes }: IndexSearchNeeds,
): Promise<IndexSearchResult | null> {
  if (asked.needles.length === 0) return null;
  const topics = canBeNode(asked) ? ALL_TOPICS : ALL_TOPICS.filter((topicId) => topicId !== 'decisions');
  const search = { topics, range, texts: asked.needles };
  const files = await index.search(search, signal);
  if (files === null) return null;
  const nodes = indexedNodes(files, asked, filter);
  const ofAsked = files.filter((file) => file.nodes.written.some((key) => filter(nodeOfKey(key))));
  const records = ofAsked.reduce((sum, file) => sum + file.records, 0);
  const last = nodes.length > 0 ? [] : await index.lastNames(search, signal);
  const names = new Set([...files, ...last].flatMap((file) => askable(file, asked, filter)));
  if (nodes.length <= mostNodes) return { nodes, toRead: nodes, candidates: [], names, records };
  const keys = new Set(nodes.map(({ key }) => key));
  const within = await index.withinRange(files, { ...search, keys }, signal);
  const meant = indexedNodes(within, asked, filter);
  const find: Find = async (topics, texts) => {
    const found = texts?.every((text) => wasSearched(text, asked))
      ? files.filter(({ topicId }) => topics.includes(topicId))
      : ((await index.search({ topics, range, texts }, signal)) ?? []);
    return await index.withinRange(found, { range, texts, keys }, signal);
  };
  return { nodes: meant, ...(await candidatesOf(meant, within, find)), names, records };
}

/** Whether all lines in which it stands were found with the name that was asked: as a rule the id of an object that was asked for by it. */
const wasSearched = (text: string, { needles }: AskedName): boolean =>
  needles.some((needle) => text.includes(needle));

const ALL_TOPICS = ['inventory', 'decisions', 'commands', 'results'] as const;

/** In short and in full, of the kind that is asked for. */
const askable = ({ lines, nodes }: FoundNames, { kind }: AskedName, filter: NodeFilter): string[] => [
  ...lines.flatMap((line) =>
    isAskable(line) &&
    (kind === null || kind === line.kind) &&
    Object.keys(line.on).some((key) => filter(nodeOfKey(key)))
      ? [line.name, shortOf(line.name)]
      : [],
  ),
  ...(kind === null || kind === 'node' ? nodes.written : [])
    .filter((key) => filter(nodeOfKey(key)))
    .map(shortOf),
];

const isAskable = (line: NameLine): line is ListedName => isListedName(line) && IS_ASKED_BY_NAME[line.kind];

interface ObjectsOnNode {
  readonly node: IndexedNode;
  readonly objects: readonly IndexedObject[] | null;
}

type Find = (topics: NameSearch['topics'], texts: NameSearch['texts']) => Promise<readonly FoundNames[]>;

async function candidatesOf(
  nodes: readonly IndexedNode[],
  files: readonly FoundNames[],
  find: Find,
): Promise<Pick<IndexSearchResult, 'toRead' | 'candidates'>> {
  const all = nodes.map((node): ObjectsOnNode => ({ node, objects: indexedObjects(node) }));
  const past = indexedPast(files, await linesOfActs(all, find));
  const otherNames = await linesOfImagesThatLeft(all, past, find);
  const candidates: Candidate[] = [];
  const toRead: IndexedNode[] = [];
  for (const { node, objects } of all) {
    const told = objects?.map((object) =>
      indexedCandidate(node, object, past, otherNames(node.key, object) ?? object.meant),
    );
    if (told?.every((candidate) => candidate !== null)) candidates.push(...told);
    else toRead.push(node);
  }
  return { toRead, candidates };
}

/** To look for more at a time takes longer than to take all of what was commanded and done, or to read an image's nodes. */
const MOST_TEXTS = 64;

/** What was commanded and done with objects that may be meant by their names. */
async function linesOfActs(all: readonly ObjectsOnNode[], find: Find): Promise<readonly FoundNames[]> {
  const ids = new Set(all.flatMap(({ objects }) => objects?.map(({ id }) => id) ?? []));
  if (ids.size === 0) return [];
  return await find(['commands', 'results'], ids.size > MOST_TEXTS ? null : [...ids]);
}

/** An image that a last look does not list by this name may be there by another one. None: of these nobody knows. */
async function linesOfImagesThatLeft(all: readonly ObjectsOnNode[], past: IndexedPast, find: Find) {
  const left = all.flatMap(({ node, objects }) =>
    (objects ?? []).filter((object) => hasLeft(node.key, object, past)),
  );
  const ids = new Set(left.map(({ id }) => id));
  const isSearched = ids.size > 0 && ids.size <= MOST_TEXTS;
  const files = isSearched ? await find(['inventory'], [...ids]) : [];
  const lines = linesOnNodes(files, (line) => line.kind === 'image' && ids.has(line.id)).filter(isListed);
  const byPlace = Map.groupBy(lines, ({ key, line }) => `${key} ${line.id}`);
  return (key: string, object: IndexedObject): readonly Found<ListedName>[] | null =>
    hasLeft(key, object, past) ? (byPlace.get(`${key} ${object.id}`) ?? []) : null;
}

function hasLeft(key: string, { kind, meant }: IndexedObject, { lastLooks }: IndexedPast): boolean {
  const look = lastLooks.get(key);
  return (
    kind === 'image' &&
    !meant.some(({ file, line }) => file.name === look?.file.name && line.on[key]?.[1] === look.number)
  );
}

/** What an index says of one node on which something may be meant. */
interface IndexedNode {
  readonly key: string;
  readonly where: WatchedNode;
  /** Where its records lie: one, unless somebody wrote to others too. */
  readonly partitions: ReadonlySet<number>;
  /** Whether only its records can tell: some cannot be read, or the node itself may be meant. */
  readonly isUncertain: boolean;
  readonly listed: readonly Found<ListedName>[];
  readonly acted: readonly Found<ActedName>[];
}

/** Every node on which the name may mean something, and no other. */
function indexedNodes(
  files: readonly FoundNames[],
  asked: AskedName,
  filter: (node: WatchedNode) => boolean,
): IndexedNode[] {
  const isMeant = (line: NameLine): boolean =>
    isListedName(line) ? meansListed(asked, line) : meansById(asked, line);
  const byNode = Map.groupBy(linesOnNodes(files, isMeant), ({ key }) => key);
  const partitions = partitionsIn(files);
  const uncertain = new Set(files.flatMap((file) => uncertainIn(file, asked)));
  return [...new Set([...byNode.keys(), ...uncertain])]
    .map((key) => ({
      key,
      where: nodeOfKey(key),
      partitions: partitions.get(key) ?? new Set(),
      isUncertain: uncertain.has(key),
      lines: byNode.get(key) ?? [],
    }))
    .filter(({ where }) => filter(where))
    .map(({ lines, ...node }) => ({ ...node, listed: lines.filter(isListed), acted: lines.filter(isActed) }));
}

function partitionsIn(files: readonly FoundNames[]): ReadonlyMap<string, Set<number>> {
  const partitions = new Map<string, Set<number>>();
  for (const { nodes, partition } of files)
    for (const key of nodes.written) partitions.set(key, (partitions.get(key) ?? new Set()).add(partition));
  return partitions;
}

const uncertainIn = ({ nodes }: FoundNames, asked: AskedName): readonly string[] => [
  ...nodes.unread,
  ...nodes.written.filter((key) => meansNode(asked, nodeOfKey(key))),
];

/** Whether the name can be that of a node. */
const canBeNode = ({ kind, text }: AskedName): boolean =>
  (kind === null || kind === 'node') && isNodeKey(text.includes('/') ? text : `any/${text}`);

/** What the files of an index say together, by node. */
interface IndexedPast {
  /** Where the last complete inventory of a node is. */
  readonly lastLooks: ReadonlyMap<string, Place>;
  /** What was commanded and done, by node and object. */
  readonly acts: ReadonlyMap<string, readonly Found<ActedName>[]>;
}

interface Place {
  readonly file: FoundNames;
  readonly number: number;
}

/** `acting`: with every line of what was commanded and done with what may be meant. */
function indexedPast(files: readonly FoundNames[], acting: readonly FoundNames[]): IndexedPast {
  const looks = files.flatMap((file) =>
    Object.entries(file.nodes.looked).map(([key, [, number]]) => [key, { file, number }] as const),
  );
  const acts = linesOnNodes(acting, isActedName).filter(isActed);
  return { lastLooks: new Map(looks), acts: Map.groupBy(acts, ({ key, line }) => placeOf(key, line)) };
}

const placeOf = (key: string, object: Parameters<typeof objectKey>[0]): string =>
  `${key} ${objectKey(object)}`;

/** An object that a name means, by what an index says of it. */
interface IndexedObject {
  readonly kind: Exclude<ListedName['kind'], 'pod'>;
  readonly id: string;
  /** Lines by which it is meant, in the order of the log. */
  readonly meant: readonly Found<ListedName>[];
  readonly acted: readonly Found<ActedName>[];
}

/** The objects that are meant on the node; `null` where only its records can tell all of them. */
function indexedObjects({ isUncertain, listed, acted }: IndexedNode): IndexedObject[] | null {
  const objects = new Map<string, IndexedObject>();
  for (const found of listed) {
    const { kind, id } = found.line;
    if (kind === 'pod') return null;
    const key = objectKey({ kind, id });
    const known = objects.get(key) ?? { kind, id, meant: [], acted: [] };
    objects.set(key, { ...known, meant: [...known.meant, found] });
  }
  for (const found of acted) {
    const known = objects.get(objectKey(found.line));
    if (known === undefined) return null;
    objects.set(objectKey(found.line), { ...known, acted: [...known.acted, found] });
  }
  return isUncertain ? null : [...objects.values()];
}

/** Results count as of another look than the one that is logged as near as this. */
const UNCLEAR_MS = 60_000;

/**
 * The object as reading all of the node would show it, told by the index alone; `null` where only its records can tell.
 * `listed` has every line that lists it, also under names by which it is not meant.
 */
function indexedCandidate(
  { key, where }: IndexedNode,
  { kind, id, meant, acted }: IndexedObject,
  { lastLooks, acts }: IndexedPast,
  listed: readonly Found<ListedName>[],
): Candidate | null {
  const spanOf = ({ line }: { readonly line: ListedName | ActedName }): Span => line.on[key] ?? [0, 0, 0, 0];
  const look = lastLooks.get(key);
  const last = lastOf(listed, spanOf);
  const done = acts.get(placeOf(key, { kind, id })) ?? [];
  if (look === undefined || last === undefined) return null;
  if ([look, ...listed, ...meant, ...done].some(({ file }) => file.isCut)) return null;
  const [, number, , lastSeenMs] = spanOf(last);
  const isListed = look.file.name === last.file.name && look.number === number;
  const state = stateAfter(
    lastSeenMs,
    isListed,
    done.map((act) => ({ outcome: act.line.outcome, span: spanOf(act) })),
  );
  if (state === null) return null;
  const firsts = [...meant, ...acted].map((found) => spanOf(found)[2]);
  return { kind, id, name: last.line.name, ...where, state, firstSeenMs: Math.min(...firsts), lastSeenMs };
}

/** Of several names in one file the one of the last look; `undefined` where that is not clear. */
function lastOf(
  listed: readonly Found<ListedName>[],
  spanOf: (found: Found<ListedName>) => Span,
): Found<ListedName> | undefined {
  const lastFile = listed.at(-1)?.file.name;
  const inLast = listed.filter(({ file }) => file.name === lastFile);
  const [last, other] = inLast.toSorted((a, b) => spanOf(b)[1] - spanOf(a)[1]);
  const isClear = last !== undefined && (other === undefined || spanOf(other)[1] < spanOf(last)[1]);
  return isClear ? last : undefined;
}

interface Done {
  readonly outcome: string | null;
  readonly span: Span;
}

const STATE_AFTER: Readonly<Record<string, ObjectState>> = { removed: 'removed', 'not-found': 'gone' };

function stateAfter(lastSeenMs: number, isListed: boolean, acts: readonly Done[]): ObjectState | null {
  const results = acts.filter(
    ({ outcome, span }) => outcome !== null && outcome in STATE_AFTER && span[3] > lastSeenMs - UNCLEAR_MS,
  );
  const [result, ...others] = new Set(results.map(({ outcome }) => outcome ?? ''));
  if (result === undefined) return isListed ? 'there' : 'gone';
  const isAfter = results.every(({ span }) => span[3] > lastSeenMs);
  return isAfter && others.length === 0 ? (STATE_AFTER[result] ?? null) : null;
}

interface WatchNeeds {
  readonly log: Pick<EventLog, 'read'>;
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
