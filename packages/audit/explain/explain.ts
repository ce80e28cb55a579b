import { nodeKey } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { Candidate, Explanation, Reading } from '../../../schemas/reports/explanation.ts';
import type { NameIndex } from '../../archive/names.ts';
import { partitionOf } from '../../log/partition.ts';
import type { LogReader } from '../../log/port.ts';
import { ALL_PARTITIONS, type ReadingProgress } from '../events/reading.ts';
import type { Subject } from './node.ts';
import { type AskedName, askedName, type ExplainRequest, type NodeFilter, namesLike } from './question.ts';
import { type IndexSearchResult, type NodePlace, searchIndex } from './search.ts';
import { type Watched, watchPartitions } from './watch-partitions.ts';

interface ExplainNeeds {
  readonly log: LogReader;
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

/** What was found, and where it was looked for. */
interface FoundSubjects {
  readonly watched: readonly Watched[];
  /** Told by an index; their lives were not read. */
  readonly indexed: readonly Candidate[];
  /** Names that may have been meant, beside those of what was read. */
  readonly names: ReadonlySet<string>;
  /** Records that an index ruled out. */
  readonly ruledOut: number;
}

interface MaybeRead extends Pick<Subject, 'candidate'> {
  /** `null`: it was not read. */
  readonly timeline: Subject['timeline'] | null;
}

/** The one thing that is meant, where its life is still to be read. */
function stillToRead(found: FoundSubjects, request: ExplainRequest): Candidate | null {
  const [only, ...others] = chosen(found, request);
  return only !== undefined && others.length === 0 && only.timeline === null ? only.candidate : null;
}

function answerOf(found: FoundSubjects, request: ExplainRequest, asked: AskedName): Explanation {
  const { name, range } = request;
  const subjects = chosen(found, request);
  const head = {
    type: 'fleetgc.explanation',
    version: 1,
    asked: name,
    reading: { ...range, ...readingOf(found) },
  } as const;
  const [only, ...others] = subjects;
  if (only === undefined) {
    const names = new Set([...found.watched.flatMap((one) => [...one.names]), ...found.names]);
    return { ...head, status: 'not-found', ...namesLike(asked, names) };
  }
  return others.length === 0
    ? { ...head, status: 'explained', subject: only.candidate, timeline: [...(only.timeline?.() ?? [])] }
    : {
        ...head,
        status: 'ambiguous',
        candidates: subjects.map(({ candidate }) => candidate).toSorted(byPlace),
      };
}

function chosen({ watched, indexed }: FoundSubjects, { thereOnly }: ExplainRequest): readonly MaybeRead[] {
  const subjects: readonly MaybeRead[] = [
    ...watched.flatMap((one) => one.subjects),
    ...indexed.map((candidate) => ({ candidate, timeline: null })),
  ];
  const there = subjects.filter(({ candidate }) => candidate.state === 'there');
  return thereOnly && there.length > 0 ? there : subjects;
}

/** The same order however they were found. */
const byPlace = (a: Candidate, b: Candidate): number =>
  compareText(nodeKey(a), nodeKey(b)) ||
  a.firstSeenMs - b.firstSeenMs ||
  compareText(a.name, b.name) ||
  compareText(a.id, b.id);

function readingOf({ watched, ruledOut }: FoundSubjects): Omit<Reading, 'fromMs' | 'toMs'> {
  const firsts = watched.flatMap(({ firstRecordMs }) => firstRecordMs ?? []);
  const lasts = watched.flatMap(({ lastRecordMs }) => lastRecordMs ?? []);
  return {
    firstRecordMs: firsts.length === 0 ? null : Math.min(...firsts),
    lastRecordMs: lasts.length === 0 ? null : Math.max(...lasts),
    records: watched.reduce((sum, one) => sum + one.records, 0),
    unreadable: watched.reduce((sum, one) => sum + one.unreadable, 0),
    ruledOut,
  };
}
