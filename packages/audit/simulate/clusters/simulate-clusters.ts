import type { ClusterDeciderName } from '../../../../schemas/events/deciders.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import type { PolicySetOf } from '../../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../../schemas/policy/policy-selection.ts';
import type { ClusterSimulation, SimulatedCluster } from '../../../../schemas/reports/cluster-simulation.ts';
import type { EventLog, LogRecord } from '../../../log/port.ts';
import type { RecordedEvent, TimeRange } from '../../../records/read-log.ts';
import { EventReader } from '../../events/event-reader.ts';
import {
  ALL_PARTITIONS,
  type ReadingProgress,
  readNodes,
  type TopicTakers,
  takeByTopic,
} from '../../events/reading.ts';
import { addCounts, ComparedCluster } from './compared-clusters.ts';
import { type ClusterDeciders, type DecidedFact, decidedAgain, decidedFact } from './decided-objects.ts';

type Policies = PolicySetOf<'cluster'>;

export interface ClusterComparison {
  readonly policy: Policies;
  /** `null`: what happened. */
  readonly against: Policies | null;
  readonly deciders: ClusterDeciders;
}

export interface ClusterSimulationNeeds {
  readonly log: Pick<EventLog, 'read'>;
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
