import { nodeKey } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { Explanation } from '../../../schemas/reports/explanation.ts';
import type { NameIndex } from '../../archive/names.ts';
import { partitionOf } from '../../log/partition.ts';
import type { EventLog } from '../../log/port.ts';
import { ALL_PARTITIONS, type ReadingProgress } from '../events/reading.ts';
import { answerOf, type FoundSubjects, stillToRead } from './answer.ts';
import { type IndexSearchResult, type NodePlace, searchIndex } from './by-index/search-index.ts';
import { type AskedName, askedName, type ExplainRequest, type NodeFilter } from './question.ts';
import { watchPartitions } from './watch-partitions.ts';

export interface ExplainNeeds {
  readonly log: Pick<EventLog, 'read'>;
  /** Of an archive: what it rules out is not read. */
  readonly index?: NameIndex;
  /** Of so many nodes the records are read, whatever the index says. */
  readonly mostNodes?: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReadingProgress) => void;
  /** Everything has to be read, since the index does not speak of all of it. */
  readonly onIndexMissing?: () => void;
}

/** A list of more nodes is answer enough: it says to name one of them. */
const MOST_NODES = 16;

/** What became of whatever the name means, and why. Throws `USAGE` for a name that can mean nothing. */
export async function explain(request: ExplainRequest, needs: ExplainNeeds): Promise<Explanation> {
  const question = { asked: askedName(request.name), request, needs };
  return answerOf(await findSubjects(question), request, question.asked);
}

interface Question {
  readonly asked: AskedName;
  readonly request: ExplainRequest;
  readonly needs: ExplainNeeds;
}

async function findSubjects(question: Question): Promise<FoundSubjects> {
  const { asked, request, needs } = question;
  const { index, signal, mostNodes = MOST_NODES } = needs;
  if (index === undefined) return await readAll(question);
  if (request.node?.includes('/')) return readOnly(await watchNodes(question, [placeOf(request.node)]));
  const filter = nodeFilter(request);
  const found = await searchIndex(asked, request.range, { index, filter, signal, mostNodes });
  if (found !== null) return await readFound(question, found);
  needs.onIndexMissing?.();
  return await readAll(question);
}

const placeOf = (key: string): NodePlace => ({
  key,
  partitions: new Set([partitionOf(TOPICS.inventory.name, key)]),
});

async function readFound(question: Question, places: IndexSearchResult): Promise<FoundSubjects> {
  const { toRead, candidates, names, nodes, records } = places;
  const watched = await watchNodes(question, toRead);
  const read = watched.reduce((sum, one) => sum + one.records, 0);
  const found = { watched, indexed: candidates, names, ruledOut: Math.max(0, records - read) };
  const only = stillToRead(found, question.request);
  if (only === null) return found;
  const itsNode = nodes.filter(({ key }) => key === nodeKey(only));
  return { ...found, indexed: [], watched: [...watched, ...(await watchNodes(question, itsNode))] };
}

const readOnly = (watched: FoundSubjects['watched']): FoundSubjects => ({
  watched,
  indexed: [],
  names: new Set(),
  ruledOut: 0,
});

async function readAll({ asked, request, needs }: Question): Promise<FoundSubjects> {
  const { range } = request;
  const filter = nodeFilter(request);
  return readOnly(await watchPartitions({ ...needs, asked, range, filter }, partitionsOf(asked, request)));
}

async function watchNodes({ asked, request, needs }: Question, nodes: readonly NodePlace[]) {
  const { range } = request;
  const keys = new Set(nodes.map(({ key }) => key));
  const log = needs.index?.ofNodes([...keys]) ?? needs.log;
  const filter: NodeFilter = (node) => keys.has(nodeKey(node));
  const partitions = new Set(nodes.flatMap((node) => [...node.partitions]));
  return await watchPartitions({ ...needs, log, asked, range, filter }, [...partitions]);
}

/** All of them, unless the cluster is known too, since the partition follows from both. */
function partitionsOf({ kind, text }: AskedName, { node }: ExplainRequest): readonly number[] {
  const key = [node, kind === 'node' ? text : null].find((name) => name?.includes('/'));
  return key ? [partitionOf(TOPICS.inventory.name, key)] : ALL_PARTITIONS;
}

const nodeFilter =
  ({ node }: ExplainRequest): NodeFilter =>
  (one) =>
    node === null || node === one.node || node === nodeKey(one);
