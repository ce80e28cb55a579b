import { expect, test } from 'vitest';
import {
  accessRules,
  DECIDER_GROUPS,
  ROLES,
  type Role,
  rightsOf,
} from '../../../../packages/log/access/access-rules.ts';
import { groupOf, SERVICES_FOR } from '../../../../packages/read-model/status.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { NOTICE_KIND_NAMES, topicsOf } from '../../../../schemas/notices/notice.ts';
import { groupOf as groupOfReceiver } from '../../../../services/notices/listen.ts';

const NOBODY = {
  node: [],
  cluster: [],
  decider: [],
  operator: [],
  dashboard: [],
  'policy-controller': [],
  archiver: [],
  reader: [],
  notifier: [],
};
const TOPIC_IDS = Object.keys(TOPICS).filter((id): id is TopicId => id in TOPICS);

const may = (role: Role, operation: string, name: string): boolean =>
  rightsOf(role).some((right) => right.operation === operation && right.resource.name === name);

const written = (role: Role): readonly string[] =>
  rightsOf(role)
    .filter(({ operation }) => operation === 'Write')
    .map(({ resource }) => resource.name);

test('the groups are those that the deciders join', () => {
  const services = [...SERVICES_FOR.node, ...SERVICES_FOR.cluster];
  expect(DECIDER_GROUPS).toEqual(services.map(groupOf));
});

test.each(['operator', 'dashboard', 'reader'] as const)(
  '%s may ask how far each decider is, as status does',
  (role) => {
    for (const group of DECIDER_GROUPS) expect(may(role, 'Describe', group)).toBe(true);
  },
);

test.each<{ role: Role; writes: readonly TopicId[] }>([
  { role: 'node', writes: ['latestFacts', 'diskStats', 'inventory', 'results', 'deadLetters'] },
  {
    role: 'cluster',
    writes: [
      'latestFacts',
      'clusterOwnership',
      'clusterPods',
      'clusterExpiry',
      'clusterRemoved',
      'clusterResults',
      'clusterCensus',
      'deadLetters',
    ],
  },
  {
    role: 'decider',
    writes: [
      'observe',
      'commands',
      'decisions',
      'clusterCommands',
      'clusterDecisions',
      'heads',
      'policyVersions',
      'deadLetters',
    ],
  },
  // Facts only to put dead letters back.
  {
    role: 'operator',
    writes: [
      'policies',
      'policyVersions',
      'keys',
      'deadLetters',
      'diskStats',
      'inventory',
      'results',
      'clusterOwnership',
      'clusterPods',
      'clusterExpiry',
    ],
  },
  // All that an operator writes but keys; which states of `gc.policies` are its own says the role of its key.
  {
    role: 'dashboard',
    writes: [
      'policies',
      'policyVersions',
      'deadLetters',
      'diskStats',
      'inventory',
      'results',
      'clusterOwnership',
      'clusterPods',
      'clusterExpiry',
    ],
  },
  // Which policies of `gc.policies` are its own says its key.
  { role: 'policy-controller', writes: ['policies', 'policyVersions'] },
])('a $role writes what it has to say, and no more', ({ role, writes }) => {
  expect(written(role).toSorted()).toEqual(writes.map((id) => TOPICS[id].name).toSorted());
});

test.each<{ role: Role; writes: readonly string[] }>([
  { role: 'archiver', writes: ['gc.heads'] },
  { role: 'reader', writes: [] },
])('a $role writes no more than $writes and reads all', ({ role, writes }) => {
  expect(written(role)).toEqual(writes);
  expect(TOPIC_IDS.filter((id) => !may(role, 'Read', TOPICS[id].name))).toEqual([]);
});

test('orders, commands and decisions come from deciders alone', () => {
  for (const id of ['observe', 'commands', 'decisions', 'clusterCommands', 'clusterDecisions'] as const)
    expect(ROLES.filter((role) => may(role, 'Write', TOPICS[id].name))).toEqual(['decider']);
});

test('every topic has somebody who writes it and somebody who works with it', () => {
  for (const id of TOPIC_IDS)
    expect(ROLES.filter((role) => may(role, 'Write', TOPICS[id].name))).not.toEqual([]);
});

test('a notifier reads what notices tell of, the keys, and which policies there were, and writes nothing', () => {
  const topics = [...topicsOf(NOTICE_KIND_NAMES), 'keys' as const, 'policyVersions' as const].map(
    (id) => TOPICS[id].name,
  );
  const read = rightsOf('notifier').filter(({ resource }) => resource.type === 'topic');
  expect(read.map(({ resource }) => resource.name).toSorted()).toEqual(topics.toSorted());
  expect(new Set(read.map(({ operation }) => operation))).toEqual(new Set(['Read']));
});

test('its groups are those that its receivers have, whatever they are called', () => {
  expect(rightsOf('notifier').filter(({ resource }) => resource.type === 'group')).toEqual([
    { resource: { type: 'group', name: 'fleetgc-notify-', pattern: 'prefixed' }, operation: 'Read' },
  ]);
  expect(groupOfReceiver('pager')).toBe('fleetgc-notify-pager');
  expect(DECIDER_GROUPS.filter((name) => name.startsWith('fleetgc-notify-'))).toEqual([]);
});

test('only deciders and notifiers join groups, and none but their own', () => {
  const joined = ROLES.flatMap((role) =>
    rightsOf(role)
      .filter(({ resource, operation }) => resource.type === 'group' && operation === 'Read')
      .filter(({ resource }) => resource.pattern === 'literal')
      .map(({ resource }) => `${role} ${resource.name}`),
  );
  expect(joined).toEqual(DECIDER_GROUPS.map((group) => `decider ${group}`));
});

test('with a prefix it stands in front of every name, also of those that others only begin with', () => {
  const principals = { ...NOBODY, decider: ['User:d'], notifier: ['User:n'] };
  const names = (prefix: string) => accessRules(principals, prefix).map(({ resource }) => resource);
  expect(names('acme.')).toEqual(names('').map((one) => ({ ...one, name: `acme.${one.name}` })));
  expect(names('acme.')).toContainEqual({
    type: 'group',
    name: 'acme.fleetgc-notify-',
    pattern: 'prefixed',
  });
});

test('whoever plays two roles gets each rule once', () => {
  const both = accessRules({ ...NOBODY, archiver: ['User:one'], reader: ['User:one'] }, '');
  // An archiver also writes heads.
  expect(both).toHaveLength(rightsOf('reader').length + 1);
  expect(accessRules(NOBODY, '')).toEqual([]);
});
