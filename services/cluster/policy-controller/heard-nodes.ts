import pMap from 'p-map';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { readPartition } from '../../../packages/records/read-log.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import type { Policy, PolicySet } from '../../../schemas/policy/policy.ts';
import { type SelectableNode, selectPolicy, selects } from '../../../schemas/policy/policy-selection.ts';

/** Every node tells of its disks once a minute or more often. */
const HEARD_LATELY_MS = 150_000;
const PARTITIONS_AT_ONCE = 4;
/** Four times as many as Kubernetes says that a cluster may have: more of them may be made up. */
const MOST_NODES = 20_000;

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
      const told = nodeIn(record, cluster);
      if (told !== null) nodes.set(told.node, told);
      if (nodes.size > MOST_NODES) throw new FleetGcError('FLOODED', TOO_MANY);
    }
  };
  await pMap(partitions, readOne, { concurrency: PARTITIONS_AT_ONCE });
  return [...nodes.values()];
}

/** `null` for what tells of a node of another cluster, or of none. */
function nodeIn(record: LogRecord, cluster: string): SelectableNode | null {
  if (record.key?.startsWith(`${cluster}/`) !== true) return null;
  const parsed = parseRecord('diskStats', record);
  return parsed.ok ? { cluster, node: parsed.event.node, nodeLabels: parsed.event.nodeLabels } : null;
}

const TOO_MANY = `more than ${MOST_NODES} nodes of the cluster tell of their disks, and so many are not counted`;

/** Which of the nodes one policy selects, and what holds for them. */
export interface PolicyReach {
  readonly selected: number;
  readonly following: number;
  readonly paused: number;
  /** For how many of the selected ones which other policy holds. */
  readonly others: ReadonlyMap<string, number>;
}

interface Counting {
  readonly set: PolicySet;
  readonly yieldToEventLoop: () => Promise<void>;
}

/**
 * Of each of these policies. Each node is held against all policies once, and others get their turn in between: people write as many
 * policies and patterns as they like.
 */
export async function reachesOf(
  names: readonly string[],
  nodes: readonly SelectableNode[],
  { set, yieldToEventLoop }: Counting,
): Promise<ReadonlyMap<string, PolicyReach>> {
  const wanted = new Set(names);
  const tallies = set.policies
    .filter(({ policy }) => wanted.has(policy.name))
    .map(({ policy }) => tallyOf(policy));
  for (const node of nodes) {
    await yieldToEventLoop();
    const selection = selectPolicy({ ...set, pauses: [] }, node);
    const holding = selection.kind === 'policy' ? selection.record.policy.name : null;
    const isPaused = selectPolicy({ ...set, policies: [] }, node).kind === 'paused';
    for (const tally of tallies) if (selects(tally.selector, node)) countIn(tally, { holding, isPaused });
  }
  return new Map(
    tallies.map(({ name, selected, following, paused, others }) => [
      name,
      { selected, following, paused, others },
    ]),
  );
}

const tallyOf = ({ name, selector }: Policy) => ({
  name,
  selector,
  selected: 0,
  following: 0,
  paused: 0,
  others: new Map<string, number>(),
});

function countIn(
  tally: ReturnType<typeof tallyOf>,
  { holding, isPaused }: { readonly holding: string | null; readonly isPaused: boolean },
): void {
  tally.selected += 1;
  tally.paused += Number(isPaused);
  if (holding === tally.name) tally.following += 1;
  else if (holding !== null) tally.others.set(holding, (tally.others.get(holding) ?? 0) + 1);
}
