import { expect, test } from 'vitest';
import { policySet } from '../../packages/decision/policy-set.ts';
import type { NodeSelector } from '../../schemas/policy/policy.ts';
import { isPolicyFor, keyOfPolicyNamed, policyKey } from '../../schemas/policy/policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { clusterPolicyRecord } from '../fixtures/cluster.ts';
import { EVERY_NODE, pauseRecord } from '../fixtures/policy.ts';

const PROD = { cluster: 'prod' };
const policies = [
  clusterPolicyRecord({ name: 'all', priority: -1 }),
  clusterPolicyRecord({ name: 'b', selector: { clusters: ['prod', 'test'] } }),
  clusterPolicyRecord({ name: 'a', selector: { clusters: ['prod'] } }),
];

test.each([
  { cluster: 'prod', holds: 'a' },
  { cluster: 'test', holds: 'b' },
  { cluster: 'other', holds: 'all' },
])(
  'of the policies that select $cluster the one with the highest priority holds, then the first by name',
  ({ cluster, holds }) => {
    for (const order of [policies, policies.toReversed()])
      expect(selectPolicy(policySet('cluster', order, []), { cluster })).toMatchObject({
        kind: 'policy',
        record: { policy: { name: holds } },
      });
  },
);

test('a cluster that no policy selects gets none, which means keep everything', () => {
  const set = policySet('cluster', policies.slice(1), []);
  expect(selectPolicy(set, { cluster: 'other' })).toEqual({ kind: 'none' });
});

test.each<{ name: string; selector: Partial<NodeSelector>; paused: boolean }>([
  { name: 'of everything holds it', selector: {}, paused: true },
  { name: 'of the cluster holds it', selector: { clusters: ['test', 'prod'] }, paused: true },
  { name: 'of another cluster does not', selector: { clusters: ['test'] }, paused: false },
  { name: 'of some nodes does not', selector: { nodeNames: ['*'] }, paused: false },
  { name: 'of a pool does not', selector: { pools: ['gpu'] }, paused: false },
  { name: 'of nodes with a label does not', selector: { nodeLabels: { a: 'b' } }, paused: false },
  {
    name: 'of some nodes of the cluster does not',
    selector: { clusters: ['prod'], nodeNames: ['*'] },
    paused: false,
  },
])('a pause $name', ({ selector, paused }) => {
  const pause = pauseRecord({ selector: { ...EVERY_NODE, ...selector } });
  const selection = selectPolicy(policySet('cluster', policies, [pause]), PROD);
  expect(selection.kind).toBe(paused ? 'paused' : 'policy');
});

test('the hash of a set covers its own policies and every pause', () => {
  const set = policySet('cluster', policies, []);
  expect(policySet('cluster', policies.toReversed(), []).hash).toBe(set.hash);
  expect(policySet('cluster', policies.slice(1), []).hash).not.toBe(set.hash);
  const ofNodes = pauseRecord({ selector: { ...EVERY_NODE, nodeNames: ['*'] } });
  expect(policySet('cluster', policies, [ofNodes]).hash).not.toBe(set.hash);
});

test('policies for nodes and for clusters are told apart by type, and lie under keys of their own', () => {
  const [ofNodes, ofClusters] = [appliedPolicy({ name: 'a' }), clusterPolicyRecord({ name: 'a' })];
  expect([policyKey(ofNodes), policyKey(ofClusters)]).toEqual(['a', 'cluster/a']);
  expect(keyOfPolicyNamed('cluster', 'a')).toBe('cluster/a');
  expect([isPolicyFor('node', ofClusters), isPolicyFor('cluster', ofNodes)]).toEqual([false, false]);
});
