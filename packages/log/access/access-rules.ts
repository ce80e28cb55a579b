import { AnyDeciderName } from '../../../schemas/events/deciders.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';

/**
 * Who comes to the brokers, each with a login of its own. `cluster`: agent and executor of one.
 * `reader` and `notifier` write nothing, `archiver` nothing but heads; `dashboard` is one with actions; `policy-controller` brings what lies
 * in one cluster as objects.
 */
export const ROLES = [
  'node',
  'cluster',
  'decider',
  'operator',
  'dashboard',
  'policy-controller',
  'archiver',
  'reader',
  'notifier',
] as const;
export type Role = (typeof ROLES)[number];

/** Kafka's own names. Reading and writing a topic, and reading a group, let one describe it too. */
export type Operation = 'Read' | 'Write' | 'Create' | 'Describe' | 'DescribeConfigs';

/** Nothing is asked for on the cluster or on transactions, and by prefix on the groups of notifiers alone. */
export interface Resource {
  readonly type: 'topic' | 'group';
  readonly name: string;
  /** `prefixed`: all that begin with the name. */
  readonly pattern: 'literal' | 'prefixed';
}

export interface Right {
  readonly resource: Resource;
  readonly operation: Operation;
}

type Access = Readonly<Record<'readers' | 'writers', readonly Role[]>>;

/** Who looks at the whole log. */
const ONLOOKERS = ['operator', 'dashboard', 'archiver', 'reader'] as const satisfies readonly Role[];

/** Who pauses, resumes, approves, and puts dead letters back. */
const PEOPLE = ['operator', 'dashboard'] as const satisfies readonly Role[];

/** Who reads and who writes which topic. People write facts of nodes and clusters only to put dead letters back, and never an order. */
const TOPIC_ACCESS: Readonly<Record<TopicId, Access>> = {
  diskStats: {
    readers: ['decider', 'notifier', 'policy-controller', ...ONLOOKERS],
    writers: ['node', ...PEOPLE],
  },
  inventory: { readers: ['decider', ...ONLOOKERS], writers: ['node', ...PEOPLE] },
  observe: { readers: ['node', 'notifier', ...ONLOOKERS], writers: ['decider'] },
  commands: { readers: ['node', ...ONLOOKERS], writers: ['decider'] },
  results: { readers: ['decider', 'notifier', ...ONLOOKERS], writers: ['node', ...PEOPLE] },
  decisions: { readers: ['notifier', ...ONLOOKERS], writers: ['decider'] },
  clusterOwnership: {
    readers: ['cluster', 'decider', 'notifier', ...ONLOOKERS],
    writers: ['cluster', ...PEOPLE],
  },
  clusterPods: { readers: ['decider', 'notifier', ...ONLOOKERS], writers: ['cluster', ...PEOPLE] },
  clusterExpiry: { readers: ['decider', 'notifier', ...ONLOOKERS], writers: ['cluster', ...PEOPLE] },
  clusterCommands: { readers: ['cluster', ...ONLOOKERS], writers: ['decider'] },
  // Nobody puts results of clusters and what is reported of them back: nobody reads them who keeps dead letters.
  clusterResults: { readers: ['cluster', 'notifier', ...ONLOOKERS], writers: ['cluster'] },
  // Only people read what objects were.
  clusterRemoved: { readers: ONLOOKERS, writers: ['cluster'] },
  clusterDecisions: { readers: ONLOOKERS, writers: ['decider'] },
  clusterCensus: { readers: ['decider', 'notifier', ...ONLOOKERS], writers: ['cluster'] },
  policies: {
    readers: ['node', 'cluster', 'decider', 'notifier', 'policy-controller', ...ONLOOKERS],
    writers: [...PEOPLE, 'policy-controller'],
  },
  keys: {
    readers: ['node', 'cluster', 'decider', 'notifier', 'policy-controller', ...ONLOOKERS],
    writers: ['operator'],
  },
  heads: { readers: ONLOOKERS, writers: ['decider', 'archiver'] },
  policyVersions: {
    readers: ['decider', 'notifier', 'policy-controller', ...ONLOOKERS],
    writers: ['decider', ...PEOPLE, 'policy-controller'],
  },
  // Nobody decides by them.
  latestFacts: { readers: ONLOOKERS, writers: ['node', 'cluster'] },
  deadLetters: { readers: ['notifier', ...ONLOOKERS], writers: ['node', 'cluster', 'decider', ...PEOPLE] },
};

