import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import { SUBJECTS } from '../../../../schemas/events/identity.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import type {
  ClusterCandidate,
  ClusterExplanation,
  ObjectLife,
  ObjectName,
} from '../../../../schemas/reports/cluster-explanation.ts';
import { partitionOf } from '../../../log/partition.ts';
import type { EventLog } from '../../../log/port.ts';
import type { RecordedEvent, TimeRange } from '../../../records/read-log.ts';
import { ALL_PARTITIONS, type ReadingProgress, readNodes } from '../../events/reading.ts';
import { nearNames } from '../near-names.ts';
import { askedObject } from './asked-object.ts';
import { ACTS, FACTS, GatheredLives, type GatheringNeeds } from './gathered-lives.ts';
import type { RuleWords } from './happenings.ts';
import { toldLife } from './told-life.ts';

/** Which object of a cluster is asked for, and where to look for it. */
export interface ClusterExplainRequest {
  readonly name: string;
  /** `null`: any. */
  readonly cluster: string | null;
  readonly range: TimeRange;
  /** Of several things that the name means only those that were there in the end, if there are any. */
  readonly thereOnly: boolean;
}

export interface ClusterExplainNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly words: RuleWords;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReadingProgress) => void;
}

/** What became of the objects of clusters that the name means, and why. Throws `USAGE` for a name that can mean nothing. */
export async function explainCluster(
  request: ClusterExplainRequest,
  { log, words, signal, onProgress }: ClusterExplainNeeds,
): Promise<ClusterExplanation> {
  const { cluster, range } = request;
  const needs: GatheringNeeds = { asked: askedObject(request.name), cluster, words };
  const partitions = partitionsOf(cluster);
  const gathered = new Map(partitions.map((partition) => [partition, new GatheredLives(needs)] as const));
  const reading = { log, range, partitions, partitionsAtOnce: PARTITIONS_AT_ONCE, onProgress };
  for (const { topics, take } of PASSES)
    await readNodes(
      { ...reading, topics },
      async (partition) => takerOf(gathered.get(partition), take),
      signal,
    );
  return answerOf(request, needs, [...gathered.values()]);
}

/** Waiting for a broker is most of the work where a partition has little to read. */
const PARTITIONS_AT_ONCE = 4;

type Take = (lives: GatheredLives, recorded: RecordedEvent) => boolean;

/** All facts are read before what was decided on them. */
const PASSES: readonly { readonly topics: readonly TopicId[]; readonly take: Take }[] = [
  { topics: FACTS, take: (lives, recorded) => lives.takeFact(recorded) },
  { topics: ACTS, take: (lives, recorded) => lives.takeAct(recorded) },
];

const takerOf = (lives: GatheredLives | undefined, take: Take) => ({
  take: (recorded: RecordedEvent): boolean => lives !== undefined && take(lives, recorded),
  finish: () => undefined,
});

const partitionsOf = (cluster: string | null): readonly number[] =>
  cluster === null
    ? ALL_PARTITIONS
    : [partitionOf(TOPICS.clusterOwnership.name, SUBJECTS.cluster.keyOf({ cluster }))];

interface NamedLife {
  readonly name: ObjectName;
  readonly life: ObjectLife;
}

function answerOf(
  request: ClusterExplainRequest,
  { asked }: GatheringNeeds,
  gathered: readonly GatheredLives[],
): ClusterExplanation {
  const lives = gathered
    .flatMap(({ lives: found }) => [...found.values()])
    .map((life): NamedLife => {
      const { group, kind, namespace, name } = life.object;
      return { name: { cluster: life.cluster, group, kind, namespace, name }, life: toldLife(life) };
    })
    .toSorted((a, b) => a.life.firstMs - b.life.firstMs);
  const names = Map.groupBy(chosen(lives, request), ({ name }) => JSON.stringify(name));
  const head = {
    type: 'fleetgc.cluster-explanation',
    version: 1,
    asked: asked.asked,
    reading: { ...request.range, ...readingOf(gathered) },
  } as const;
  const [only, ...others] = names.values();
  const [first] = only ?? [];
  if (only === undefined || first === undefined)
    return {
      ...head,
      status: 'not-found',
      nearNames: nearNames(asked.name, namesIn(gathered)),
    };
  return others.length === 0
    ? { ...head, status: 'explained', subject: first.name, lives: only.map(({ life }) => life) }
    : {
        ...head,
        status: 'ambiguous',
        candidates: [...names.values()].flat().map(candidateOf).toSorted(byName),
      };
}

const namesIn = (gathered: readonly GatheredLives[]): ReadonlySet<string> =>
  new Set(gathered.flatMap((each) => [...each.names()]));

const isThere = ({ life: { state } }: NamedLife): boolean => state === 'there' || state === 'being-deleted';

function chosen(lives: readonly NamedLife[], { thereOnly }: ClusterExplainRequest): readonly NamedLife[] {
  const there = lives.filter(isThere);
  return thereOnly && there.length > 0 ? there : lives;
}

const candidateOf = ({ name, life: { timeline: _, ...life } }: NamedLife): ClusterCandidate => ({
  ...name,
  ...life,
});

const nameText = ({ cluster, namespace, name, ...kind }: ClusterCandidate): string =>
  [cluster, kindName(kind), namespace, name].join('/');

const byName = (a: ClusterCandidate, b: ClusterCandidate): number =>
  compareText(nameText(a), nameText(b)) || a.firstMs - b.firstMs;

function readingOf(
  gathered: readonly GatheredLives[],
): Omit<ClusterExplanation['reading'], 'fromMs' | 'toMs'> {
  const readers = gathered.map(({ reader }) => reader);
  const firsts = readers.flatMap(({ span }) => span.firstMs ?? []);
  const lasts = readers.flatMap(({ span }) => span.lastMs ?? []);
  return {
    firstRecordMs: firsts.length === 0 ? null : Math.min(...firsts),
    lastRecordMs: lasts.length === 0 ? null : Math.max(...lasts),
    records: readers.reduce((sum, { records }) => sum + records, 0),
    unreadable: readers.reduce((sum, { unreadable }) => sum + unreadable, 0),
  };
}
