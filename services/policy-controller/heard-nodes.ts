import pMap from 'p-map';
import type { EventLog } from '../../packages/event-log/port.ts';
import { parseRecord } from '../../packages/pipeline/parse/parse-record.ts';
import { readPartition } from '../../packages/pipeline/read-log.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { NODE_PARTITIONS } from '../../schemas/events/topics.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { type SelectableNode, selectPolicy, selects } from '../../schemas/policy/policy-selection.ts';

/** Every node tells of its disks once a minute or more often. */
const HEARD_LATELY_MS = 150_000;
const PARTITIONS_AT_ONCE = 4;

export interface Heard {
  readonly log: Pick<EventLog, 'read'>;
  readonly cluster: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** The nodes of one cluster that have told of their disks lately. What others tell is passed over unread. */
export async function heardNodes(
  { log, cluster, nowMs }: Heard,
  signal: AbortSignal,
): Promise<readonly SelectableNode[]> {
  const nodes = new Map<string, SelectableNode>();
  const range = { fromMs: nowMs - HEARD_LATELY_MS, toMs: null };
  const partitions = Array.from({ length: NODE_PARTITIONS }, (_, partition) => partition);
  const readOne = async (partition: number): Promise<void> => {
    for await (const { record } of readPartition(log, { topics: ['diskStats'], partition, range }, signal)) {
      if (record.key?.startsWith(`${cluster}/`) !== true) continue;
      const parsed = parseRecord('diskStats', record);
      if (!parsed.ok) continue;
      const { node, nodeLabels } = parsed.event;
      nodes.set(nodeKey(parsed.event), { cluster, node, nodeLabels });
    }
  };
  await pMap(partitions, readOne, { concurrency: PARTITIONS_AT_ONCE });
  return [...nodes.values()];
}

/** Which of the nodes one policy selects, and what holds for them. */
export interface PolicyReach {
  readonly selected: number;
  readonly following: number;
  readonly paused: number;
  /** For how many of the selected ones which other policy holds. */
  readonly others: ReadonlyMap<string, number>;
}

export function reachOf(name: string, nodes: readonly SelectableNode[], set: PolicySet): PolicyReach {
  const record = set.policies.find(({ policy }) => policy.name === name);
  const selected = record ? nodes.filter((node) => selects(record.policy.selector, node)) : [];
  const holding = selected.map((node) => {
    const selection = selectPolicy({ ...set, pauses: [] }, node);
    return selection.kind === 'policy' ? selection.record.policy.name : name;
  });
  const others = Map.groupBy(
    holding.filter((other) => other !== name),
    (other) => other,
  );
  return {
    selected: selected.length,
    following: holding.filter((other) => other === name).length,
    paused: selected.filter((node) => selectPolicy(set, node).kind === 'paused').length,
    others: new Map([...others].map(([other, { length }]) => [other, length])),
  };
}
