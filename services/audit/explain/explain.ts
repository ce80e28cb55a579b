import type { Candidate, Explanation, Reading } from '../../../schemas/explanation.ts';
import { NODE_PARTITIONS, TOPICS } from '../../../schemas/topics.ts';
import { mapBounded } from '../../shared/cri/bounded.ts';
import { partitionOf } from '../../shared/event-log/partition.ts';
import type { EventLog } from '../../shared/event-log/port.ts';
import { readPartition, type TimeRange } from '../read-log.ts';
import { type AskedName, askedName } from './asked-name.ts';
import { nearNames } from './near-names.ts';
import { createPartitionWatch, type NodeFilter, type Watched } from './partition-watch.ts';
import type { Subject } from './subjects.ts';

export interface ExplainRequest {
  readonly name: string;
  /** `<node>` or `<cluster>/<node>`; `null`: any. */
  readonly node: string | null;
  readonly range: TimeRange;
  /** Of several things that the name means only those that were there in the end, if there are any. */
  readonly thereOnly: boolean;
}

export interface ExplainProgress {
  /** Partitions that were read, and how many there are to read. */
  readonly done: number;
  readonly of: number;
  readonly records: number;
}

export interface ExplainNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ExplainProgress) => void;
}

const READ = ['inventory', 'decisions', 'commands', 'results'] as const;
const PROGRESS_EVERY_RECORDS = 500;
/** Waiting for a broker is most of the work where a partition has little to read. */
const PARTITIONS_AT_ONCE = 4;

/** What became of whatever the name means, and why. Throws `USAGE` for a name that can mean nothing. */
export async function explain(request: ExplainRequest, needs: ExplainNeeds): Promise<Explanation> {
  const asked = askedName(request.name);
  const watch = watcher(asked, request, needs);
  return answered(request, asked, await watch(partitionsOf(asked, request)));
}

/** Reads several partitions at once; the first failure ends them all. */
function watcher(asked: AskedName, request: ExplainRequest, { log, signal, onProgress }: ExplainNeeds) {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const filter = nodeFilter(request);
  let isFound = false;
  let done = 0;
  let records = 0;
  const watchOne = async (partition: number, of: number): Promise<Watched> => {
    const watch = createPartitionWatch(asked, filter, { gatherNames: () => !isFound });
    const reading = { topics: READ, partition, range: request.range };
    for await (const recorded of readPartition(log, reading, either)) {
      watch.tell(recorded);
      records += 1;
      if (records % PROGRESS_EVERY_RECORDS === 0) onProgress({ done, of, records });
    }
    done += 1;
    const watched = watch.finish();
    isFound ||= watched.subjects.length > 0;
    return watched;
  };
  return async (partitions: readonly number[]): Promise<readonly Watched[]> => {
    try {
      return await mapBounded(partitions, PARTITIONS_AT_ONCE, (one) => watchOne(one, partitions.length));
    } finally {
      failed.abort();
    }
  };
}

/** All of them, unless the cluster is known too, since the partition follows from both. */
function partitionsOf({ kind, text }: AskedName, { node }: ExplainRequest): readonly number[] {
  const key = [node, kind === 'node' ? text : null].find((name) => name?.includes('/'));
  return key
    ? [partitionOf(TOPICS.inventory.name, key)]
    : Array.from({ length: NODE_PARTITIONS }, (_, n) => n);
}

const nodeFilter =
  ({ node }: ExplainRequest): NodeFilter =>
  (one) =>
    node === null || node === one.node || node === `${one.cluster}/${one.node}`;

function answered(
  { name, range, thereOnly }: ExplainRequest,
  { text }: AskedName,
  watched: readonly Watched[],
): Explanation {
  const subjects = chosen(
    watched.flatMap((one) => one.subjects),
    thereOnly,
  );
  const head = {
    type: 'fleetgc.explanation',
    version: 1,
    asked: name,
    reading: { ...range, ...readingOf(watched) },
  } as const;
  const [only, ...others] = subjects;
  if (only === undefined) {
    const names = new Set(watched.flatMap((one) => [...one.names]));
    return { ...head, status: 'not-found', nearNames: nearNames(text, names) };
  }
  return others.length === 0
    ? { ...head, status: 'explained', subject: only.candidate, timeline: [...only.timeline()] }
    : {
        ...head,
        status: 'ambiguous',
        candidates: subjects.map(({ candidate }) => candidate).toSorted(byPlace),
      };
}

function chosen(subjects: readonly Subject[], thereOnly: boolean): readonly Subject[] {
  const there = subjects.filter(({ candidate }) => candidate.state === 'there');
  return thereOnly && there.length > 0 ? there : subjects;
}

const byPlace = (a: Candidate, b: Candidate): number =>
  compare(`${a.cluster}/${a.node}`, `${b.cluster}/${b.node}`) || a.firstSeenMs - b.firstSeenMs;
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function readingOf(watched: readonly Watched[]): Omit<Reading, 'fromMs' | 'toMs'> {
  const firsts = watched.flatMap(({ firstRecordMs }) => firstRecordMs ?? []);
  const lasts = watched.flatMap(({ lastRecordMs }) => lastRecordMs ?? []);
  return {
    firstRecordMs: firsts.length === 0 ? null : Math.min(...firsts),
    lastRecordMs: lasts.length === 0 ? null : Math.max(...lasts),
    records: watched.reduce((sum, one) => sum + one.records, 0),
    unreadable: watched.reduce((sum, one) => sum + one.unreadable, 0),
  };
}
