import { ClusterDeciderName } from '../../schemas/events/deciders.ts';
import type { ClusterWarning } from '../../schemas/reports/cluster-status.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import { selectorText } from '../policy/selector-text.ts';
import { MINUTE_MS } from '../process/durations.ts';
import { counted } from '../text/counted.ts';

/**
 * A service that is so far behind decides on what is long past.
 * @limit Lag of a service in messages before `status` warns.
 */
const MUCH_LAG = 1_000;
/**
 * Messages are done with in seconds.
 * @limit Age of the oldest message of a service before `status` warns.
 */
const LONG_WAIT_MS = 5 * MINUTE_MS;
/**
 * Each node says something every minute.
 * @limit Time without reports after which the event log counts as stalled.
 */
const STANDS_STILL_MS = 10 * MINUTE_MS;
const MOST_NAMED = 3;

/** On an embedded log another verb decides for a cluster than for a node. */
function whatDecides(service: string, status: Known): string {
  if (status.log.kind === 'kafka') return 'Start fleetgc decide.';
  const isForClusters = isOfClusters(status) || ClusterDeciderName.safeParse(service).success;
  return isForClusters ? 'Start fleetgc cluster run.' : 'Start fleetgc run.';
}

/** Clusters are heard, and nodes are not. */
const isOfClusters = ({ nodes, clusters }: Known): boolean =>
  (clusters?.length ?? 0) > 0 && nodes !== null && nodes.heard + nodes.silent === 0;

/** What a problem is looked for in; what is unknown there is told with the topic that is the cause. */
type Known = Omit<FleetStatus, 'problems'>;

interface Unknown {
  /** Why the progress of the services is unknown; `null` where it is known. */
  readonly groups: string | null;
  /** What of the policies that are shown the fleet would not trust; `null` where that is nothing. */
  readonly signatures: string | null;
}

/** What a tired person has to know, the worst first. */
export function statusProblems(status: Known, { groups, signatures }: Unknown): string[] {
  return [
    ...status.log.topicProblems,
    ...(groups === null ? [] : [`The progress of the services is unknown: ${groups}`]),
    ...(signatures === null ? [] : [`${signatures}.`]),
    ...standsStill(status),
    ...ofServices(status),
    ...ofPolicies(status),
    ...ofPauses(status),
    ...selectNothing(status),
    ...ofLetters(status),
    ...ofNodes(status),
    ...ofClusters(status),
  ];
}

/** Whoever hears nothing at all asks in another place than whoever misses a node. */
function standsStill({ log, nodes, readAtMs }: Known): readonly string[] {
  const forMs = log.newestFactMs === null ? 0 : readAtMs - log.newestFactMs;
  const known = (nodes?.heard ?? 0) + (nodes?.silent ?? 0);
  if (known === 0 || forMs <= STANDS_STILL_MS) return [];
  return [
    `The event log stands still: nothing has come from any node or cluster for ${Math.floor(forMs / MINUTE_MS)} minutes, and ${counted(known, 'node was', 'nodes were')} heard in the last day. ${WHO_WRITES[log.kind]}`,
  ];
}

const WHO_WRITES: Readonly<Record<FleetStatus['log']['kind'], string>> = {
  kafka: 'Do the nodes run, and do the brokers take what they send?',
  embedded: 'Does fleetgc run still run, and can it write to the file?',
};

function ofServices(status: Known): readonly string[] {
  const { services, nodes, readAtMs } = status;
  return [
    ...services
      .filter(({ members }) => members === 0)
      .map(({ name }) => `${name} does not run: nothing is decided there. ${whatDecides(name, status)}`),
    ...services
      .filter(({ members, lag }) => members > 0 && lag >= MUCH_LAG)
      .map(
        ({ name, lag }) => `${name} is ${lag} messages behind: give it more replicas, or look at its log.`,
      ),
    ...services.flatMap((service) => waiting(service, readAtMs)),
    ...(nodes === null || nodes.heard === 0 ? [] : services.filter(hasDoneNothing)).map(
      ({ name }) =>
        `${name} runs, and has not finished any message yet: unless it has just started, check its /readyz and its logs.`,
    ),
  ];
}

