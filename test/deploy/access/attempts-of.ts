import {
  DECIDER_GROUPS,
  NOTIFIER_GROUP_PREFIX,
  type Role,
  rightsOf,
} from '../../../packages/log/access/access-rules.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { CLUSTER_OPERATIONS, GROUP_OPERATIONS, type Intruder, TOPIC_OPERATIONS } from './attempts.ts';

const TOPIC_NAMES = Object.values(TOPICS).map(({ name }) => name);

/** What somebody tries, and whether a rule lets them. */
export interface Attempt {
  readonly on: 'topics' | 'groups' | 'the cluster';
  readonly what: string;
  readonly may: boolean;
  readonly attempt: () => Promise<boolean>;
}

export type Login = Role | 'stranger';
/** Belongs to Kafka itself. */
const FOREIGN_TOPIC = '__consumer_offsets';
const FOREIGN_GROUP = 'fleetgc-stranger';
/** As a rule file may call a receiver. */
const NOTIFIER_GROUP = `${NOTIFIER_GROUP_PREFIX}pager`;

const rightsOfLogin = (who: Login) => (who === 'stranger' ? [] : rightsOf(who));

/** Reading or writing a topic, and reading a group, let one describe it. */
const mayDo = (who: Login, operation: string, name: string): boolean =>
  rightsOfLogin(who).some(
    (right) =>
      (right.resource.name === name ||
        (right.resource.pattern === 'prefixed' && name.startsWith(right.resource.name))) &&
      (right.operation === operation ||
        (operation === 'Describe' && ['Read', 'Write'].includes(right.operation))),
  );

export function attemptsOf(who: Login, intruder: Intruder): readonly Attempt[] {
  const onTopics = [...TOPIC_NAMES, FOREIGN_TOPIC].flatMap((topic) =>
    TOPIC_OPERATIONS.map((operation) => ({
      on: 'topics' as const,
      what: `${operation} ${topic}`,
      may: mayDo(who, operation, topic),
      attempt: () => intruder.topic(operation, topic),
    })),
  );
  const onGroups = [...DECIDER_GROUPS, NOTIFIER_GROUP, FOREIGN_GROUP].flatMap((group) =>
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
