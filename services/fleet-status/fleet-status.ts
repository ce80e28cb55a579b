import type { EventLog, GroupProgress, TopicDifference } from '../../packages/event-log/port.ts';
import { differenceSentences } from '../../packages/event-log/topic-differences.ts';
import { setsOfEntries } from '../../packages/policy/policy-reading.ts';
import { selectorText } from '../../packages/policy/selector-text.ts';
import { readStoredPolicies, type StoredPolicies } from '../../packages/policy/stored-policies.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { counted } from '../../packages/text/counted.ts';
import type { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { selects } from '../../schemas/policy/policy.ts';
import type { FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import { readStoredLetters, type StoredLetters } from '../dead-letters/letters.ts';
import { fleetNodes } from './fleet-nodes.ts';
import { readHeardNodes } from './heard-nodes.ts';

/** The services that share their work in groups. */
export const SERVICES = ['pressure', 'container-gc', 'image-gc'] as const;
export const groupOf = (service: (typeof SERVICES)[number]): string => `fleetgc-${service}`;

interface StatusNeeds {
  readonly log: EventLog;
  readonly kind: FleetStatus['log']['kind'];
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly onProgress: (line: string) => void;
}

/** What was read, before it is put together. */
interface StatusFacts {
  readonly kind: FleetStatus['log']['kind'];
  readonly servers: readonly string[];
  readonly differences: readonly TopicDifference[];
  /** Or why nobody knows. */
  readonly groups: readonly GroupProgress[] | string;
  readonly stored: StoredPolicies;
  readonly letters: StoredLetters;
  readonly nodes: FleetNodes;
}

/** Looks at all of it once. */
export async function readStatus(needs: StatusNeeds, signal: AbortSignal): Promise<FleetStatus> {
  const { log, kind, nowMs } = needs;
  const [servers, differences] = [await log.servers(), await log.checkTopics()];
  const groups = await log.groups(SERVICES.map(groupOf)).catch(whyUnknown);
  const isReadable = differences.every((difference) => difference.kind === 'config');
  const read = isReadable ? await readTopics(needs, signal) : nothingRead(nowMs);
  return statusOf({ kind, servers, differences, groups, ...read });
}

/** Rights on groups are rights of their own: without them there is still much to tell. */
function whyUnknown(thrown: unknown): string {
  const error = toFleetGcError(thrown);
  if (error.code === 'INTERRUPTED') throw error;
  return error.message;
}

type ReadTopics = Pick<StatusFacts, 'stored' | 'letters' | 'nodes'>;

async function readTopics(needs: StatusNeeds, signal: AbortSignal): Promise<ReadTopics> {
  const { log, nowMs } = needs;
  const stored = await readStoredPolicies(log, signal);
  const letters = await readStoredLetters(log, { timestampMs: nowMs - DAY_MS }, signal);
  const heard = await readHeardNodes(needs, signal);
  return { stored, letters, nodes: fleetNodes(heard, stored.sets.node, nowMs) };
}

const nothingRead = (nowMs: number): ReadTopics => ({
  stored: {
    policies: new Map(),
    pauses: new Map(),
    unreadable: [],
    deleted: new Set(),
    sets: setsOfEntries([]),
  },
  letters: { letters: [], unreadable: 0 },
  nodes: { type: 'fleetgc.nodes', version: 1, readAtMs: nowMs, unreadable: 0, nodes: [] },
});

function statusOf(facts: StatusFacts): FleetStatus {
  const { kind, servers, differences, groups, stored, letters, nodes } = facts;
  const status = {
    type: 'fleetgc.status',
    version: 1,
    readAtMs: nodes.readAtMs,
    log: { kind, servers: [...servers], topicProblems: [...differenceSentences(differences)] },
    services: typeof groups === 'string' ? [] : groups.map(serviceOf),
    policies: [...stored.policies.values()].map(({ policy: { name, mode }, policyVersion }) => ({
      name,
      policyVersion,
      mode,
      nodes: nodes.nodes.filter(({ policy }) => policy?.name === name).length,
    })),
    pauses: [...stored.pauses.values()].map(({ selector, reason, appliedAtMs }) => ({
      selector,
      reason,
      sinceMs: appliedAtMs,
      nodes: nodes.nodes.filter((node) => selects(selector, node)).length,
    })),
    unreadablePolicies: stored.unreadable.length,
    deadLetters: deadLettersOf(letters),
    nodes: nodeCounts(nodes),
    warnings: nodes.nodes.flatMap((node) =>
      node.warnings.map((warning) => ({ subject: nodeKey(node), ...warning })),
    ),
  } as const satisfies Omit<FleetStatus, 'problems'>;
  return { ...status, problems: statusProblems(status, typeof groups === 'string' ? groups : null) };
}

function serviceOf({ group, members, lag }: GroupProgress): FleetStatus['services'][number] {
  const topics: Record<string, number> = {};
  for (const [place, left] of lag) {
    const topic = place.slice(0, place.lastIndexOf('/'));
    topics[topic] = (topics[topic] ?? 0) + left;
  }
  const all = [...lag.values()].reduce((sum, left) => sum + left, 0);
  const name = SERVICES.find((service) => groupOf(service) === group) ?? group;
  return { name, group, members, lag: all, topics: lag.size === 0 ? null : topics };
}

function deadLettersOf({ letters }: StoredLetters): FleetStatus['deadLetters'] {
  const byCause: Partial<Record<DeadLetterCause, number>> = {};
  for (const { letter } of letters) byCause[letter.cause] = (byCause[letter.cause] ?? 0) + 1;
  const redriven = letters.filter(({ redrivenAtMs }) => redrivenAtMs !== null).length;
  return { total: letters.length, redriven, byCause };
}

const nodeCounts = ({ nodes }: FleetNodes): FleetStatus['nodes'] => ({
  heard: nodes.filter(({ isSilent }) => !isSilent).length,
  silent: nodes.filter(({ isSilent }) => isSilent).length,
  withoutPolicy: nodes.filter(({ policy }) => policy === null).length,
  warned: nodes.filter(({ warnings }) => warnings.length > 0).length,
});

/** A service that is so far behind decides on what is long past. */
const MUCH_LAG = 1_000;
const MOST_NAMED = 3;

const WHAT_DECIDES: Readonly<Record<FleetStatus['log']['kind'], string>> = {
  kafka: 'Start fleetgc decide.',
  embedded: 'Start fleetgc run.',
};

/** What a tired person has to know, the worst first. */
export function statusProblems(
  status: Omit<FleetStatus, 'problems'>,
  groupsUnknown: string | null,
): string[] {
  const { log, services, policies, unreadablePolicies, deadLetters, nodes, warnings, pauses } = status;
  const letters = deadLetters.total - deadLetters.redriven;
  const silent = warnings.filter(({ kind }) => kind === 'silent').map(({ subject }) => subject);
  const others = warnings.filter(({ kind }) => kind !== 'silent');
  return [
    ...log.topicProblems,
    ...(groupsUnknown === null ? [] : [`Nobody knows how far the services are: ${groupsUnknown}`]),
    ...services
      .filter(({ members }) => members === 0)
      .map(({ name }) => `No ${name} runs: nothing is decided there. ${WHAT_DECIDES[log.kind]}`),
    ...services
      .filter(({ members, lag }) => members > 0 && lag >= MUCH_LAG)
      .map(
        ({ name, lag }) => `${name} is ${lag} messages behind: give it more replicas, or look at its log.`,
      ),
    ...(unreadablePolicies === 0
      ? []
      : [
          `${counted(unreadablePolicies, 'record')} of gc.policies cannot be read, so nothing is removed on nodes that may be meant: see fleetgc policy list.`,
        ]),
    ...(policies.length === 0 && log.topicProblems.length === 0
      ? ['There are no policies: every node keeps everything.']
      : []),
    ...(pauses.length === 0
      ? []
      : [
          `${counted(pauses.length, 'pause holds', 'pauses hold')}: nothing is removed there until fleetgc resume.`,
        ]),
    ...selectNothing(status),
    ...(letters === 0
      ? []
      : [
          `${counted(letters, 'message')} of the last day could not be processed: see fleetgc dead-letters list.`,
        ]),
    ...(silent.length === 0
      ? []
      : [`${counted(silent.length, 'node is', 'nodes are')} not heard any more: ${named(silent)}.`]),
    ...(nodes.withoutPolicy === 0 || policies.length === 0
      ? []
      : [
          `${counted(nodes.withoutPolicy, 'node keeps', 'nodes keep')} everything, since no policy selects them.`,
        ]),
    ...others.slice(0, MOST_NAMED).map(({ subject, message }) => `${subject}: ${message}.`),
    ...(others.length > MOST_NAMED
      ? [`${counted(others.length - MOST_NAMED, 'more warning')}: see fleetgc nodes.`]
      : []),
  ];
}

/** Nothing to say where no node is heard at all: that is another problem. */
function selectNothing({
  nodes,
  policies,
  pauses,
}: Pick<FleetStatus, 'nodes' | 'policies' | 'pauses'>): readonly string[] {
  if (nodes.heard + nodes.silent === 0) return [];
  return [
    ...policies
      .filter(({ nodes: held }) => held === 0)
      .map(
        ({ name }) =>
          `Policy ${name} holds for no node that was heard in the last day: are the names in its selector right, or does another policy go before it?`,
      ),
    ...pauses
      .filter(({ nodes: stopped }) => stopped === 0)
      .map(
        ({ selector }) =>
          `The pause of ${selectorText(selector)} is for no node that was heard in the last day: are the names right?`,
      ),
  ];
}

const named = (subjects: readonly string[]): string =>
  subjects.length <= MOST_NAMED
    ? subjects.join(', ')
    : `${subjects.slice(0, MOST_NAMED).join(', ')} and ${subjects.length - MOST_NAMED} more (fleetgc nodes)`;
