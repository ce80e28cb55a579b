import { describe, expect, test } from 'vitest';
import { CAUSES_FIRST } from '../../packages/records/read-log.ts';
import { SUBJECTS, SubjectKind, subjectNamed } from '../../schemas/events/identity.ts';
import { subjectOf, TOPICS } from '../../schemas/events/topics.ts';
import { isPolicyFor } from '../../schemas/policy/policy.ts';
import { policyRecord } from '../fixtures/policy.ts';

describe('whom a record is about follows from its topic and its key', () => {
  test.each([
    {
      name: 'a node',
      topic: TOPICS.inventory,
      key: 'prod/web-1',
      subject: { kind: 'node', key: 'prod/web-1' },
    },
    {
      name: 'a cluster',
      topic: TOPICS.clusterCommands,
      key: 'prod',
      subject: { kind: 'cluster', key: 'prod' },
    },
    { name: 'a key that no cluster has', topic: TOPICS.clusterCommands, key: 'prod/web-1', subject: null },
    { name: 'no key', topic: TOPICS.inventory, key: null, subject: null },
    { name: 'a key that no node has', topic: TOPICS.inventory, key: 'prod', subject: null },
    { name: 'a topic without subjects', topic: TOPICS.policies, key: 'prod/web-1', subject: null },
  ])('$name', ({ topic, key, subject }) => {
    expect(subjectOf(topic, key)).toEqual(subject);
  });
});

test('a subject that is named has the key of its records', () => {
  const named = subjectNamed('node', { cluster: 'prod', node: 'web-1' });
  expect(subjectOf(TOPICS.commands, named.key)).toEqual(named);
});

test('a cluster that is named has the key of its records, and installations of one name are told apart', () => {
  const named = subjectNamed('cluster', { cluster: 'prod' });
  expect(subjectOf(TOPICS.clusterCommands, named.key)).toEqual(named);
  expect(SUBJECTS.cluster.clusterOf('prod')).toBe('prod');
  const [one, other] = ['a', 'b'].map((clusterInstance) =>
    SUBJECTS.cluster.installationOf({ cluster: 'prod', clusterInstance }),
  );
  expect(one).not.toBe(other);
});

test('a policy for nodes is one for nodes', () => {
  expect(isPolicyFor('node', policyRecord())).toBe(true);
});

test.each(SubjectKind.options)('dead letters lie in the partition of what they are about: %s', (kind) => {
  expect(TOPICS.deadLetters.partitions).toBe(SUBJECTS[kind].partitions);
});

test('every topic has its place among causes and effects', () => {
  expect(CAUSES_FIRST.toSorted()).toEqual(Object.keys(TOPICS).toSorted());
});
