import { policySet } from '../../packages/decision/policy-set.ts';
import { differenceSentences } from '../../packages/event-log/difference-sentences.ts';
import type { EventLog, GroupProgress, TopicDifference } from '../../packages/event-log/port.ts';
import { readStoredPolicies, type StoredPolicies } from '../../packages/policy/stored-policies.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import type { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import { selects } from '../../schemas/policy/policy.ts';
import type { FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import { readStoredLetters, type StoredLetters } from '../dead-letters/stored-letters.ts';
import { fleetNodes } from './fleet-nodes.ts';
import { readHeardNodes } from './heard-nodes.ts';
import { statusProblems } from './status-problems.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The services that share their work in groups. */
export const SERVICES = ['pressure', 'container-gc', 'image-gc'] as const;
export const groupOf = (service: (typeof SERVICES)[number]): string => `fleetgc-${service}`;

export interface StatusNeeds {
  readonly log: EventLog;
  readonly kind: FleetStatus['log']['kind'];
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly onProgress: (line: string) => void;
}

/** What was read, before it is put together. */
export interface StatusFacts {
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
  return { stored, letters, nodes: fleetNodes(heard, stored.set, nowMs) };
}

const nothingRead = (nowMs: number): ReadTopics => ({
  stored: { policies: new Map(), pauses: new Map(), unreadable: [], set: policySet([], []) },
  letters: { letters: [], unreadable: 0 },
  nodes: { type: 'fleetgc.nodes', version: 1, readAtMs: nowMs, unreadable: 0, nodes: [] },
});

export function statusOf(facts: StatusFacts): FleetStatus {
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
    warnings: nodes.nodes.flatMap(({ cluster, node, warnings }) =>
      warnings.map((warning) => ({ subject: `${cluster}/${node}`, ...warning })),
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
