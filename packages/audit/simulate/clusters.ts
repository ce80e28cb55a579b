import { z } from 'zod';
import { ClusterDecision, type ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import type { ClusterObjectOutcome, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { ClusterDeciderName } from '../../../schemas/events/deciders.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import {
  type ClusterSimulation,
  Concluded,
  type ObjectDifference,
  type SimulatedCluster,
} from '../../../schemas/reports/cluster-simulation.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import type { RecordedEvent, TimeRange } from '../../records/read-log.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import {
  ALL_PARTITIONS,
  type ReadingProgress,
  readNodes,
  type TopicTakers,
  takeByTopic,
} from '../events/reading.ts';
import { EventReader } from '../events/record-reader.ts';
import type { NamedByUid } from '../explain/cluster-life.ts';

type Policies = PolicySetOf<'cluster'>;

interface ClusterComparison {
  readonly policy: Policies;
  /** `null`: what happened. */
  readonly against: Policies | null;
  readonly deciders: ClusterDeciders;
}

interface ClusterSimulationNeeds {
  readonly log: LogReader;
  readonly range: TimeRange;
  readonly comparison: ClusterComparison;
  /** `null`: all. */
  readonly cluster: string | null;
  readonly onProgress: (progress: ReadingProgress) => void;
}

/** For people: what follows from the recorded past, and what nobody knows. */
const ASSUMPTIONS: readonly string[] = [
  'Each recorded fact is decided on with the newest deciders of this release. Policies with mode dry-run or rehearse count as if they enforced, collectors that they do not name stay with others, and no approval counts. Every deletion succeeds.',
  'What another deletion would have set free nobody can know: what its owner held in the recorded cluster stands in no fact. So of what would go beyond what went, only the first step is told. And what followed from a deletion that would not have been made is told as it was recorded.',
  'Agents tell what may concern the policy of their time. What only a rule of another policy would reach, such as other annotations or pods beyond another threshold, may stand in no fact.',
  'How many objects may go in an hour (limits.removalsPerHour) is looked at by executors alone, so not here.',
];

/** Runs other policies over the recorded facts of clusters. Throws `INTERRUPTED` when `signal` aborts. */
export async function simulateClusters(
  needs: ClusterSimulationNeeds,
  signal: AbortSignal,
): Promise<ClusterSimulation> {
  const { log, range, comparison, cluster, onProgress } = needs;
  const reader = new EventReader();
  const compared: NamedCluster[] = [];
  const reading = {
    log,
    topics: TOPICS_READ,
    range,
    partitions: ALL_PARTITIONS,
    partitionsAtOnce: 1,
    onProgress,
  };
  const begin = async () => {
    const clusters = new PartitionClusters(comparison, reader);
    return {
      take: (recorded: RecordedEvent): boolean => {
        const { key } = recorded.record;
        if (key === null || (cluster !== null && key !== cluster)) return false;
        clusters.take(recorded);
        return true;
      },
      finish: () => {
        reader.endPartition();
        compared.push(...clusters.all());
        return clusters.facts;
      },
    };
  };
  const facts = await readNodes(reading, begin, signal);
  const { records, unreadable } = reader;
  return {
    type: 'fleetgc.cluster-simulation',
    version: 1,
    range,
    compared: {
      policy: namesOf(comparison.policy),
      against: comparison.against && namesOf(comparison.against),
    },
    read: { records, unreadable, facts: facts.reduce((sum, count) => sum + count, 0) },
    assumptions: [...ASSUMPTIONS],
    ...toldOf(compared.toSorted(byName), comparison),
  };
}

const namesOf = ({ policies }: Policies) => policies.map(({ policy, hash }) => ({ name: policy.name, hash }));

interface NamedCluster {
  readonly cluster: string;
  readonly compared: ComparedCluster;
}

const byName = (a: NamedCluster, b: NamedCluster): number => compareText(a.cluster, b.cluster);

function toldOf(
  all: readonly NamedCluster[],
  { policy, against }: ClusterComparison,
): Pick<ClusterSimulation, 'clusters' | 'total' | 'differences'> {
  const clusters = all.map(
    ({ cluster, compared }): SimulatedCluster => ({
      cluster,
      policies: { policy: selectedIn(policy, cluster), against: against && selectedIn(against, cluster) },
      ...compared.sums(),
    }),
  );
  return {
    clusters,
    total: {
      objects: clusters.reduce((sum, { objects }) => sum + objects, 0),
      policy: addCounts(clusters.map((each) => each.policy)),
      against: addCounts(clusters.map((each) => each.against)),
    },
    differences: all.flatMap(({ cluster, compared }) => compared.differences(cluster)),
  };
}

function selectedIn(policies: Policies, cluster: string): string | null {
  const selection = selectPolicy(policies, { cluster });
  return selection.kind === 'policy' ? selection.record.policy.name : null;
}

const FACTS = ['clusterOwnership', 'clusterExpiry', 'clusterPods'] as const;
type FactTopic = (typeof FACTS)[number];
const TOPICS_READ = [...FACTS, 'clusterDecisions', 'clusterResults'] as const;

const DECIDER_OF: Readonly<Record<FactTopic, ClusterDeciderName>> = {
  clusterOwnership: 'graph-gc',
  clusterExpiry: 'expiry-gc',
  clusterPods: 'pod-gc',
};

/** Facts of which the recorded decision may still come. */
const MOST_WAITING = 64;

interface WaitingFact {
  readonly topicId: FactTopic;
  readonly record: LogRecord;
}

/** The clusters of one partition. A fact is compared when its decision comes, or when it has waited for too long. */
class PartitionClusters {
  facts = 0;
  readonly #comparison: ClusterComparison;
  readonly #reader: EventReader;
  readonly #clusters = new Map<string, ComparedCluster>();
  #waiting = new Map<string, WaitingFact>();

  readonly #takers: TopicTakers<(typeof TOPICS_READ)[number], void> = {
    clusterOwnership: (record) => this.#takeFact({ topicId: 'clusterOwnership', record }),
    clusterExpiry: (record) => this.#takeFact({ topicId: 'clusterExpiry', record }),
    clusterPods: (record) => this.#takeFact({ topicId: 'clusterPods', record }),
    clusterDecisions: (record) => this.#takeDecision(record),
    clusterResults: (record) => this.#takeResult(record),
  };

  constructor(comparison: ClusterComparison, reader: EventReader) {
    this.#comparison = comparison;
    this.#reader = reader;
  }

  take(recorded: RecordedEvent): void {
    this.#reader.count(recorded.record);
    takeByTopic(this.#takers, recorded);
  }

  all(): readonly NamedCluster[] {
    for (const waiting of this.#waiting.values()) this.#compare(waiting, null);
    this.#waiting = new Map();
    return [...this.#clusters].map(([cluster, compared]) => ({ cluster, compared }));
  }

  #takeFact(fact: WaitingFact): void {
    if (this.#comparison.against !== null) {
      this.#compare(fact, null);
      return;
    }
    this.#waiting.set(`${fact.record.topic}@${fact.record.offset}`, fact);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MOST_WAITING && oldest !== undefined) this.#decided(oldest, null);
  }

  #takeDecision(record: LogRecord): void {
    if (this.#comparison.against !== null) return;
    const decision = this.#reader.newEvent('clusterDecisions', record);
    if (decision === null) return;
    this.#decided(`${decision.input.topic}@${decision.input.offset}`, decidedFact(decision));
  }

  #decided(place: string, recorded: DecidedFact | null): void {
    const waiting = this.#waiting.get(place);
    if (waiting === undefined) return;
    this.#waiting.delete(place);
    this.#compare(waiting, recorded);
  }

  #compare({ topicId, record }: WaitingFact, recorded: DecidedFact | null): void {
    const fact = this.#reader.event(topicId, record);
    if (fact === null) return;
    this.facts++;
    const { policy, against, deciders } = this.#comparison;
    const decider = deciders[DECIDER_OF[topicId]];
    this.#clusterOf(fact.cluster).take({
      objects: fact.candidates.map(({ object }) => object),
      policy: decidedAgain(decider, record, policy),
      against: against === null ? recorded : decidedAgain(decider, record, against),
      atMs: record.timestampMs,
    });
  }

  #takeResult(record: LogRecord): void {
    if (this.#comparison.against !== null) return;
    const result = this.#reader.newEvent('clusterResults', record);
    if (result?.type !== 'fleetgc.cluster.object-results') return;
    const compared = this.#clusterOf(result.cluster);
    for (const told of result.objects) compared.resulted(told, record.timestampMs);
  }

  #clusterOf(cluster: string): ComparedCluster {
    const compared = this.#clusters.get(cluster) ?? new ComparedCluster(this.#comparison.against === null);
    this.#clusters.set(cluster, compared);
    return compared;
  }
}