type Service = FleetStatus['services'][number];

/** It stands still where it cannot read the policies; then nothing else on the log tells of it. */
function waiting({ name, members, waitingSinceMs }: Service, readAtMs: number): readonly string[] {
  const forMs = waitingSinceMs === null ? 0 : readAtMs - waitingSinceMs;
  if (members === 0 || forMs < LONG_WAIT_MS) return [];
  return [
    `${name} is not done with a message that came ${Math.floor(forMs / MINUTE_MS)} minutes ago: it stands still or is too slow; check its /readyz and its logs.`,
  ];
}

const hasDoneNothing = ({ members, topics }: Service): boolean => members > 0 && topics === null;

function ofPolicies(status: Known): readonly string[] {
  const { policies, unreadablePolicies } = status;
  const unreadable = unreadablePolicies ?? 0;
  return [
    ...(unreadable === 0
      ? []
      : [
          `${counted(unreadable, 'record')} of gc.policies cannot be read, so nothing is removed on nodes that may be meant: see fleetgc policy list.`,
        ]),
    ...(policies?.length === 0 && !isOfClusters(status)
      ? ['There are no policies: every node keeps everything.']
      : []),
  ];
}

function ofPauses({ pauses }: Known): readonly string[] {
  const holding = pauses?.length ?? 0;
  if (holding === 0) return [];
  return [
    `${counted(holding, 'pause holds', 'pauses hold')}: nothing is removed there until fleetgc resume.`,
  ];
}

/** Nothing to say where no node is heard at all: that is another problem. */
function selectNothing({ nodes, policies, pauses }: Known): readonly string[] {
  if (nodes === null || nodes.heard + nodes.silent === 0) return [];
  return [
    ...(policies ?? [])
      .filter(({ nodes: held }) => held === 0)
      .map(
        ({ name }) =>
          `Policy ${name} holds for no node that was heard in the last day: are the names in its selector right, or does another policy go before it?`,
      ),
    ...(pauses ?? [])
      .filter(({ nodes: stopped }) => stopped === 0)
      .map(
        ({ selector }) =>
          `The pause of ${selectorText(selector)} is for no node that was heard in the last day: are the names right?`,
      ),
  ];
}

function ofLetters({ deadLetters }: Known): readonly string[] {
  const letters = deadLetters === null ? 0 : deadLetters.total - deadLetters.redriven;
  if (letters === 0) return [];
  return [
    `${counted(letters, 'message')} of the last day could not be processed: see fleetgc dead-letters list.`,
  ];
}

/** Decisions carry no signature, and a pattern that is taken out protects no more: so first a look at them. */
const CHEAPER =
  'If fleetgc audit explain node/<cluster>/<node> confirms it, give its policy fewer patterns, or divide it into policies for fewer nodes.';

/** Told of all nodes at once, where there may be many when there is one; `null`: each is told by itself. */
const TOGETHER: Readonly<Record<Warning['kind'], ((nodes: readonly string[]) => string) | null>> = {
  clock: null,
  'two-machines': null,
  'stray-cluster': null,
  'no-reading': null,
  'position-refused': null,
  'fact-not-kept': null,
  'not-looked-up': (nodes) =>
    `${counted(nodes.length, 'more node has', 'more nodes have')} stopped reporting: ${named(nodes)}. Only the last reports of those that stopped last are looked up.`,
  silent: (nodes) => `${counted(nodes.length, 'node is', 'nodes are')} not heard any more: ${named(nodes)}.`,
  held: (nodes) =>
    `${counted(nodes.length, 'node')} refused the last command of the last 15 minutes as held: ${named(nodes, 'fleetgc status -o json')}. The node's own file says hold or cannot be understood, or the node cannot read the policies; fleetgc audit explain node/<cluster>/<node> says which.`,
  'too-costly': (nodes) =>
    `Decisions about ${counted(nodes.length, 'node')} were too costly in the last minutes, so everything is kept there: ${named(nodes, 'fleetgc status -o json')}. ${CHEAPER}`,
  'above-threshold': (nodes) =>
    `${areFull(nodes)}: ${named(nodes)}. fleetgc audit explain node/<cluster>/<node> tells what holds the space.`,
  'above-threshold-dry-run': (nodes) =>
    `${areFull(nodes)}, and the policy says dry-run, so nothing is removed there: ${named(nodes)}.`,
};
type Warning = FleetStatus['warnings'][number];

