import { dirname } from 'node:path';
import { type Named, objectsText, PATCHED } from '../../packages/documents/cluster.ts';
import { differencesSince } from '../../packages/log/heard-of.ts';
import type { LogReader } from '../../packages/log/port.ts';
import { requireSame } from '../../packages/log/topic-differences.ts';
import type { WrittenClusterPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { POLICY_RECHECK_MS, type PolicySource } from '../../packages/policy/policies.ts';
import { toClusterPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { runEvery, runTogether, untilAborted } from '../../packages/process/loops.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { firstRecord } from '../../packages/records/read-log.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { counted } from '../../packages/text/counted.ts';
import { jsonLine } from '../../packages/text/json-text.ts';
import { printableLine } from '../../packages/text/printable.ts';
import type { Census } from '../../schemas/events/census.ts';
import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import {
  type ClusterCommandResult,
  type ClusterObjectResults,
  type FoundLater,
  foundLater,
} from '../../schemas/events/cluster-result.ts';
import { ClusterDeciderName } from '../../schemas/events/deciders.ts';
import { type EventOf, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { RemovingOptions } from '../../services/cluster/cluster-options.ts';
import type { OpenCluster } from '../../services/cluster/open-cluster.ts';
import { runCluster } from '../../services/cluster/run-cluster.ts';
import { runDeciders } from '../../services/deciders/run.ts';
import { openUnsignedWriter } from '../framework/policy-writer.ts';
import { clockText, eventsOf } from './lines.ts';
import { holdingChanges, holdingNow, settlePolicies } from './policies.ts';

interface ClusterPipeline {
  readonly process: ServiceProcess;
  readonly cluster: OpenCluster;
  readonly written: readonly WrittenClusterPolicy[];
  readonly logPath: string;
  readonly removing: RemovingOptions;
  readonly json: boolean;
  readonly print: (line: string) => void;
}

/** How often changes by other processes are looked for. */
const LOOK_EVERY_MS = 1_000;

/** Everything for one cluster: the log is made ready, the policies are settled, and then all parts run together. */
export async function runClusterPipeline(pipeline: ClusterPipeline, signal: AbortSignal): Promise<void> {
  const { process, cluster, logPath, json, print, removing } = pipeline;
  const fromMs = process.sources.now();
  const policies = await prepare(pipeline, signal);
  if (signal.aborted) return;
  const printAt = (line: string): void => print(`${clockText()}  ${line}`);
  const changes = holdingChanges({
    policies,
    current: policies.current.cluster,
    subject: cluster.identity,
    logPath,
    print: printAt,
  });
  const { log, sources } = process;
  await runTogether(
    [
      (stop) =>
        json
          ? followClusterAsJson({ log, print, fromMs }, stop)
          : followCluster({ log, print: printAt, fromMs }, stop),
      (stop) =>
        json ? untilAborted(stop) : runEvery(LOOK_EVERY_MS, changes, { sleep: sources.wait, signal: stop }),
      (stop) => runDeciders(ClusterDeciderName.options, { process, policies, signal: stop }),
      (stop) =>
        runCluster(
          { process, cluster, signal: stop },
          { policies, removing, state: { path: dirname(logPath) } },
        ),
    ],
    signal,
  );
}

async function prepare(pipeline: ClusterPipeline, signal: AbortSignal): Promise<PolicySource> {
  const { process, written, json } = pipeline;
  const { log } = process;
  requireSame(await differencesSince(log, { created: await log.createTopics() }));
  const { deleted } = await settlePolicies(
    { ...(await openUnsignedWriter(log, signal)), log },
    written.map(toClusterPolicyRecord),
    signal,
  );
  const policies = process.followPolicies(POLICY_RECHECK_MS);
  await Promise.race([policies.caughtUp, untilAborted(signal)]);
  if (signal.aborted || json) return policies;
  introduce(pipeline, policies, deleted);
  return policies;
}

/** Said once, before anything happens. */
function introduce(
  { cluster: { identity, server }, written, logPath, print }: ClusterPipeline,
  policies: PolicySource,
  deleted: readonly string[],
): void {
  print(`FleetGC ${PRODUCT_VERSION} for cluster ${identity.cluster}`);
  print(`API server: ${server} (namespace kube-system ${identity.clusterInstance})`);
  print(`Event log: ${logPath}`);
  for (const name of deleted) print(`Policy ${name} of an earlier run no longer holds.`);
  print(holdingNow({ policies: policies.current.cluster(), subject: identity, logPath }).line);
  if (written.length === 0)
    print('No --policy was given: a file with "kind: ClusterPolicy" says what may go.');
}

interface FollowingCluster {
  readonly log: LogReader;
  readonly print: (line: string) => void;
  /** Begins with what came at this time, by the log's clock. */
  readonly fromMs: number;
}

/** A line for each thing that is decided and done about clusters on this log, until the signal aborts. */
async function followCluster({ log, print, fromMs }: FollowingCluster, signal: AbortSignal): Promise<void> {
  const printAll = (lines: readonly string[]): void => {
    for (const line of lines) print(printableLine(line));
  };
  const decisions = async (): Promise<void> => {
    let last = '';
    for await (const decision of eventsOf(log, { topic: 'clusterDecisions', fromMs }, signal)) {
      const lines = decisionLines(decision, await candidatesOf(decision, log, signal));
      // What was said last is not said again.
      if (lines.join('\n') !== last) printAll(lines);
      last = lines.join('\n');
    }
  };
  const results = async (): Promise<void> => {
    for await (const result of eventsOf(log, { topic: 'clusterResults', fromMs }, signal))
      printAll(linesOfResult(result));
  };
  const censuses = async (): Promise<void> => {
    let last = '';
    for await (const census of eventsOf(log, { topic: 'clusterCensus', fromMs }, signal)) {
      const lines = newsOfCensus(census);
      if (lines.join('\n') !== last) printAll(lines);
      last = lines.join('\n');
    }
  };
  await Promise.all([decisions(), results(), censuses()]);
}

/** The decisions and results themselves, one JSON document a line. */
async function followClusterAsJson(
  { log, print, fromMs }: FollowingCluster,
  signal: AbortSignal,
): Promise<void> {
  const topics = ['clusterDecisions', 'clusterResults'] as const;
  const follow = async (topic: (typeof topics)[number]): Promise<void> => {
    for await (const event of eventsOf(log, { topic, fromMs }, signal)) print(jsonLine(event));
  };
  await Promise.all(topics.map(follow));
}

/** Topics of facts that are decided on. */
const FACTS = ['clusterOwnership', 'clusterExpiry', 'clusterPods'] as const satisfies readonly TopicId[];

/** Of the fact that was decided on, which lies where the decision says; `null` where it does not. */
export async function candidatesOf(
  { input: { topic: name, partition, offset } }: ClusterDecision,
  log: FollowingCluster['log'],
  signal: AbortSignal,
): Promise<readonly Judged[] | null> {
  const id = FACTS.find((each) => TOPICS[each].name === name);
  if (id === undefined) return null;
  const topic = TOPICS[id].name;
  try {
    const record = await firstRecord(log, { topic, partition, from: { offset: BigInt(offset) } }, signal);
    const parsed = record && parseRecord(id, record);
    return parsed?.ok ? parsed.event.candidates : null;
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

function linesOfResult(result: EventOf<'clusterResults'>): readonly string[] {
  if (result.type === 'fleetgc.cluster.command-intent') return [];
  if (result.type === 'fleetgc.cluster.object-results') return resultLines(result);
  const line = commandLine(result);
  return line === null ? [] : [line];
}

/** What of a census a person may have to see to; `fleetgc cluster report` tells of each. */
function newsOfCensus({ findings }: Pick<Census, 'findings'>): readonly string[] {
  const { stuckFinalizers, waitingOwners, badReferences, unsyncedKinds, failedGroups } = findings;
  const told = [
    [stuckFinalizers.count, 'object', 'waiting for finalizers of others'],
    [waitingOwners.count, 'owner', 'waiting for dependents'],
    [badReferences.count, 'reference', 'leading nowhere'],
  ] as const;
  const counts = told.flatMap(([count, noun, what]) =>
    count === 0 ? [] : [`${counted(count, noun)} ${what}`],
  );
  return [
    ...(counts.length === 0 ? [] : [`? ${counts.join(', ')}`]),
    ...unsyncedKinds.map((kind) => `? ${kindName(kind)} cannot be read: ${kind.reason}`),
    ...failedGroups.map((group) => `? the group ${group} is not served at the moment`),
  ];
}

/** What a fact says of an object that was decided on. */
export interface Judged {
  readonly object: Named;
  /** What goes with each owner that is missing or waits, this object among it. Facts about time and nodes know of none. */
  readonly cascades?: readonly { readonly ownerUid: string; readonly objects: number }[];
}

/**
 * What a decision means for the cluster, a line for each thing that it comes to; none where nothing follows from it. Without the
 * candidates of its fact it tells numbers alone.
 */
export function decisionLines(
  decision: ClusterDecision,
  candidates: readonly Judged[] | null,
): readonly string[] {
  const { decider, outcome, verdicts } = decision;
  const objectsOf = (chosen: readonly ClusterVerdict[]): string =>
    objectsText(
      chosen.length,
      chosen.flatMap(({ position }) => candidates?.[position]?.object ?? []),
    );
  const holds = groupsOf(verdicts.filter(({ action }) => action === 'hold')).map(
    ([rule, held]) => `${decider.name} holds ${objectsOf(held)}: ${holdText(decider.name, rule, held)}`,
  );
  const wants = WANTS[outcome];
  if (wants === null)
    return outcome === 'no-policy' ? ['no policy selects this cluster: everything stays'] : [];
  const going = ACTIONS.flatMap(({ action, words }) => {
    const chosen = verdicts.filter((verdict) => verdict.action === action);
    return chosen.length === 0
      ? []
      : [
          `${decider.name} ${wants.verb} ${words(objectsOf(chosen))}${wants.but}${outcome === 'dry-run' ? alongText(chosen, candidates) : ''}`,
        ];
  });
  return [...going, ...holds];
}

/** What follows once these are deleted becomes a candidate then, and in a dry run they never are: so it is told before. */
function alongText(chosen: readonly ClusterVerdict[], candidates: readonly Judged[] | null): string {
  const deleted = chosen.filter(({ action }) => action === 'delete' || action === 'expire');
  const judged = deleted.flatMap(({ position }) => candidates?.[position] ?? []);
  if (judged.length === 0) return '';
  if (judged.some(({ cascades }) => cascades === undefined))
    return '. What depends on them would go after them, and is not counted here';
  const widths = new Map(
    judged.flatMap(({ cascades = [] }) =>
      cascades.map(({ ownerUid, objects }) => [ownerUid, objects] as const),
    ),
  );
  const objects = [...widths.values()].reduce((sum, width) => sum + width, 0);
  return objects <= judged.length
    ? ''
    : `. With what depends on them at most ${counted(objects, 'object')} would go`;
}

interface Wants {
  readonly verb: string;
  readonly but: string;
}

const WANTS: Readonly<Record<ClusterDecision['outcome'], Wants | null>> = {
  commanded: { verb: 'wants to', but: '' },
  'dry-run': { verb: 'would', but: ', but this is a dry run' },
  'not-ours': { verb: 'would', but: ', but the policy gives FleetGC no such collector' },
  'nothing-to-do': { verb: 'would', but: '' },
  'no-policy': null,
  paused: null,
  'too-costly': null,
};

interface ActionRow {
  readonly action: ClusterVerdict['action'];
  readonly words: (objects: string) => string;
}

const ACTIONS: readonly ActionRow[] = [
  { action: 'delete', words: (objects) => `delete ${objects}` },
  { action: 'expire', words: (objects) => `delete ${objects}, whose time is over` },
  { action: 'drop-references', words: (objects) => `take references to owners from ${objects}` },
  { action: 'finish', words: (objects) => `let go ${objects}, which waited for dependents` },
  { action: 'remove-pod', words: (objects) => `remove ${objects}` },
];

const groupsOf = (verdicts: readonly ClusterVerdict[]): readonly [string, readonly ClusterVerdict[]][] => [
  ...Map.groupBy(verdicts, ({ rule }) => rule),
];

/** Who or what ends a hold of each. */
const ENDED_BY: Readonly<Record<ClusterDeciderName, string>> = {
  'graph-gc': 'it stays until it is approved, and "fleetgc held" says how',
  'pod-gc': 'it stays until its node is back, or until it is approved, and "fleetgc held" says how',
  'expiry-gc':
    'it stays until less of its kind is over, or until it is approved, and "fleetgc held" says how',
};

/** `it stays until it is approved, and "fleetgc held" says how (S1, objects 1200, limit 1000)` */
function holdText(decider: ClusterDeciderName, rule: string, [first]: readonly ClusterVerdict[]): string {
  const facts = Object.entries(first?.facts ?? {}).map(([name, value]) => `${name} ${value}`);
  return `${ENDED_BY[decider]} (${[rule, ...facts].join(', ')})`;
}

type ObjectResult = ClusterObjectResults['objects'][number];

/** What was done and what was not: a line for each action, outcome and reason. */
export function resultLines({ objects }: Pick<ClusterObjectResults, 'objects'>): readonly string[] {
  const groups = Map.groupBy(objects, ({ action, rule, result }) =>
    JSON.stringify([action, rule, result.outcome, 'reason' in result && result.reason, foundLater(result)]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined
      ? []
      : [
          resultLine(
            first,
            objectsText(
              group.length,
              group.map(({ object }) => object),
            ),
          ),
        ];
  });
}

function resultLine({ action, rule, result }: ObjectResult, objects: string): string {
  const found = foundLater(result);
  if (found !== null)
    return `? ${objects} announced by an executor that ended: ${FOUND_LATER[found]} (${action}, ${rule})`;
  switch (result.outcome) {
    case 'removed':
      return `- ${objects} deleted (${rule})`;
    case 'accepted':
      return `- ${objects} being deleted; finalizers or a grace period may hold it (${rule})`;
    case 'patched':
      return `- ${objects}: ${PATCHED[action]} (${rule})`;
    case 'not-found':
      return `- ${objects} already gone (${rule})`;
    case 'rehearsed':
      return `~ ${objects}: the API server would do it, and did nothing (${action}, ${rule})`;
    case 'refused':
      return `= ${objects} stays: ${result.message} (${result.reason})`;
    case 'failed':
      return `! ${objects} could not be changed: ${result.message} (${result.reason})`;
  }
}

const FOUND_LATER: Readonly<Record<FoundLater, string>> = {
  gone: 'gone, by whom is unknown',
  changed: 'changed, by whom is unknown',
  unchanged: 'unchanged',
  unreadable: 'cannot be read',
};

/** Only that a whole command was refused is news beside its objects. */
export const commandLine = ({ result }: Pick<ClusterCommandResult, 'result'>): string | null =>
  result.outcome === 'refused' ? `a command was refused: ${result.message} (${result.reason})` : null;
