import type { TopicDifference } from '../../../packages/log/port.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { type ObjectFormat, printObjects, tableLines } from '../../framework/output.ts';
import type { VerbContext } from '../../framework/verb.ts';

/** How one topic stands against the table of topics. */
export interface TopicReport {
  readonly topic: TopicName;
  readonly created: boolean;
  readonly differences: readonly TopicDifference[];
}

export const reportTopics = (
  created: readonly TopicName[],
  differences: readonly TopicDifference[],
): readonly TopicReport[] =>
  Object.values(TOPICS).map(({ name }) => ({
    topic: name,
    created: created.includes(name),
    differences: differences.filter(({ topic }) => topic === name),
  }));

export const printTopics = async (
  context: Pick<VerbContext, 'write'>,
  output: ObjectFormat,
  reports: readonly TopicReport[],
): Promise<void> =>
  await printObjects(context, output, {
    value: reports,
    lines: topicLines(reports),
    names: reports.map(({ topic }) => topic),
  });

const topicLines = (reports: readonly TopicReport[]): readonly string[] =>
  tableLines(
    ['TOPIC', 'STATE'],
    reports.map((report) => [report.topic, stateOf(report)]),
  );

function stateOf({ created, differences }: TopicReport): string {
  if (differences.length > 0)
    return differences
      .map(({ kind, expected, found }) =>
        kind === 'missing' ? 'missing' : `${found} instead of ${expected}`,
      )
      .join('; ');
  return created ? 'created' : 'as declared';
}
