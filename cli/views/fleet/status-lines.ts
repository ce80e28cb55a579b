import { selectorText } from '../../../packages/policy/selector-text.ts';
import { counted } from '../../../packages/text/counted.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { tableLines } from '../../framework/output.ts';

/** What is wrong first, then how it all stands. */
export function statusLines(status: FleetStatus): readonly string[] {
  const { problems, log, nodes, deadLetters, readAtMs } = status;
  return [
    ...(problems.length === 0 ? ['All is well.'] : problems.map((problem) => `! ${problem}`)),
    '',
    `As of ${timeText(readAtMs)}, by the clock of the log.`,
    log.kind === 'kafka'
      ? `Log: Kafka, ${counted(log.servers.length, 'broker')}: ${log.servers.join(', ')}`
      : `Log: embedded, ${log.servers.join(', ')}`,
    `Topics: ${log.topicProblems.length === 0 ? 'as declared' : counted(log.topicProblems.length, 'difference')}`,
    `Nodes: ${nodes.heard} heard, ${nodes.silent} silent in the last day; ${nodes.withoutPolicy} without a policy, ${nodes.warned} with warnings`,
    `Messages that could not be processed in the last day: ${deadLetters.total}${deadLetters.redriven === 0 ? '' : `, of which ${deadLetters.redriven} were put back`}`,
    ...part(['SERVICE', 'MEMBERS', 'LAG', 'LAG BY TOPIC'], status.services.map(serviceCells)),
    ...part(
      ['POLICY', 'VERSION', 'MODE', 'NODES'],
      status.policies.map(({ name, policyVersion, mode, nodes: held }) => [
        name,
        String(policyVersion),
        mode,
        String(held),
      ]),
    ),
    ...part(
      ['PAUSED', 'SINCE', 'NODES', 'REASON'],
      status.pauses.map(({ selector, sinceMs, nodes: held, reason }) => [
        selectorText(selector),
        timeText(sinceMs),
        String(held),
        reason,
      ]),
    ),
  ];
}

const part = (header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  rows.length === 0 ? [] : ['', ...tableLines(header, rows)];

const serviceCells = ({ name, members, lag, topics }: FleetStatus['services'][number]): readonly string[] => [
  name,
  String(members),
  topics === null ? 'unknown' : String(lag),
  topics === null
    ? 'it was never done with a message'
    : Object.entries(topics)
        .map(([topic, left]) => `${topic} ${left}`)
        .join(', '),
];
