import { describe, expect, test } from 'vitest';
import type { LogRecord } from '../../../packages/log/port.ts';
import { objectionToStating } from '../../../packages/policy/may-state.ts';
import { createPolicyReading, setsOfEntries } from '../../../packages/policy/policy-reading.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { type Principal, TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { type PolicyRecordOf, policyKey } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { deletionOutput, deletionRecord } from '../../fixtures/policy.ts';
import { recordOf } from '../../support/logs/log-record.ts';

const applied = (record: PolicyRecordOf<SubjectKind>, over: Partial<LogRecord> = {}): LogRecord => ({
  ...recordOf({ topic: 'policies', key: policyKey(record), event: record }),
  ...over,
});

/** What deciders make of these records, one after the other. */
function setsOf(...records: readonly LogRecord[]) {
  const reading = createPolicyReading(TRUST_OFF, new SeenGenerations());
  for (const [offset, record] of records.entries()) reading.add({ ...record, offset: BigInt(offset) });
  return { ...setsOfEntries(reading.entries.values()), entries: [...reading.entries.values()] };
}

const NODES = appliedPolicy({ name: 'a' });
const CLUSTERS = clusterPolicyRecord({ name: 'a', selector: { clusters: ['prod'] } });

test('policies of both kinds lie on one topic, each in the set of its own subject, and none in place of another', () => {
  const { node, cluster } = setsOf(applied(NODES), applied(CLUSTERS));
  expect(node.policies).toEqual([NODES]);
  expect(cluster.policies).toEqual([CLUSTERS]);
});

test('what deletes one of them leaves the other', () => {
  const { node, cluster } = setsOf(applied(NODES), applied(CLUSTERS), recordOf(deletionOutput('cluster/a')));
  expect([node.policies, cluster.policies]).toEqual([[NODES], []]);
});

test('a policy for clusters under the key of one for nodes is none, and nobody knows for whom it is', () => {
  const { node, cluster, entries } = setsOf(applied(CLUSTERS, { key: 'a' }));
  expect([node.policies, cluster.policies]).toEqual([[], []]);
  expect(entries).toMatchObject([{ kind: 'unreadable', hold: null }]);
});

describe('a policy for clusters that cannot be read', () => {
  const unknownField = (selector: unknown) => {
    const policy = { ...CLUSTERS.policy, selector, inventedLater: true };
    return applied(CLUSTERS, { value: Buffer.from(JSON.stringify({ ...CLUSTERS, policy })) });
  };

  test('pauses the clusters that it selects, with their nodes, and no others', () => {
    const { node, cluster } = setsOf(unknownField({ clusters: ['prod'] }), applied(appliedPolicy()));
    const kinds = (name: string) => [
      selectPolicy(cluster, { cluster: name }).kind,
      selectPolicy(node, { cluster: name, node: 'web-1', nodeLabels: {} }).kind,
    ];
    expect(kinds('prod')).toEqual(['paused', 'paused']);
    expect(kinds('test')).toEqual(['none', 'policy']);
  });

  test.each([
    { selector: { clusters: ['prod'], regions: [] } },
    { selector: 'prod' },
    { selector: undefined },
  ])('may be for anybody where its selector says more than is understood: $selector', ({ selector }) => {
    expect(setsOf(unknownField(selector)).entries).toMatchObject([{ kind: 'unreadable', hold: null }]);
  });
});

describe('an operator whose key is for some clusters', () => {
  const principal: Principal = {
    kind: 'key',
    keyId: '0'.repeat(32),
    role: 'operator',
    clusters: ['prod'],
    generation: 1,
  };

  test.each([
    {
      name: 'its own policy',
      event: clusterPolicyRecord({ name: 'prod.a', selector: { clusters: ['prod'] } }),
      may: true,
    },
    { name: 'one for all clusters', event: clusterPolicyRecord({ name: 'prod.a' }), may: false },
    {
      name: 'one for another cluster',
      event: clusterPolicyRecord({ name: 'prod.a', selector: { clusters: ['test'] } }),
      may: false,
    },
    {
      name: 'one of another name',
      event: clusterPolicyRecord({ name: 'a', selector: { clusters: ['prod'] } }),
      may: false,
    },
    { name: 'the deletion of its own', event: deletionRecord('cluster/prod.a'), may: true },
    { name: 'the deletion of another', event: deletionRecord('cluster/a'), may: false },
  ])('may state $name: $may', ({ event, may }) => {
    expect(objectionToStating(principal, event) === null).toBe(may);
  });
});