type Counts = SimulatedCluster['policy'];

interface ComparedObject {
  readonly object: NamedByUid;
  readonly policy: Conclusion;
  readonly against: Conclusion;
  readonly differsSinceMs: number | null;
}

const UNDECIDED: Conclusion = { is: 'undecided', rule: null };

/** A fact with what both sides say of it; `null`: nothing was decided on it. */
interface ComparedFact {
  readonly objects: readonly NamedByUid[];
  readonly policy: DecidedFact | null;
  readonly against: DecidedFact | null;
  /** By the log's clock. */
  readonly atMs: number;
}

/** What becomes of the objects of one cluster, on both sides. */
class ComparedCluster {
  readonly #objects = new Map<string, ComparedObject>();
  /** Uids of what results say that it is deleted. */
  readonly #deleted = new Set<string>();
  readonly #isRecorded: boolean;

  /** `isRecorded`: the other side is what happened, which results tell. */
  constructor(isRecorded: boolean) {
    this.#isRecorded = isRecorded;
  }

  take({ objects, policy, against, atMs }: ComparedFact): void {
    for (const [position, object] of objects.entries()) {
      const before = this.#objects.get(object.uid);
      const isOver = this.#isRecorded ? this.#deleted.has(object.uid) : before?.against.is === 'deleted';
      this.#compare(object, atMs, {
        policy: nextOf(before?.policy, policy?.get(position), before?.policy.is === 'deleted'),
        against: nextOf(before?.against, against?.get(position), isOver),
      });
    }
  }

  resulted(told: ClusterObjectResults['objects'][number], atMs: number): void {
    const before = this.#objects.get(told.object.uid);
    const is = COMES_TO[told.result.outcome];
    if (!this.#isRecorded || is === null) return;
    if (is === 'deleted') this.#deleted.add(told.object.uid);
    const against = { is, rule: told.rule };
    this.#compare(told.object, atMs, { policy: before?.policy ?? UNDECIDED, against });
  }

  sums(): Pick<SimulatedCluster, 'objects' | 'policy' | 'against'> {
    const all = [...this.#objects.values()];
    return {
      objects: all.length,
      policy: countsOf(all.map(({ policy }) => policy)),
      against: countsOf(all.map(({ against }) => against)),
    };
  }

  differences(cluster: string): ObjectDifference[] {
    return [...this.#objects.values()].flatMap(({ object, policy, against, differsSinceMs }) => {
      if (differsSinceMs === null) return [];
      const { group, kind, namespace, name, uid } = object;
      return [{ cluster, group, kind, namespace, name, uid, policy, against, sinceMs: differsSinceMs }];
    });
  }

  #compare(object: NamedByUid, atMs: number, sides: Pick<ComparedObject, 'policy' | 'against'>): void {
    const before = this.#objects.get(object.uid);
    const differs = sides.policy.is !== sides.against.is;
    const differsSinceMs = differs ? (before?.differsSinceMs ?? atMs) : null;
    this.#objects.set(object.uid, { object: nameOf(object), ...sides, differsSinceMs });
  }
}

