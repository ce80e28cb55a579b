import pMap from 'p-map';
import type { LogReader, LogRecord } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { readPartition } from '../../../packages/records/read-log.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import type { Policy, PolicySet } from '../../../schemas/policy/policy.ts';
import {
  type PolicyCondition,
  type PolicyObjectStatus,
  toldSentence,
  toldSentences,
} from '../../../schemas/policy/policy-object.ts';
import { type SelectableNode, selectPolicy, selects } from '../../../schemas/policy/policy-selection.ts';
import type { Verdict } from './plan-writes.ts';

/** What stands on the log under the name of an object's policy. */
export interface Standing {
  readonly policyVersion: number;
  /** Epoch milliseconds by the log's clock; `null` where nobody looked it up. */
  readonly appliedAtMs: number | null;
}

interface Told {
  readonly verdict: Verdict;
  /** `null`: nothing. */
  readonly standing: Standing | null;
  /** Why what is wanted could not be written, in a sentence; `null` where it stands there. */
  readonly failure: string | null;
  /** `null` where nobody has counted. */
  readonly reach: PolicyReach | null;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

type Said = Pick<PolicyCondition, 'type' | 'status' | 'reason' | 'message'>;

/** The status of an object. What did not change keeps its time, so that the same is never written twice. */
export function statusOf(told: Told): PolicyObjectStatus {
  const { verdict, standing, reach } = told;
  const { object, name } = verdict;
  const isOwn = verdict.kind !== 'taken' && standing !== null;
  const changedAtMs = isOwn ? standing.appliedAtMs : null;
  const before = isOwn && object.status?.policyVersion === standing.policyVersion ? object.status : null;
  const lastChangeTime =
    changedAtMs === null ? before?.lastChangeTime : isOfTheCalendar(changedAtMs) && timeOf(changedAtMs);
  const problems = toldSentences([...problemsOf(told)]);
  return {
    observedGeneration: object.generation,
    ...(isOwn && { policyName: name, policyVersion: standing.policyVersion }),
    ...(typeof lastChangeTime === 'string' && { lastChangeTime }),
    ...(isOwn && reach !== null && { nodesSelected: reach.selected, nodesFollowing: reach.following }),
    ...(problems.length > 0 && { problems }),
    conditions: [acceptedOf(verdict), readyOf(told)].map((said) => conditionOf(said, told)),
  };
}

/** Where writers date what they write, a record may be of any time; no API server reads a year of five digits. */
const isOfTheCalendar = (epochMs: number): boolean => epochMs >= 0 && epochMs < Date.UTC(10_000);

const timeOf = (epochMs: number): string => new Date(epochMs).toISOString().replace(/\.\d+Z$/, 'Z');

function conditionOf(said: Said, { verdict: { object }, nowMs }: Told): PolicyCondition {
  const before = object.status?.conditions.find(({ type }) => type === said.type);
  return {
    ...said,
    message: toldSentence(said.message),
    lastTransitionTime: before?.status === said.status ? before.lastTransitionTime : timeOf(nowMs),
    observedGeneration: object.generation,
  };
}

function acceptedOf(verdict: Verdict): Said {
  switch (verdict.kind) {
    case 'invalid':
      return { type: 'Accepted', status: 'False', reason: 'Invalid', message: verdict.problems.join('; ') };
    case 'taken':
      return { type: 'Accepted', status: 'False', reason: 'NameTaken', message: verdict.message };
    case 'policy':
      return { type: 'Accepted', status: 'True', reason: 'Valid', message: 'the spec is a policy' };
  }
}

function readyOf({ verdict, standing, failure }: Told): Said {
  const notReady = (reason: string, message: string): Said => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
  });
  switch (verdict.kind) {
    case 'invalid':
      return notReady('Invalid', standing === null ? NEVER_APPLIED : STILL_AS_BEFORE);
    case 'taken':
      return notReady('NameTaken', verdict.message);
    case 'policy':
      if (failure !== null) return notReady('NotWritten', failure);
      return standing === null || verdict.change.kind !== 'unchanged'
        ? notReady('NotWritten', 'it does not stand on the event log yet as it is written here')
        : {
            type: 'Ready',
            status: 'True',
            reason: 'Applied',
            message: `policy ${verdict.name}, version ${standing.policyVersion}, stands on the event log`,
          };
  }
}

const NEVER_APPLIED = 'the spec is no policy, so nothing was applied: Accepted says why';
const STILL_AS_BEFORE =
  'the spec is no policy: what was applied before stays in force, and Accepted says why';

function* problemsOf({ verdict, failure, reach }: Told): Iterable<string> {
  if (verdict.kind === 'invalid') yield* verdict.problems;
  if (verdict.kind === 'taken') yield verdict.message;
  if (failure !== null) yield failure;
  if (verdict.kind === 'policy') yield* verdict.warnings;
  if (reach === null || verdict.kind === 'taken') return;
  if (reach.selected === 0) yield 'it selects no node of this cluster that the event log has heard lately';
  for (const [other, nodes] of reach.others) yield `${other} holds for ${nodes} of the nodes it selects`;
  if (reach.paused > 0) yield `a pause holds for ${reach.paused} of the nodes it selects`;
}

/** Every node tells of its disks once a minute or more often. */
const HEARD_LATELY_MS = 150_000;
const PARTITIONS_AT_ONCE = 4;
/** Four times as many as Kubernetes says that a cluster may have: more of them may be made up. */
const MOST_NODES = 20_000;

interface Heard {
  readonly log: LogReader;
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
