import type { AuditSimulation } from '../../../schemas/audit-simulation.ts';
import { nodeKey } from '../../../schemas/identity.ts';
import type { PolicySet } from '../../../schemas/policy.ts';
import { NODE_PARTITIONS, type TopicId } from '../../../schemas/topics.ts';
import { FleetGcError } from '../../shared/errors.ts';
import type { EventLog, LogRecord } from '../../shared/event-log/port.ts';
import { parseRecord } from '../../shared/parse-record.ts';
import { type RecordedEvent, readPartition, type TimeRange } from '../read-log.ts';
import { createSeen } from '../verify/seen.ts';
import { type ComparedNode, type Comparison, createSimulatedNode } from './simulated-node.ts';
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
  'Images only. Containers, sandboxes and logs go as they really went; that they go first in a reclaim is left out, so images may have to give more than they would. Thresholds of inodes are left out, and eviction thresholds with a grace period.',
  'Each recorded inventory is decided on with the newest deciders of this release, policies with mode dry-run as if they enforced; every removal succeeds and frees what the plan estimates.',
  'After the first difference a node is an estimate. What was removed stays away until the real node uses it or lists it again, which is a regret when it is soon; what really went and would have stayed keeps its space.',
  'Pulls, pods and everything else on the disk are as recorded: no scheduler, no kubelet and no user reacts to the difference.',
];

const SIMULATED_TOPICS = ['inventory', 'decisions', 'results'] as const satisfies readonly TopicId[];

type Read = { -readonly [Key in keyof AuditSimulation['read']]: number };

/** Runs other policies over recorded inventories. Throws `AUDIT_INCOMPLETE` when `signal` aborts. */
export async function simulate(needs: SimulationNeeds, signal: AbortSignal): Promise<AuditSimulation> {
  const { comparison, range } = needs;
  const read: Read = { records: 0, unreadable: 0, inventories: 0, incomplete: 0 };
  const compared: ComparedNode[] = [];
  for (let partition = 0; partition < NODE_PARTITIONS; partition++) {
    compared.push(...(await simulatePartition({ ...needs, partition, read }, signal)));
    if (signal.aborted) throw stopped(partition);
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
    read,
    assumptions: [...ASSUMPTIONS],
    ...totalsOf(compared.toSorted(byName)),
  };
}

const stopped = (partition: number): FleetGcError =>
  new FleetGcError(
    'AUDIT_INCOMPLETE',
    `stopped in partition ${partition} of ${NODE_PARTITIONS}: half a simulation tells nothing`,
  );

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
  }: SimulationNeeds & { readonly partition: number; readonly read: Read },
  signal: AbortSignal,
): Promise<readonly ComparedNode[]> {
  const nodes = new Map<string, ReturnType<typeof createSimulatedNode>>();
  const nodeOf = (key: string) => {
    const node = nodes.get(key) ?? createSimulatedNode(comparison);
    nodes.set(key, node);
    return node;
  };
  const take = createTaker(nodeOf, read);
  for await (const event of readPartition(log, { topics: SIMULATED_TOPICS, partition, range }, signal)) {
    if (event.record.key === null || !isWanted(event.record.key)) continue;
    take(event);
    if (read.records % PROGRESS_EVERY_RECORDS === 0)
      onProgress({ done: partition, of: NODE_PARTITIONS, records: read.records });
  }
  return [...nodes.values()].flatMap((node) => node.compared() ?? []);
}

/** A node that was installed anew is another one. */
function createTaker(nodeOf: (key: string) => ReturnType<typeof createSimulatedNode>, read: Read) {
  const seen = createSeen();
  const takeInventory = (record: LogRecord): void => {
    const parsed = parseRecord('inventory', record);
    if (!parsed.ok) {
      read.unreadable++;
      return;
    }
    const { event } = parsed;
    read.inventories++;
    if (event.status === 'complete') nodeOf(event.nodeInstance).look(event, record.timestampMs);
    else read.incomplete++;
  };
  /** Also those on the topic of decisions, where only `pressure-unrelieved` is one. */
  const takeResult = (record: LogRecord): void => {
    const parsed = parseRecord('results', record);
    if (parsed.ok) nodeOf(parsed.event.nodeInstance).result(parsed.event, record.timestampMs);
    else read.unreadable++;
  };
  return ({ topicId, record }: RecordedEvent): void => {
    read.records++;
    const id = record.headers.ce_id ?? '';
    if (seen(`${record.topic} ${id}`, record).kind === 'same') return;
    if (topicId === 'decisions' && record.headers.ce_type !== 'fleetgc.node.pressure-unrelieved.v1') return;
    if (topicId === 'inventory') takeInventory(record);
    else takeResult(record);
  };
}
