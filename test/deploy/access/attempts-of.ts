import {
  DECIDER_GROUPS,
  NOTIFIER_GROUP_PREFIX,
  type Role,
  rightsOf,
} from '../../../packages/log/access/access-rules.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { CLUSTER_OPERATIONS, GROUP_OPERATIONS, type Intruder, TOPIC_OPERATIONS } from './attempts.ts';
import { PREFIX } from './logins.ts';

const named = (name: string): string => `${PREFIX}${name}`;
const TOPIC_NAMES = Object.values(TOPICS).map(({ name }) => named(name));

/** What somebody tries, and whether a rule lets them. */
export interface Attempt {
  readonly on: 'topics' | 'groups' | 'the cluster';
  readonly what: string;
  readonly may: boolean;
  readonly attempt: () => Promise<boolean>;
}

export type Login = Role | 'stranger';
/** Of Kafka itself, and of the fleet that has no prefix. */
const FOREIGN_TOPICS = ['__consumer_offsets', ...Object.values(TOPICS).map(({ name }) => name)];
const FOREIGN_GROUPS = [named('fleetgc-stranger'), ...DECIDER_GROUPS, `${NOTIFIER_GROUP_PREFIX}pager`];
/** As a rule file may call a receiver. */
const NOTIFIER_GROUP = named(`${NOTIFIER_GROUP_PREFIX}pager`);

const rightsOfLogin = (who: Login) => (who === 'stranger' ? [] : rightsOf(who));

/** Reading or writing a topic, and reading a group, let one describe it. */
const mayDo = (who: Login, operation: string, name: string): boolean =>
  rightsOfLogin(who).some(
    (right) =>
      (named(right.resource.name) === name ||
        (right.resource.pattern === 'prefixed' && name.startsWith(named(right.resource.name)))) &&
      (right.operation === operation ||
        (operation === 'Describe' && ['Read', 'Write'].includes(right.operation))),
  );

export function attemptsOf(who: Login, intruder: Intruder): readonly Attempt[] {
  const onTopics = [...TOPIC_NAMES, ...FOREIGN_TOPICS].flatMap((topic) =>
    TOPIC_OPERATIONS.map((operation) => ({
      on: 'topics' as const,
      what: `${operation} ${topic}`,
      may: mayDo(who, operation, topic),
      attempt: () => intruder.topic(operation, topic),
    })),
  );
  const onGroups = [...DECIDER_GROUPS.map(named), NOTIFIER_GROUP, ...FOREIGN_GROUPS].flatMap((group) =>
    GROUP_OPERATIONS.map((operation) => ({
      on: 'groups' as const,
      what: `${operation} ${group}`,
      may: mayDo(who, operation, group),
      attempt: () => intruder.group(operation, group),
    })),
  );
  const onCluster = CLUSTER_OPERATIONS.map((operation) => ({
    on: 'the cluster' as const,
    what: `${operation} of the cluster`,
    may: false,
    attempt: () => intruder.cluster(operation),
  }));
  const writes = rightsOfLogin(who).some(({ operation }) => operation === 'Write');
  return [
    ...onTopics,
    ...onGroups,
    ...onCluster,
    { on: 'the cluster', what: 'a transaction', may: false, attempt: () => intruder.transaction() },
    { on: 'the cluster', what: 'numbered writes', may: writes, attempt: () => intruder.idempotentWrites() },
  ];
}
