import { isNodeKey } from '../../../schemas/events/identity.ts';
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
import { objectKey } from '../events/log-position.ts';
import {
  type AskedName,
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