/** What a result says of an object; `null`: the decision said it already. */
const COMES_TO: Readonly<Record<ClusterObjectOutcome['outcome'], Concluded | null>> = {
  removed: 'deleted',
  accepted: 'deleted',
  'not-found': 'deleted',
  patched: null,
  rehearsed: 'dry-run',
  refused: 'not-done',
  failed: 'not-done',
};

/** Facts say much more of each. */
const nameOf = ({ group, kind, namespace, name, uid }: NamedByUid): NamedByUid => ({
  group,
  kind,
  namespace,
  name,
  uid,
});

/** What is deleted stays so: what its facts say later comes of what really happened. */
const nextOf = (before: Conclusion | undefined, now: Conclusion | undefined, isOver: boolean): Conclusion =>
  isOver && before !== undefined ? before : (now ?? before ?? UNDECIDED);

const countsOf = (conclusions: readonly Conclusion[]): Counts =>
  Object.fromEntries([...Map.groupBy(conclusions, ({ is }) => is)].map(([is, group]) => [is, group.length]));

/** Both sides, of several clusters. */
const addCounts = (all: readonly Counts[]): Counts =>
  Object.fromEntries(
    Concluded.options.flatMap((is) => {
      const sum = all.reduce((before, counts) => before + (counts[is] ?? 0), 0);
      return sum === 0 ? [] : [[is, sum]];
    }),
  );

