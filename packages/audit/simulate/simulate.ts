import { type NodeIdentity, nodeKey, type SubjectKind } from '../../../schemas/events/identity.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { AuditSimulation, Regret, SimulationSums } from '../../../schemas/reports/audit-simulation.ts';
import { policySet } from '../../decision/policy-set.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import type { WrittenPolicy } from '../../policy/file/read-policy-file.ts';
import { toPolicyRecord } from '../../policy/policy-changes.ts';
import type { RecordedEvent, TimeRange } from '../../records/read-log.ts';
import {
  ALL_PARTITIONS,
  type ReadingProgress,
  readNodes,
  type SubjectTopicsRead,
  type TopicTakers,
  takeByTopic,
} from '../events/reading.ts';
import { EventReader } from '../events/record-reader.ts';
import { NOTHING_REMOVED } from './compare.ts';
import { looksBack, readMeasured } from './pressure.ts';
import { type ComparedNode, type Comparison, type ReplayedNode, replayNode } from './run.ts';

interface SimulationNeeds {
  readonly log: LogReader;
  readonly range: TimeRange;
  readonly comparison: Comparison;
  /** Whether to run a node, by its record key. */
  readonly isWanted: (key: string) => boolean;
  readonly onProgress: (progress: ReadingProgress) => void;
}

/** For people: what follows from the recorded past, and what is only likely. */
const ASSUMPTIONS: readonly string[] = [
  'Each recorded inventory is decided on with the newest deciders of this release, policies with mode dry-run as if they enforced. Every removal succeeds. An order of the disk statistics waits for the next inventory, up to 5 minutes.',
  'After the first difference a node is an estimate. What was removed stays away until the real node uses it or has it anew, which is a regret of an image when it is soon; what really went and would have stayed keeps its space.',
  'Of what happened, freed is what the nodes measured, or the estimate of the plan where that was not measurable. Simulated, an image frees what the plan estimates. What a container, sandbox or log frees is known only where the real node removed it too, and measured it; otherwise it counts as nothing, so that images may have to give more than they would.',
  'Nobody knows how many inodes a removal frees: of an image its share of those in use is taken, by its bytes, and of the rest nothing.',
  'Grace periods are told by disk statistics, which the log keeps for a day. Where there are none such a threshold is never met.',
  'Relief takes no time: on each recorded inventory a reclaim is gone through from its start to its end. So the same policy again does not come out exactly as it happened; compare a new one with the present one by --against.',
  'Pulls, pods and everything else on the disk are as recorded: no scheduler, no kubelet and no user reacts to the difference.',
];

const needsDiskStats = ({ policy, against }: Comparison): boolean =>
  [policy, against].some((policies) => policies !== null && looksBack(policies));

/** Runs other policies over recorded inventories. Throws `INTERRUPTED` when `signal` aborts. */
export async function simulate(needs: SimulationNeeds, signal: AbortSignal): Promise<AuditSimulation> {
  const { comparison, range } = needs;
  const read = { records: 0, unreadable: 0, inventories: 0, incomplete: 0 };
  const needsPast = needsDiskStats(comparison);
  const compared = await runNodes(needs, read, signal);
  return {
    type: 'fleetgc.audit-simulation',
    version: 1,
    range,
    regretWindowMs: comparison.regretWindowMs,
    compared: {
      policy: namesOf(comparison.policy),
      against: comparison.against && namesOf(comparison.against),
    },
    read: {
      ...read,
      withoutDiskStats: needsPast
        ? compared.reduce((sum, { withoutDiskStats }) => sum + withoutDiskStats, 0)
        : 0,
    },
    assumptions: [...ASSUMPTIONS],
    ...totalsOf(compared.toSorted(byName)),
  };
}

const namesOf = ({ policies }: PolicySet) =>
  policies.map(({ policy, hash }) => ({ name: policy.name, hash }));

const byName = ({ node: a }: ComparedNode, { node: b }: ComparedNode): number =>
  nodeKey(a) < nodeKey(b) ? -1 : 1;

/** What is read of a partition; disk statistics are many, so they are read only where a policy looks at the past. */
const SIMULATED = {
  node: ['inventory', 'decisions', 'results', 'diskStats'],
  cluster: [],
} as const satisfies SubjectTopicsRead;
type SimulatedTopic = (typeof SIMULATED)[SubjectKind][number];
const SIMULATED_TOPICS: readonly SimulatedTopic[] = Object.values(SIMULATED).flat();

/** One partition after the other: nodes are as large as their inventories. */
async function runNodes(
  { log, range, comparison, isWanted, onProgress }: SimulationNeeds,
  read: ReadCounts,
  signal: AbortSignal,
): Promise<readonly ComparedNode[]> {
  const topics = SIMULATED_TOPICS.filter((id) => id !== 'diskStats' || needsDiskStats(comparison));
  const reading = { log, topics, range, partitions: ALL_PARTITIONS, partitionsAtOnce: 1, onProgress };
  const begin = async (partition: number, ending: AbortSignal) => {
    const measured = await readMeasured(log, { partition, range }, ending);
    const nodes = new ReplayedNodes((nodeInstance) => replayNode(comparison, measured(nodeInstance)));
    return {
      take: (recorded: RecordedEvent): boolean => {
        const { key } = recorded.record;
        if (key === null || !isWanted(key)) return false;
        nodes.take(recorded);
        return true;
      },
      finish: () => {
        nodes.addTo(read);
        return nodes.compared();
      },
    };
  };
  return (await readNodes(reading, begin, signal)).flat();
}

