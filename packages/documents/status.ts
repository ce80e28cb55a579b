import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import { selectorText } from '../policy/selector-text.ts';
import { counted } from '../text/counted.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import type { Column } from './document.ts';
import { agoText } from './nodes.ts';
import { tableOf } from './text.ts';

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
    ...part(status.services, [
      ['Service', 'name', ({ name }) => name],
      ['Members', 'count', ({ members }) => members],
      ['Lag', 'count', ({ topics, lag }) => (topics === null ? 'unknown' : lag)],
      ['Lag by topic', 'text', lagText],
    ]),
    ...(status.clusters === null ? ['Clusters: unknown, since a topic of theirs cannot be read'] : []),
    ...part(status.clusters ?? [], [
      ['Cluster', 'name', ({ cluster }) => cluster],
      ['Heard', 'text', ({ heardMs }) => agoText(readAtMs - heardMs)],
      ['Policy', 'text', ({ policy }) => policy?.name ?? '(none)'],
      [
        'Mode',
        'text',
        ({ policy, pausedBecause }) => (pausedBecause === null ? (policy?.mode ?? 'keeps all') : 'paused'),
      ],
      ['Held', 'count', ({ held }) => held],
      ['Since', 'time', ({ heldSinceMs }) => heldSinceMs ?? '-'],
      ['Approvals', 'count', ({ approvals }) => approvals],
      ['Warnings', 'text', ({ warnings }) => warnings.map(({ kind }) => kind).join(', ') || '-'],
    ]),
    ...part(status.policies ?? [], [
      ['Policy', 'name', ({ name }) => name],
      ['Version', 'count', ({ policyVersion }) => policyVersion],
      ['Mode', 'text', ({ mode }) => mode],
      ['Nodes', 'count', ({ nodes }) => nodes ?? 'unknown'],
    ]),
    ...part(status.pauses ?? [], [
      ['Paused', 'name', ({ selector }) => selectorText(selector)],
      ['Since', 'time', ({ sinceMs }) => sinceMs],
      ['Nodes', 'count', ({ nodes }) => nodes ?? 'unknown'],
      ['Reason', 'text', ({ reason }) => reason],
    ]),
  ].map(printableLine);
}

/** A stolen key changes nothing of what is looked at here. */
const ALL_RUNS =
  'All is running as it should. Whether anybody wrote what they should not, "fleetgc audit verify" says.';

const countText = (count: number | null): string => (count === null ? 'unknown' : String(count));

function nodesText({ nodes }: FleetStatus): string {
  if (nodes === null) return 'unknown, since gc.node.disk-stats or gc.latest-facts cannot be read';
  const { heard, silent, withoutPolicy, warned } = nodes;
  return `${heard} heard, ${silent} silent in the last day; ${countText(withoutPolicy)} without a policy, ${warned} with warnings`;
}

function lettersText({ deadLetters }: FleetStatus): string {
  if (deadLetters === null) return 'unknown, since gc.dead-letters cannot be read';
  const { total, redriven } = deadLetters;
  return redriven === 0 ? String(total) : `${total}, of which ${redriven} were put back`;
}

const part = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row, string, string | number>[],
): readonly string[] => (rows.length === 0 ? [] : ['', ...tableOf(rows, columns)]);

const lagText = ({ topics }: FleetStatus['services'][number]): string =>
  topics === null
    ? 'it has not finished any message yet'
    : Object.entries(topics)
        .map(([topic, left]) => `${topic} ${left}`)
        .join(', ');
