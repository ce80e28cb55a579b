import { type ClusterInstant, kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type {
  ClusterCandidate,
  ClusterExplanation,
  ClusterTimelineEntry,
  ObjectLife,
  ObjectName,
} from '../../../schemas/reports/cluster-explanation.ts';
import { partitionOf } from '../../log/partition.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { FleetGcError } from '../../process/errors.ts';
import type { RecordedEvent, TimeRange } from '../../records/read-log.ts';
import {
  ALL_PARTITIONS,
  type ReadingProgress,
  readNodes,
  type TopicTakers,
  takeByTopic,
} from '../events/reading.ts';
import { EventReader } from '../events/record-reader.ts';
import {
  commandEntry,
  expiringEntry,
  type GatheredLife,
  type Moment,
  momentOf,
  type NamedByUid,
  type NamedOwner,
  ownedEntry,
  ownersOf,
  owningEntry,
  podEntry,
  type RuleWords,
  refusedEntry,
  resultEntry,
  toldLife,
  verdictEntry,
} from './cluster-life.ts';
import { nearNames } from './question.ts';

const FACTS = ['clusterOwnership', 'clusterExpiry', 'clusterPods'] as const satisfies TopicId[];
const ACTS = ['clusterDecisions', 'clusterCommands', 'clusterResults'] as const satisfies TopicId[];
type FactTopic = (typeof FACTS)[number];
type ActTopic = (typeof ACTS)[number];

/** Which object of a cluster is asked for, and where to look for it. */
interface ClusterExplainRequest {
  readonly name: string;
  /** `null`: any. */
  readonly cluster: string | null;
  readonly range: TimeRange;
  /** Of several things that the name means only those that were there in the end, if there are any. */
  readonly thereOnly: boolean;
}

interface ClusterExplainNeeds {
  readonly log: LogReader;
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

/** An object of a fact, by its position there. */
interface Position {
  readonly life: GatheredLife;
  readonly position: number;
  readonly loggedAtMs: number;
}

interface GatheringNeeds {
  readonly asked: AskedObject;
  /** `null`: any. */
  readonly cluster: string | null;
  readonly words: RuleWords;
}

/** Names for those who asked for what was not found come from the last facts of a partition. */
const LAST_FACTS = 20;

/** Gathers what the records of one partition say of the objects that are meant: first all facts, then all that followed from them. */
class GatheredLives {
  readonly reader = new EventReader();
  /** By cluster and uid. */
  readonly lives = new Map<string, GatheredLife>();
  readonly #needs: GatheringNeeds;
  /** By the offsets of the facts. */
  readonly #positions = new Map<string, Position[]>();
  /** Of whole commands, that are answered so. */
  readonly #commands = new Map<string, Set<GatheredLife>>();
  #lastFacts: RecordedEvent[] = [];

  readonly #factTakers: TopicTakers<FactTopic, void> = {
    clusterOwnership: (record) => this.#takeOwnership(record),
    clusterExpiry: (record) => {
      const fact = this.reader.event('clusterExpiry', record);
      fact?.candidates.forEach((candidate, position) => {
        this.#told(candidate.object, { fact, record, position }, (at) => expiringEntry(candidate, at));
      });
    },
    clusterPods: (record) => {
      const fact = this.reader.event('clusterPods', record);
      fact?.candidates.forEach((candidate, position) => {
        this.#told(candidate.object, { fact, record, position }, (at) => podEntry(candidate, at));
      });
    },
  };

  readonly #actTakers: TopicTakers<ActTopic, void> = {
    clusterDecisions: (record) => this.#takeDecision(record),
    clusterCommands: (record) => this.#takeCommand(record),
    clusterResults: (record) => this.#takeResult(record),
  };

  constructor(needs: GatheringNeeds) {
    this.#needs = needs;
  }

  takeFact(recorded: RecordedEvent): boolean {
    if (!this.#counts(recorded.record)) return false;
    this.#lastFacts = [...this.#lastFacts, recorded].slice(-LAST_FACTS);
    if (this.#speaksOf(recorded.record)) takeByTopic(this.#factTakers, recorded);
    return true;
  }

  takeAct(recorded: RecordedEvent): boolean {
    if (!this.#counts(recorded.record)) return false;
    takeByTopic(this.#actTakers, recorded);
    return true;
  }

  /** What else could have been asked for. */
  *names(): Iterable<string> {
    for (const { topicId, record } of this.#lastFacts) {
      const fact = this.reader.event(topicId, record);
      if (fact !== null && 'candidates' in fact) for (const { object } of fact.candidates) yield object.name;
    }
  }

  #counts(record: LogRecord): boolean {
    const { cluster } = this.#needs;
    if (cluster !== null && record.key !== cluster) return false;
    this.reader.count(record);
    return true;
  }

  /** An escaped letter could hide a name. */
  #speaksOf({ value }: LogRecord): boolean {
    return value === null || value.includes(needleOf(this.#needs.asked)) || value.includes('\\u');
  }

  #takeOwnership(record: LogRecord): void {
    const fact = this.reader.event('clusterOwnership', record);
    if (fact === null) return;
    const { cluster, takenAt } = fact;
    for (const { how, ...object } of fact.settled)
      if (isMeant(this.#needs.asked, object))
        note(this.#lifeOf(cluster, object), {
          what: 'settled',
          ...momentOf(record, takenAt),
          how,
          byFleetGc: false,
        });
    fact.candidates.forEach((candidate, position) => {
      this.#told(candidate.object, { fact, record, position }, (at) => ownedEntry(candidate, at));
    });
    const isMeantOwner = ({ owner }: NamedOwner): boolean => isMeant(this.#needs.asked, owner);
    const owners = Map.groupBy(
      fact.candidates.flatMap(ownersOf).filter(isMeantOwner),
      ({ owner }) => owner.uid,
    );
    for (const [first, ...others] of owners.values())
      if (first !== undefined)
        note(
          this.#lifeOf(cluster, first.owner),
          owningEntry(first.reference, others.length + 1, momentOf(record, takenAt)),
        );
  }

  #told(
    object: NamedByUid,
    { fact, record, position }: ToldIn,
    entryAt: (at: Moment) => ClusterTimelineEntry,
  ): void {
    if (!isMeant(this.#needs.asked, object)) return;
    const life = this.#lifeOf(fact.cluster, object);
    const place = placeOf(record);
    const told = { life, position, loggedAtMs: record.timestampMs };
    this.#positions.set(place, [...(this.#positions.get(place) ?? []), told]);
    if (this.reader.isNew({ id: `${fact.id} ${object.uid}` }, record))
      note(life, entryAt(momentOf(record, fact.takenAt)));
  }

  #takeDecision(record: LogRecord): void {
    if (this.#positions.size === 0) return;
    const decision = this.reader.event('clusterDecisions', record);
    if (decision === null || !this.reader.isNew(decision, record)) return;
    for (const { life, position, loggedAtMs } of this.#positions.get(placeOf(decision.input)) ?? []) {
      const verdict = decision.verdicts.find((each) => each.position === position);
      const at = momentOf(record, decision.takenAt);
      if (verdict !== undefined)
        note(life, verdictEntry(decision, verdict, { at, words: this.#needs.words }), loggedAtMs);
    }
  }

  #takeCommand(record: LogRecord): void {
    if (!this.#speaksOf(record)) return;
    const command = this.reader.event('clusterCommands', record);
    if (command === null || !this.reader.isNew(command, record)) return;
    const at = momentOf(record, command.takenAt);
    for (const item of command.items) {
      if (!isMeant(this.#needs.asked, item.object)) continue;
      const life = this.#lifeOf(command.cluster, item.object);
      note(life, commandEntry(command, item, { at, words: this.#needs.words }));
      this.#commands.set(command.id, new Set([...(this.#commands.get(command.id) ?? []), life]));
    }
  }

  #takeResult(record: LogRecord): void {
    const result = this.reader.event('clusterResults', record);
    if (result === null || !this.reader.isNew(result, record)) return;
    const at = momentOf(record, result.at);
    if (result.type === 'fleetgc.cluster.object-results') this.#takeObjectResults(result, at);
    else if (result.type === 'fleetgc.cluster.command-result') this.#takeRefusal(result, at);
  }

  #takeObjectResults({ cluster, commandId, objects }: ClusterObjectResults, at: Moment): void {
    for (const told of objects)
      if (isMeant(this.#needs.asked, told.object))
        note(this.#lifeOf(cluster, told.object), resultEntry(commandId, told, at));
  }

  #takeRefusal(result: ClusterCommandResult, at: Moment): void {
    const refused = refusedEntry(result, at);
    if (refused === null) return;
    for (const life of this.#commands.get(result.commandId) ?? []) note(life, refused);
  }

  #lifeOf(cluster: string, { group, kind, namespace, name, uid }: NamedByUid): GatheredLife {
    const key = `${cluster} ${uid}`;
    const life = this.lives.get(key) ?? {
      cluster,
      object: { group, kind, namespace, name, uid },
      happened: [],
    };
    this.lives.set(key, life);
    return life;
  }
}

interface ToldIn {
  readonly fact: { readonly id: string; readonly cluster: string; readonly takenAt: ClusterInstant };
  readonly record: LogRecord;
  readonly position: number;
}

const note = ({ happened }: GatheredLife, entry: ClusterTimelineEntry, notBeforeMs = 0): void =>
  void happened.push({ orderMs: Math.max(entry.loggedAtMs, notBeforeMs), entry });

const placeOf = ({ topic, offset }: { readonly topic: string; readonly offset: bigint | string }): string =>
  `${topic}@${offset}`;

/** A name of an object of a cluster as somebody asked for it, and what it may mean. */
interface AskedObject {
  readonly asked: string;
  /** `apps/Deployment`, or `Deployment` of any group; `null`: any. */
  readonly kind: string | null;
  /** `null`: any, or none. */
  readonly namespace: string | null;
  readonly name: string;
  /** As a uid, or its beginning; `null` when it cannot be one. */
  readonly uid: string | null;
}

const PREFIX = 'object/';
const KIND = /^[A-Z]/;
const UID_PREFIX = /^[0-9a-f][0-9a-f-]{5,}$/;

/** Whether a name can only be that of an object of a cluster: `ConfigMap/shop/web`, `apps/Deployment/shop/web`, `object/…`. */
export function meansClusterObject(asked: string): boolean {
  if (asked.startsWith(PREFIX)) return true;
  const [first = '', second = '', ...others] = asked.split('/');
  return (second !== '' && KIND.test(first)) || (others.length > 0 && KIND.test(second));
}

/** Throws `USAGE`. */
export function askedObject(asked: string): AskedObject {
  const text = (asked.startsWith(PREFIX) ? asked.slice(PREFIX.length) : asked).trim();
  const parts = text.split('/');
  const place = parts.findIndex((part, index) => index < 2 && index < parts.length - 1 && KIND.test(part));
  const kind = place < 0 ? null : parts.slice(0, place + 1).join('/');
  const [name = '', namespace = null, ...more] = parts.slice(place + 1).toReversed();
  if (name === '' || namespace === '' || more.length > 0)
    throw new FleetGcError(
      'USAGE',
      `${asked} names no object of a cluster; write [GROUP/]KIND/[NAMESPACE/]NAME, NAME or its uid`,
    );
  return { asked, kind, namespace, name, uid: parts.length === 1 ? name : null };
}

export const isMeant = (asked: AskedObject, object: NamedByUid): boolean =>
  isUid(asked, object.uid) || isNamed(asked, object);

const isUid = ({ uid: asked }: AskedObject, uid: string): boolean =>
  asked !== null && (uid === asked || (UID_PREFIX.test(asked) && uid.startsWith(asked)));

const isNamed = ({ kind, namespace, name }: AskedObject, object: NamedByUid): boolean =>
  object.name === name &&
  (namespace === null || object.namespace === namespace) &&
  (kind === null || kind === object.kind || kind === kindName(object));

/** Stands in every record that names what is meant. */
const needleOf = ({ name }: AskedObject): string => name;
