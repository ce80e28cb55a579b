import type { Candidate } from '../../../../schemas/reports/explanation.ts';
import {
  type Found,
  type FoundNames,
  isListed,
  isListedName,
  type ListedName,
  linesOnNodes,
  type NameIndex,
  type NameLine,
  type NameSearch,
} from '../../../archive/names.ts';

import { shortOf } from '../near-names.ts';
import { type AskedName, IS_ASKED_BY_NAME, type NodeFilter, nodeOfKey } from '../question.ts';
import {
  type IndexedObject,
  type IndexedPast,
  indexedCandidate,
  indexedObjects,
  indexedPast,
} from './indexed-candidates.ts';
import { canBeNode, type IndexedNode, indexedNodes } from './indexed-nodes.ts';

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

export interface IndexSearchNeeds {
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
