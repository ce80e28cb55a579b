import type { ClusterStatus } from '../../schemas/reports/cluster-status.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import { selectorText } from '../policy/selector-text.ts';
import { counted } from '../text/counted.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import { agoText } from './nodes.ts';
import { tableLines } from './text.ts';

/** What is wrong first, then how it all stands. */
export function statusLines(status: FleetStatus): readonly string[] {
  const { problems, log, readAtMs } = status;
  return [
    ...(problems.length === 0 ? [ALL_RUNS] : problems.map((problem) => `! ${problem}`)),
    '',
    `As of ${timeText(readAtMs)}, by the clock of the event log.`,
    log.kind === 'kafka'
      ? `Log: Kafka, ${counted(log.servers.length, 'broker')}: ${log.servers.join(', ')}`
      : `Log: embedded, ${log.servers.join(', ')}`,
    `Topics: ${log.topicProblems.length === 0 ? 'as declared' : counted(log.topicProblems.length, 'difference')}`,
    `Nodes: ${nodesText(status)}`,
    `Messages that could not be processed in the last day: ${lettersText(status)}`,
    ...(status.policies === null ? ['Policies and pauses: unknown, since gc.policies cannot be read'] : []),
    ...part(['SERVICE', 'MEMBERS', 'LAG', 'LAG BY TOPIC'], status.services.map(serviceCells)),
    ...(status.clusters === null ? ['Clusters: unknown, since a topic of theirs cannot be read'] : []),
    ...part(
      ['CLUSTER', 'HEARD', 'POLICY', 'MODE', 'HELD', 'SINCE', 'APPROVALS', 'WARNINGS'],
      (status.clusters ?? []).map((cluster) => clusterCells(cluster, readAtMs)),
    ),
    ...part(
      ['POLICY', 'VERSION', 'MODE', 'NODES'],
      (status.policies ?? []).map(({ name, policyVersion, mode, nodes: held }) => [
        name,
        String(policyVersion),
        mode,
        countText(held),
      ]),
    ),
    ...part(
      ['PAUSED', 'SINCE', 'NODES', 'REASON'],
      (status.pauses ?? []).map(({ selector, sinceMs, nodes: held, reason }) => [
        selectorText(selector),
        timeText(sinceMs),
        countText(held),
        reason,
      ]),
    ),
  ].map(printableLine);
}

const clusterCells = (
  { cluster, heardMs, policy, pausedBecause, held, heldSinceMs, approvals, warnings }: ClusterStatus,
  readAtMs: number,
): readonly string[] => [
  cluster,
  agoText(readAtMs - heardMs),
  policy?.name ?? '(none)',
  pausedBecause === null ? (policy?.mode ?? 'keeps all') : 'paused',
  String(held),
  heldSinceMs === null ? '-' : timeText(heldSinceMs),
  String(approvals),
  warnings.length === 0 ? '-' : warnings.map(({ kind }) => kind).join(', '),
];

/** A stolen key changes nothing of what is looked at here. */
const ALL_RUNS =
  'All is running as it should. Whether anybody wrote what they should not, "fleetgc audit verify" says.';

const countText = (count: number | null): string => (count === null ? 'unknown' : String(count));

function nodesText({ nodes }: FleetStatus): string {
  if (nodes === null) return 'unknown, since gc.node.disk-stats cannot be read';
  const { heard, silent, withoutPolicy, warned } = nodes;
  return `${heard} heard, ${silent} silent in the last day; ${countText(withoutPolicy)} without a policy, ${warned} with warnings`;
}

function lettersText({ deadLetters }: FleetStatus): string {
  if (deadLetters === null) return 'unknown, since gc.dead-letters cannot be read';
  const { total, redriven } = deadLetters;
  return redriven === 0 ? String(total) : `${total}, of which ${redriven} were put back`;
}

const part = (header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  rows.length === 0 ? [] : ['', ...tableLines(header, rows)];

const serviceCells = ({ name, members, lag, topics }: FleetStatus['services'][number]): readonly string[] => [
  name,
  String(members),
  topics === null ? 'unknown' : String(lag),
  topics === null
    ? 'it has not finished any message yet'
    : Object.entries(topics)
        .map(([topic, left]) => `${topic} ${left}`)
        .join(', '),
];
