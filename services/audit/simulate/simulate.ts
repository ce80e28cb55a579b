import type { EventLog } from '../../../packages/event-log/port.ts';
import { readPartition, type TimeRange } from '../../../packages/pipeline/read-log.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { AuditSimulation } from '../../../schemas/reports/audit-simulation.ts';
import { readMeasured } from './measured-effects.ts';
import { createRecordTaker, type ReadCounts, SIMULATED_TOPICS } from './record-taker.ts';
import {
  type ComparedNode,
  type Comparison,
  createSimulatedNode,
  type SimulatedNodeRun,
} from './simulated-node.ts';
import { looksBack } from './simulated-pressure.ts';
import { totalsOf } from './totals.ts';

export interface SimulationNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly range: TimeRange;
  readonly comparison: Comparison;
  /** Whether to run a node, by its record key. */
  readonly isWanted: (key: string) => boolean;
  readonly onProgress: (progress: {
    readonly done: number;
    readonly of: number;
    readonly records: number;
  }) => void;
}

/** For people: what follows from the recorded past, and what is only likely. */
const ASSUMPTIONS: readonly string[] = [
  'Each recorded inventory is decided on with the newest deciders of this release, policies with mode dry-run as if they enforced. Every removal succeeds. An order of the disk statistics waits for the next inventory, up to 5 minutes.',
  'After the first difference a node is an estimate. What was removed stays away until the real node uses it or has it anew, which is a regret of an image when it is soon; what really went and would have stayed keeps its space.',
  'An image frees what the plan estimates. What a container, sandbox or log frees is known only where the real node removed it too, and measured it; otherwise it counts as nothing, so that images may have to give more than they would.',
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
  const compared: ComparedNode[] = [];
  for (let partition = 0; partition < NODE_PARTITIONS; partition++) {
    compared.push(...(await simulatePartition({ ...needs, partition, read }, signal)));
  }
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

const PROGRESS_EVERY_RECORDS = 50;

async function simulatePartition(
  {
    log,
    range,
    comparison,
    partition,
    read,
    isWanted,
    onProgress,
  }: SimulationNeeds & { readonly partition: number; readonly read: ReadCounts },
  signal: AbortSignal,
): Promise<readonly ComparedNode[]> {
  const measured = await readMeasured(log, { partition, range }, signal);
  const nodes = new Map<string, SimulatedNodeRun>();
  const nodeOf = (nodeInstance: string) => {
    const node = nodes.get(nodeInstance) ?? createSimulatedNode(comparison, measured(nodeInstance));
    nodes.set(nodeInstance, node);
    return node;
  };
  const take = createRecordTaker(nodeOf, read);
  const topics = SIMULATED_TOPICS.filter((id) => id !== 'diskStats' || needsDiskStats(comparison));
  for await (const event of readPartition(log, { topics, partition, range }, signal)) {
    if (event.record.key === null || !isWanted(event.record.key)) continue;
    take(event);
    if (read.records % PROGRESS_EVERY_RECORDS === 0)
      onProgress({ done: partition, of: NODE_PARTITIONS, records: read.records });
  }
  return [...nodes.values()].flatMap((node) => node.compared() ?? []);
}