/** What else a role may do, on each topic and on each group of the deciders. */
const OTHER_RIGHTS: Readonly<Record<Role, Readonly<Record<Resource['type'], readonly Operation[]>>>> = {
  node: { topic: [], group: [] },
  cluster: { topic: [], group: [] },
  decider: { topic: [], group: ['Read'] },
  // Creates the topics, compares their settings, and asks how far the deciders are.
  operator: { topic: ['Create', 'DescribeConfigs'], group: ['Describe'] },
  dashboard: { topic: ['DescribeConfigs'], group: ['Describe'] },
  'policy-controller': { topic: [], group: [] },
  // Before it signs heads it asks whether the broker would compress them anew.
  archiver: { topic: ['DescribeConfigs'], group: [] },
  reader: { topic: ['DescribeConfigs'], group: ['Describe'] },
  notifier: { topic: [], group: [] },
};

/** The consumer groups of the deciders; nobody else joins one. */
const groupOf = (name: AnyDeciderName): string => `fleetgc-${name}`;
export const DECIDER_GROUPS: readonly string[] = AnyDeciderName.options.map(groupOf);

/** What the groups of notifiers begin with: each receiver has its own. */
export const NOTIFIER_GROUP_PREFIX = 'fleetgc-notify-';

const TOPIC_IDS = Object.keys(TOPICS).filter((id): id is TopicId => id in TOPICS);

function* messagesOf(id: TopicId, role: Role): Iterable<Operation> {
  if (TOPIC_ACCESS[id].readers.includes(role)) yield 'Read';
  if (TOPIC_ACCESS[id].writers.includes(role)) yield 'Write';
}

/** All that a role may do, in the order of the table of topics. What is not here the brokers are to deny. */
export function rightsOf(role: Role): readonly Right[] {
  const { topic, group } = OTHER_RIGHTS[role];
  return [
    ...TOPIC_IDS.flatMap((id) =>
      [...messagesOf(id, role), ...topic].map((operation) => right('topic', TOPICS[id].name, operation)),
    ),
    ...group.flatMap((operation) => DECIDER_GROUPS.map((name) => right('group', name, operation))),
    ...(role === 'notifier' ? [ownGroups] : []),
  ];
}

const ownGroups: Right = {
  resource: { type: 'group', name: NOTIFIER_GROUP_PREFIX, pattern: 'prefixed' },
  operation: 'Read',
};

const right = (type: Resource['type'], name: string, operation: Operation): Right => ({
  resource: { type, name, pattern: 'literal' },
  operation,
});

/** Who is allowed what: one rule of Kafka. */
export interface AccessRule extends Right {
  /** As Kafka writes it, such as `User:nodes` or `User:CN=nodes,O=example`. */
  readonly principal: string;
}

/** The principals of each role; none where nobody has it. */
export type Principals = Readonly<Record<Role, readonly string[]>>;

/**
 * What the principals need to play their roles, with the prefix in front of all names. Whoever has several roles gets each rule
 * once.
 */
export function accessRules(principals: Principals, prefix: string): readonly AccessRule[] {
  const rules = ROLES.flatMap((role) =>
    principals[role].flatMap((principal) =>
      rightsOf(role).map(({ resource, operation }) => ({
        principal,
        resource: { ...resource, name: `${prefix}${resource.name}` },
        operation,
      })),
    ),
  );
  return [...new Map(rules.map((rule) => [ruleKey(rule), rule])).values()];
}

/** The same for rules that say the same. */
export const ruleKey = ({ principal, resource: { type, name, pattern }, operation }: AccessRule): string =>
  JSON.stringify([principal, type, name, pattern, operation]);