/** What one side says of an object. */
interface Conclusion {
  readonly is: Concluded;
  readonly rule: string | null;
}

/** As much of a decision as counts here; a frozen decider may write more than is known today, or less. */
const Decided = ClusterDecision.pick({ outcome: true, verdicts: true });
type Decided = z.infer<typeof Decided>;

/** What is decided on a fact, by the positions of its objects. */
type DecidedFact = ReadonlyMap<number, Conclusion>;

const decidedFact = ({ outcome, verdicts }: Decided): DecidedFact =>
  new Map(verdicts.map((verdict) => [verdict.position, conclusionOf(verdict, outcome)]));

const conclusionOf = ({ action, rule }: ClusterVerdict, outcome: Decided['outcome']): Conclusion => ({
  rule,
  is: isAct(action) ? ACTS[outcome](action) : outcome === 'not-ours' ? 'not-ours' : STAYS[action],
});

type Stay = 'keep' | 'hold';
type Act = Exclude<ClusterVerdict['action'], Stay>;
const isAct = (action: ClusterVerdict['action']): action is Act => action !== 'keep' && action !== 'hold';

const STAYS: Readonly<Record<Stay, Concluded>> = { keep: 'kept', hold: 'held' };

const DONE: Readonly<Record<Act, Concluded>> = {
  delete: 'deleted',
  expire: 'deleted',
  'remove-pod': 'deleted',
  'drop-references': 'changed',
  finish: 'changed',
};

/** What an act comes to, by the outcome of its decision. */
const ACTS: Readonly<Record<Decided['outcome'], (act: Act) => Concluded>> = {
  commanded: (act) => DONE[act],
  'dry-run': () => 'dry-run',
  'not-ours': () => 'not-ours',
  'nothing-to-do': () => 'kept',
  'no-policy': () => 'kept',
  paused: () => 'kept',
  'too-costly': () => 'kept',
};

const DecisionOf = z.object({ ...Decided.shape, type: z.literal('fleetgc.cluster.decision') });

/** What a frozen decider says of a fact under other policies. Throws `EVENT_REJECTED` for one that it does not read. */
function decidedAgain(
  { read, decide }: FrozenDecider,
  { topic, partition, offset, value }: LogRecord,
  policies: PolicySetOf<'cluster'>,
): DecidedFact {
  const text = value?.toString('utf8') ?? '';
  const position = { topic, partition, offset: String(offset), sha256: sha256Hex(value ?? '') };
  const decisions = decide(read(JSON.parse(text)), position, policies).flatMap(
    ({ event }) => DecisionOf.safeParse(event).data ?? [],
  );
  return new Map(decisions.flatMap((decision) => [...decidedFact(decision)]));
}

export type ClusterDeciders = Readonly<Record<ClusterDeciderName, FrozenDecider>>;
