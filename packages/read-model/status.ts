import pMap from 'p-map';
import type { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import type { AnyDeciderName, DeciderNameFor } from '../../schemas/events/deciders.ts';
import { nodeKey, type SubjectKind } from '../../schemas/events/identity.ts';
import { TOPICS, type TopicId, type TopicName } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { isPolicyFor, type PolicyRecordOf, type PolicySet } from '../../schemas/policy/policy.ts';
import { selects } from '../../schemas/policy/policy-selection.ts';
import type { FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import type { EventLog, GroupProgress, LogReader, TopicDifference, WaitingRecord } from '../log/port.ts';
import { differenceSentences } from '../log/topic-differences.ts';
import { setsOfEntries } from '../policy/policy-reading.ts';
import { readPoliciesBy, type StoredPolicies } from '../policy/stored-policies.ts';
import { unsignedProblem } from '../policy/unsigned-records.ts';
import { DAY_MS } from '../process/durations.ts';
import { toFleetGcError } from '../process/errors.ts';
import { firstRecord } from '../records/read-log.ts';
import { clusterStatus, type ReportingCluster, readReportingClusters } from './clusters.ts';
import { believedPositions, type UnlocatedSubject } from './latest-facts.ts';
import { readLetterSummaries, type StoredLetters } from './letters.ts';
import { nodesUnder, readFleetNodes, unlocatedText } from './nodes.ts';
import { readHeldNodes, readTooCostlyNodes } from './reporting-nodes.ts';
import { statusProblems } from './status-problems.ts';

interface StatusNeeds {
  readonly log: EventLog;
  /** Whose signatures count; `null`: they are not looked at. */
  readonly roots: TrustRoots | null;
  readonly kind: FleetStatus['log']['kind'];
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly onProgress: (line: string) => void;
  /** From whoever follows the nodes anyway, so that nobody reads what they last said. */
  readonly nodes?: (policies: PolicySet) => FleetNodes;
}

/** What topics tell; each `null` where its topic is missing or has another number of partitions. */
interface ReadTopics {
  readonly readAtMs: number;
  readonly stored: StoredPolicies | null;
  readonly letters: StoredLetters | null;
  readonly nodes: FleetNodes | null;
  /** Why, by `<cluster>/<node>`. */
  readonly held: ReadonlyMap<string, string> | null;
  /** Deciders, by `<cluster>/<node>`. */
  readonly tooCostly: Awaited<ReturnType<typeof readTooCostlyNodes>> | null;
  readonly clusters: readonly ReportingCluster[] | null;
  /** Clusters of which nothing is known but that they were there. */
  readonly unlocatedClusters: readonly UnlocatedSubject[];
}

/** What was read, before it is put together. */
interface StatusFacts extends ReadTopics {
  readonly kind: FleetStatus['log']['kind'];
  readonly servers: readonly string[];
  readonly differences: readonly TopicDifference[];
  /** Or why nobody knows. */
  readonly groups: readonly DatedProgress[] | string;
}

/** Looks at all of it once. */
export async function readStatus(needs: StatusNeeds, signal: AbortSignal): Promise<FleetStatus> {
  const { log, kind } = needs;
  const [servers, differences] = [await log.servers(), await log.checkTopics()];
  const unreadable = new Set(
    differences.filter(({ kind }) => kind === 'missing' || kind === 'partitions').map(({ topic }) => topic),
  );
  // Before what they are done with: whoever is told as done with a message of a node has its node told too.
  const all = await readGroups(log, { services: ALL_SERVICES, unreadable }, signal).catch(whyUnknown);
  const read = await readTopics(needs, unreadable, signal);
  const there = new Set(servicesThere(read).map(groupOf));
  const groups = typeof all === 'string' ? all : all.filter(({ group }) => there.has(group));
  return statusOf({ kind, servers, differences, groups, ...read });
}

/** Where nodes alone, or clusters alone, are heard, nobody needs the services for the others. */
function servicesThere({ nodes, clusters }: ReadTopics): readonly AnyDeciderName[] {
  const hasClusters = clusters !== null && clusters.length > 0;
  const hasNodes = nodes === null || nodes.nodes.length > 0;
  return [
    ...(hasNodes || !hasClusters ? SERVICES_FOR.node : []),
    ...(hasClusters ? SERVICES_FOR.cluster : []),
  ];
}

/** Rights on groups are rights of their own: without them there is still much to tell. */
function whyUnknown(thrown: unknown): string {
  const error = toFleetGcError(thrown);
  if (error.code === 'INTERRUPTED') throw error;
  return error.message;
}

const CLUSTER_TOPICS = [
  'clusterCensus',
  'clusterOwnership',
  'clusterCommands',
  'clusterResults',
] as const satisfies TopicId[];

/** What can be read, whatever else cannot. */
async function readTopics(
  needs: StatusNeeds,
  unreadable: ReadonlySet<TopicName>,
  signal: AbortSignal,
): Promise<ReadTopics> {
  const { log, roots, nowMs } = needs;
  const ifReadable = async <T>(topic: TopicId, read: () => Promise<T>): Promise<T | null> =>
    unreadable.has(TOPICS[topic].name) ? null : await read();
  const stored = await ifReadable('policies', () => readPoliciesBy(roots, log, signal));
  const letters = await ifReadable('deadLetters', () =>
    readLetterSummaries(log, { timestampMs: nowMs - DAY_MS }, signal),
  );
  const nodes = unreadable.has(TOPICS.latestFacts.name)
    ? null
    : await ifReadable('diskStats', () => readNodes(needs, stored, signal));
  const held = await ifReadable('results', () => readHeldNodes(log, nowMs, signal));
  const tooCostly = await ifReadable('decisions', () => readTooCostlyNodes(log, nowMs, signal));
  const clusters = [...CLUSTER_TOPICS, 'latestFacts' as const].some((topic) =>
    unreadable.has(TOPICS[topic].name),
  )
    ? null
    : await readReportingClusters(
        log,
        { nowMs, roots, policies: (stored?.sets ?? setsOfEntries([])).cluster },
        signal,
      );
  return {
    readAtMs: nodes?.readAtMs ?? nowMs,
    stored,
    letters,
    nodes,
    held,
    tooCostly,
    clusters: clusters?.clusters ?? null,
    unlocatedClusters: clusters?.unlocated ?? [],
  };
}

async function readNodesNow(
  { roots, ...needs }: StatusNeeds,
  policies: PolicySet,
  signal: AbortSignal,
): Promise<FleetNodes> {
  const isBelieved = await believedPositions(roots, needs.log, signal);
  return await readFleetNodes(
    { log: needs.log, nowMs: needs.nowMs, onProgress: needs.onProgress, isBelieved },
    policies,
    signal,
  );
}

/** Without policies nobody knows which clusters are meant. */
async function readNodes(
  needs: StatusNeeds,
  stored: StoredPolicies | null,
  signal: AbortSignal,
): Promise<FleetNodes> {
  const policies = (stored?.sets ?? setsOfEntries([])).node;
  const found = needs.nodes?.(policies) ?? (await readNodesNow(needs, policies, signal));
  if (stored !== null) return found;
  const nodes = found.nodes.map((node) => ({
    ...node,
    warnings: node.warnings.filter(({ kind }) => kind !== 'stray-cluster'),
  }));
  return { ...found, nodes };
}

function statusOf(facts: StatusFacts): FleetStatus {
  const { kind, servers, differences, groups, stored, letters, nodes, held, tooCostly } = facts;
  const { clusters, unlocatedClusters, readAtMs } = facts;
  const status = {
    type: 'fleetgc.status',
    version: 1,
    readAtMs,
    log: {
      kind,
      servers: [...servers],
      topicProblems: [...differenceSentences(differences)],
      newestFactMs: newestFactMs(facts),
    },
    services: typeof groups === 'string' ? [] : groups.map(serviceOf),
    policies: stored && policiesOf(stored, nodes),
    pauses: stored && pausesOf(stored, nodes),
    unreadablePolicies: stored?.unreadable.length ?? null,
    deadLetters: letters && deadLettersOf(letters),
    nodes: nodes && nodeCounts(nodes, stored !== null),
    clusters: clusters?.map((cluster) => clusterStatus(cluster, stored, readAtMs)) ?? null,
    warnings: [
      ...(nodes?.nodes ?? []).flatMap((node) =>
        node.warnings.map((warning) => ({ subject: nodeKey(node), ...warning })),
      ),
      ...(nodes?.unlocated ?? []).map(
        ({ kind, message, ...node }) => ({ subject: nodeKey(node), kind, message }) as const,
      ),
      ...unlocatedClusters.map(
        ({ key, kind, why }) => ({ subject: key, kind, message: unlocatedText(kind, why) }) as const,
      ),
      ...[...(held ?? [])].map(([subject, message]) => ({ subject, kind: 'held', message }) as const),
      ...[...(tooCostly ?? [])].map(
        ([subject, deciders]) =>
          ({
            subject,
            kind: 'too-costly',
            message: `the last decision of ${[...deciders].join(' and ')} would have taken too many steps, so everything is kept`,
          }) as const,
      ),
    ],
  } as const satisfies Omit<FleetStatus, 'problems'>;
  return {
    ...status,
    problems: statusProblems(status, {
      groups: typeof groups === 'string' ? groups : null,
      signatures: stored && unsignedProblem(stored.signatures),
    }),
  };
}

function newestFactMs({ nodes, clusters }: ReadTopics): number | null {
  const heardMs = [...(nodes?.nodes ?? []), ...(clusters ?? [])].map((each) => each.heardMs);
  return heardMs.length === 0 ? null : heardMs.reduce((newest, each) => Math.max(newest, each));
}

/** The status is that of nodes. */
const forNodes = (record: PolicyRecordOf<SubjectKind>): readonly PolicyRecordOf<'node'>[] =>
  isPolicyFor('node', record) ? [record] : [];

const policiesOf = (
  { policies }: StoredPolicies,
  nodes: FleetNodes | null,
): NonNullable<FleetStatus['policies']> =>
  [...policies.values()].flatMap(forNodes).map(({ policy: { name, mode }, policyVersion }) => ({
    name,
    policyVersion,
    mode,
    nodes: nodes && nodesUnder(name, nodes.nodes).length,
  }));

const pausesOf = ({ pauses }: StoredPolicies, nodes: FleetNodes | null): NonNullable<FleetStatus['pauses']> =>
  [...pauses.values()].map(({ selector, reason, appliedAtMs }) => ({
    selector,
    reason,
    sinceMs: appliedAtMs,
    nodes: nodes?.nodes.filter((node) => selects(selector, node)).length ?? null,
  }));

function serviceOf({ group, members, lag, waitingSinceMs }: DatedProgress): FleetStatus['services'][number] {
  const topics: Record<string, number> = {};
  for (const [place, left] of lag) {
    const topic = place.slice(0, place.lastIndexOf('/'));
    topics[topic] = (topics[topic] ?? 0) + left;
  }
  const all = [...lag.values()].reduce((sum, left) => sum + left, 0);
  const name = ALL_SERVICES.find((service) => groupOf(service) === group) ?? group;
  return { name, group, members, lag: all, topics: lag.size === 0 ? null : topics, waitingSinceMs };
}

function deadLettersOf({ letters }: StoredLetters): NonNullable<FleetStatus['deadLetters']> {
  const byCause: Partial<Record<DeadLetterCause, number>> = {};
  for (const { letter } of letters) byCause[letter.cause] = (byCause[letter.cause] ?? 0) + 1;
  const redriven = letters.filter(({ redrivenAtMs }) => redrivenAtMs !== null).length;
  return { total: letters.length, redriven, byCause };
}

const nodeCounts = ({ nodes }: FleetNodes, arePoliciesKnown: boolean): NonNullable<FleetStatus['nodes']> => ({
  heard: nodes.filter(({ isSilent }) => !isSilent).length,
  silent: nodes.filter(({ isSilent }) => isSilent).length,
  withoutPolicy: arePoliciesKnown ? nodes.filter(({ policy }) => policy === null).length : null,
  warned: nodes.filter(({ warnings }) => warnings.length > 0).length,
});

/** The services that share their work in groups, by whom they decide about. */
export const SERVICES_FOR: { readonly [Kind in SubjectKind]: readonly DeciderNameFor<Kind>[] } = {
  node: ['pressure', 'container-gc', 'image-gc'],
  cluster: ['graph-gc', 'pod-gc', 'expiry-gc'],
};
const ALL_SERVICES: readonly AnyDeciderName[] = Object.values(SERVICES_FOR).flat();
export const groupOf = (service: AnyDeciderName): string => `fleetgc-${service}`;

/** How far a group is. */
interface DatedProgress extends GroupProgress {
  /** Epoch milliseconds. */
  readonly waitingSinceMs: number | null;
}

/** How far the group of each service is. Rejects where the rights on groups are missing. */
async function readGroups(
  log: EventLog,
  {
    services,
    unreadable,
  }: { readonly services: readonly AnyDeciderName[]; readonly unreadable: ReadonlySet<TopicName> },
  signal: AbortSignal,
): Promise<readonly DatedProgress[]> {
  const dated: DatedProgress[] = [];
  for (const group of await log.groups(services.map(groupOf)))
    dated.push({ ...group, waitingSinceMs: await waitingSince(log, group, unreadable, signal) });
  return dated;
}

/** Of each topic; where a service stands still as a whole, every partition tells it. */
const MOST_LOOKED_AT = 4;

/**
 * When the oldest message came that the group is not done with, of the partitions that are furthest behind; `null` when
 * nothing is left, or what is left cannot be read.
 */
async function waitingSince(
  log: LogReader,
  { waiting }: GroupProgress,
  unreadable: ReadonlySet<TopicName>,
  signal: AbortSignal,
): Promise<number | null> {
  const readable = waiting.filter(({ topic }) => !unreadable.has(topic));
  const looked = [...Map.groupBy(readable, ({ topic }) => topic).values()].flatMap(furthestBehind);
  const times = await pMap(looked, ({ topic, partition, offset }) =>
    firstRecord(log, { topic, partition, from: { offset } }, signal),
  );
  const known = times.flatMap((record) => record?.timestampMs ?? []);
  return known.length === 0 ? null : Math.min(...known);
}

const furthestBehind = (records: readonly WaitingRecord[]): readonly WaitingRecord[] =>
  records.toSorted((a, b) => b.left - a.left).slice(0, MOST_LOOKED_AT);