/** What became of records. */
interface ReadCounts {
  records: number;
  unreadable: number;
  inventories: number;
  incomplete: number;
}

/** The nodes of one partition: gives each event to its own, once. A node that was installed anew is another one. */
class ReplayedNodes {
  readonly #reader = new EventReader();
  readonly #nodes = new Map<string, ReplayedNode>();
  readonly #begin: (nodeInstance: string) => ReplayedNode;
  #inventories = 0;
  #incomplete = 0;

  readonly #takers: TopicTakers<SimulatedTopic, void> = {
    inventory: (record) => this.#takeInventory(record),
    results: (record) => {
      const event = this.#reader.newEvent('results', record);
      if (event !== null) this.#nodeOf(event).result(event, record.timestampMs);
    },
    decisions: (record) => {
      if (record.headers.ce_type !== 'fleetgc.node.pressure-unrelieved.v1') return;
      const event = this.#reader.newEvent('decisions', record);
      if (event?.type === 'fleetgc.node.pressure-unrelieved')
        this.#nodeOf(event).result(event, record.timestampMs);
    },
    diskStats: (record) => {
      const event = this.#reader.newEvent('diskStats', record);
      if (event !== null) this.#nodeOf(event).diskStats(event, record.timestampMs);
    },
  };

  constructor(begin: (nodeInstance: string) => ReplayedNode) {
    this.#begin = begin;
  }

  take(recorded: RecordedEvent): void {
    this.#reader.count(recorded.record);
    takeByTopic(this.#takers, recorded);
  }

  addTo(read: ReadCounts): void {
    read.records += this.#reader.records;
    read.unreadable += this.#reader.unreadable;
    read.inventories += this.#inventories;
    read.incomplete += this.#incomplete;
  }

  compared(): readonly ComparedNode[] {
    return [...this.#nodes.values()].flatMap((node) => node.compared() ?? []);
  }

  #takeInventory(record: LogRecord): void {
    const event = this.#reader.newEvent('inventory', record);
    if (event === null) return;
    this.#inventories++;
    if (event.status === 'complete') this.#nodeOf(event).inventory(event, record.timestampMs);
    else this.#incomplete++;
  }

  #nodeOf({ nodeInstance }: NodeIdentity): ReplayedNode {
    const node = this.#nodes.get(nodeInstance) ?? this.#begin(nodeInstance);
    this.#nodes.set(nodeInstance, node);
    return node;
  }
}

/** Nodes added up, pool by pool and in all. */
const totalsOf = (
  compared: readonly ComparedNode[],
): Pick<AuditSimulation, 'nodes' | 'pools' | 'total' | 'regrets'> => ({
  nodes: compared.map(({ node }) => node),
  pools: [...Map.groupBy(compared, ({ node }) => node.pool)]
    .map(([pool, nodes]) => ({ pool, ...added(nodes) }))
    .toSorted((a, b) => ((a.pool ?? '') < (b.pool ?? '') ? -1 : 1)),
  total: added(compared),
  regrets: compared.flatMap(regretsOf).toSorted((a, b) => a.removedAtMs - b.removedAtMs),
});

const added = (compared: readonly ComparedNode[]) => ({
  nodes: compared.length,
  observedMs: compared.reduce((sum, { node }) => sum + node.observedMs, 0),
  unknownMs: compared.reduce((sum, { node }) => sum + node.unknownMs, 0),
  policy: compared.map(({ node }) => node.policy).reduce(add, NONE),
  against: compared.map(({ node }) => node.against).reduce(add, NONE),
});

const NONE: SimulationSums = {
  removed: NOTHING_REMOVED,
  freedBytes: '0',
  unmeasured: 0,
  guessed: 0,
  regrets: 0,
  unrelieved: 0,
  aboveMs: 0,
  peakPercent: null,
};

const add = (a: SimulationSums, b: SimulationSums): SimulationSums => ({
  removed: {
    images: a.removed.images + b.removed.images,
    containers: a.removed.containers + b.removed.containers,
    sandboxes: a.removed.sandboxes + b.removed.sandboxes,
    logs: a.removed.logs + b.removed.logs,
  },
  freedBytes: String(BigInt(a.freedBytes) + BigInt(b.freedBytes)),
  unmeasured: a.unmeasured + b.unmeasured,
  guessed: a.guessed + b.guessed,
  regrets: a.regrets + b.regrets,
  unrelieved: a.unrelieved + b.unrelieved,
  aboveMs: a.aboveMs + b.aboveMs,
  peakPercent:
    a.peakPercent === null || b.peakPercent === null
      ? (a.peakPercent ?? b.peakPercent)
      : Math.max(a.peakPercent, b.peakPercent),
});

const regretsOf = ({ node: { cluster, node }, sides }: ComparedNode): Regret[] =>
  (['policy', 'against'] as const).flatMap((side) =>
    sides[side].regretted.map((image) => ({ side, cluster, node, ...image })),
  );

/** Policies that hold alone. A simulation removes nothing, so that one that is to be tried may say dry-run. */
export const simulatedPolicies = (written: readonly WrittenPolicy[]): PolicySet =>
  policySet(
    'node',
    written.map(({ policy, source }) => toPolicyRecord({ policy: { ...policy, mode: 'enforce' }, source })),
    [],
  );
