import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { AccessRule, Resource } from '../log/access/access-rules.ts';
import type { TopicDifference } from '../log/port.ts';
import { nameIn } from '../log/topic-differences.ts';
import { tableLines } from './text.ts';

/** How one topic stands against the table of topics. */
interface TopicReport {
  readonly topic: TopicName;
  /** What the log itself calls it: on Kafka with the prefix in front. */
  readonly name: string;
  readonly created: boolean;
  readonly differences: readonly TopicDifference[];
}

export const reportTopics = (
  created: readonly TopicName[],
  differences: readonly TopicDifference[],
  prefix: string,
): readonly TopicReport[] =>
  Object.values(TOPICS).map(({ name }) => ({
    topic: name,
    name: nameIn({ prefix }, name),
    created: created.includes(name),
    differences: differences.filter(({ topic }) => topic === name),
  }));

/** For the ways in which a verb prints objects. */
export const topicObjects = (reports: readonly TopicReport[]) => ({
  value: reports,
  lines: topicLines(reports),
  names: reports.map(({ name }) => name),
});

const topicLines = (reports: readonly TopicReport[]): readonly string[] =>
  tableLines(
    ['TOPIC', 'STATE'],
    reports.map((report) => [report.name, stateOf(report)]),
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

/** `wanted`: nobody asked the brokers. `missing`: they have it not, and nobody gave it to them. */
type RuleState = 'wanted' | 'there already' | 'added' | 'missing';

export interface ReportedRule extends AccessRule {
  readonly state: RuleState;
}

/** For machines: one rule of Kafka each. */
export const accessValue = (rules: readonly ReportedRule[]) =>
  rules.map(({ principal, resource: { type, name, pattern }, operation, state }) => ({
    principal,
    permission: 'Allow',
    operation,
    resourceType: type,
    resourceName: name,
    patternType: pattern,
    host: '*',
    state,
  }));

/** A line for each principal and resource. */
export const accessLines = (rules: readonly ReportedRule[]): readonly string[] =>
  tableLines(
    ['PRINCIPAL', 'RESOURCE', 'OPERATIONS', 'STATE'],
    groups(rules, ({ principal, resource: { type, name }, state }) => [principal, type, name, state]).map(
      ({ first: { principal, resource, state }, members }) => [
        principal,
        `${resource.type} ${shownName(resource)}`,
        members.map(({ operation }) => operation).join(', '),
        state,
      ],
    ),
  );

const shownName = ({ name, pattern }: Resource): string => (pattern === 'prefixed' ? `${name}*` : name);

/** Commands of Kafka's own tool: one for all resources on which a principal may do the same. */
export function aclCommands(rules: readonly AccessRule[], servers: readonly string[]): readonly string[] {
  const server = servers.length > 0 ? servers.join(',') : 'HOST:PORT';
  const start = `kafka-acls.sh --bootstrap-server ${server} --command-config admin.properties --add`;
  const perResource = groups(rules, ({ principal, resource: { type, name } }) => [principal, type, name]).map(
    ({ first: { principal, resource }, members }) => ({
      principal,
      resource,
      operations: members.map(({ operation }) => `--operation ${operation}`).join(' '),
    }),
  );
  return groups(perResource, ({ principal, resource, operations }) => [
    principal,
    resource.type,
    resource.pattern,
    operations,
  ]).map(
    ({ first: { principal, resource, operations }, members }) =>
      `${start} --allow-principal ${quoted(principal)} ${operations}${resource.pattern === 'prefixed' ? ' --resource-pattern-type prefixed' : ''} ${members.map((member) => named(member.resource)).join(' ')}`,
  );
}

const named = ({ type, name }: Resource): string => `--${type} ${name}`;

/** For a shell. */
const quoted = (text: string): string =>
  /^[\w:.@/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

interface Group<T> {
  readonly first: T;
  readonly members: readonly T[];
}

/** Those with the same key together, in the order of the first of each. */
const groups = <T>(all: readonly T[], keyOf: (one: T) => readonly string[]): readonly Group<T>[] =>
  [...Map.groupBy(all, (one) => JSON.stringify(keyOf(one))).values()].flatMap((members) => {
    const [first] = members;
    return first === undefined ? [] : [{ first, members }];
  });