const areFull = (nodes: readonly string[]): string =>
  `${counted(nodes.length, 'node is', 'nodes are')} above a threshold of the policy and not relieved, or meet one again and again`;

function ofNodes({ nodes, policies, warnings }: Known): readonly string[] {
  const byKind = Map.groupBy(warnings, ({ kind }) => kind);
  const others = warnings.filter(({ kind }) => TOGETHER[kind] === null);
  const keepAll = policies?.length === 0 ? 0 : (nodes?.withoutPolicy ?? 0);
  return [
    ...[...byKind].flatMap(([kind, of]) => TOGETHER[kind]?.(of.map(({ subject }) => subject)) ?? []),
    ...(keepAll === 0
      ? []
      : [`${counted(keepAll, 'node keeps', 'nodes keep')} everything, since no policy selects them.`]),
    ...others.slice(0, MOST_NAMED).map(({ subject, message }) => `${subject}: ${message}.`),
    ...(others.length > MOST_NAMED
      ? [`${counted(others.length - MOST_NAMED, 'more warning')}: see fleetgc nodes.`]
      : []),
  ];
}

const named = (subjects: readonly string[], where = 'fleetgc nodes'): string =>
  subjects.length <= MOST_NAMED
    ? subjects.join(', ')
    : `${subjects.slice(0, MOST_NAMED).join(', ')} and ${subjects.length - MOST_NAMED} more (${where})`;

/** Told of all clusters at once. */
const CLUSTERS_TOGETHER: Readonly<
  Record<ClusterWarning['kind'], (clusters: string, count: number) => string>
> = {
  silent: (clusters, count) =>
    `${counted(count, 'cluster is', 'clusters are')} not heard any more: ${clusters}. Nothing is collected there; does the agent run, and reach the log?`,
  held: (clusters, count) =>
    `Objects are held in ${counted(count, 'cluster')}: ${clusters}. fleetgc held tells why, and how to let them go.`,
  'too-costly': (clusters, count) =>
    `Decisions about ${counted(count, 'cluster')} are too costly under the active policies, so everything is kept there: ${clusters}. Give the policy fewer names in heldKinds, keep and rules.`,
  unanswered: (clusters, count) =>
    `Commands of the last half hour have no answer in ${counted(count, 'cluster')}: ${clusters}. Does the executor run there, and reach the log?`,
  'unread-kinds': (clusters, count) =>
    `Kinds cannot be read in ${counted(count, 'cluster')}: ${clusters}. fleetgc cluster report says which, and which right is missing.`,
  'stuck-finalizers': (clusters, count) =>
    `Objects wait for finalizers of others in ${counted(count, 'cluster')}: ${clusters}. fleetgc cluster report names them.`,
};

function ofClusters({ clusters }: Known): readonly string[] {
  const all = clusters ?? [];
  const warned = all.flatMap(({ cluster, warnings }) => warnings.map(({ kind }) => ({ cluster, kind })));
  const withoutPolicy = all.filter(({ policy }) => policy === null).map(({ cluster }) => cluster);
  return [
    ...[...Map.groupBy(warned, ({ kind }) => kind)].map(([kind, of]) =>
      CLUSTERS_TOGETHER[kind](
        named(
          of.map(({ cluster }) => cluster),
          'fleetgc status -o json',
        ),
        of.length,
      ),
    ),
    ...(withoutPolicy.length === 0
      ? []
      : [
          `${counted(withoutPolicy.length, 'cluster keeps', 'clusters keep')} everything, since no policy selects them: ${named(withoutPolicy, 'fleetgc status -o json')}.`,
        ]),
  ];
}
