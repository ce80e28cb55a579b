import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leftOutOf } from '../../../../packages/decision/left-out-kinds.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { accessManifests } from '../../../../services/cluster/access/manifests.ts';
import {
  discoveredKinds,
  type KnownKinds,
  PARTS,
  rulesFor,
  type WantedRights,
} from '../../../../services/cluster/access/rights.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';

const ALL = ['delete', 'get', 'list', 'patch', 'watch'];
const resource = (kind: string, verbs: readonly string[] = ALL, group = '') => ({
  group,
  version: 'v1',
  kind,
  resource: `${kind.toLowerCase()}s`,
  namespaced: kind !== 'Namespace',
  verbs,
});
const KINDS = discoveredKinds([
  {
    group: '',
    versions: [
      {
        version: 'v1',
        isStale: false,
        resources: [
          resource('ConfigMap'),
          resource('Secret'),
          resource('Namespace'),
          resource('Binding', ['create']),
          resource('Peek', ['get']),
        ],
      },
    ],
  },
  {
    group: 'apps',
    versions: [{ version: 'v1', isStale: false, resources: [resource('ReplicaSet', ALL, 'apps')] }],
  },
]);

const wanted = (over: Partial<WantedRights> = {}): WantedRights => ({
  kinds: KINDS,
  policy: clusterPolicy(),
  without: new Set(),
  ...over,
});

/** Verbs on a resource, by the rules of a part. */
const verbsOn = (name: string, rules = rulesFor('run', wanted())): readonly string[] =>
  rules
    .flatMap((rule) => ('resources' in rule && rule.resources.includes(name) ? rule.verbs : []))
    .toSorted();

describe('rights of a part', () => {
  test('[cluster S2] what is held by its kind cannot be deleted, and all else that is collected can', () => {
    expect(verbsOn('namespaces')).toEqual(['get', 'list', 'patch', 'watch']);
    expect(verbsOn('configmaps')).toEqual(ALL);
    expect(verbsOn('replicasets')).toEqual(ALL);
    expect(verbsOn('peeks')).toEqual(['get']);
    expect(verbsOn('bindings')).toEqual([]);
  });

  test('[cluster S5] nor what is kept by its kind; upstream holds and keeps nothing', () => {
    const keep = { namespaces: [], kinds: ['apps/ReplicaSet'] };
    const fleetgc = rulesFor('run', wanted({ policy: clusterPolicy({ keep }) }));
    expect(verbsOn('replicasets', fleetgc)).not.toContain('delete');
    const kubernetes = rulesFor('run', wanted({ policy: clusterPolicy({ keep, profile: 'kubernetes' }) }));
    expect([verbsOn('replicasets', kubernetes), verbsOn('namespaces', kubernetes)]).toEqual([ALL, ALL]);
  });

  test('a half has its half: who reads changes nothing, and who changes lists nothing', () => {
    expect(verbsOn('configmaps', rulesFor('agent', wanted()))).toEqual(['list', 'watch']);
    expect(verbsOn('configmaps', rulesFor('executor', wanted()))).toEqual(['delete', 'get', 'patch']);
  });

  test('who may delete an object may read it whole, to keep it before', () => {
    for (const part of ['run', 'executor'] as const)
      for (const { verbs } of rulesFor(part, wanted()).filter(({ verbs }) => verbs.includes('delete')))
        expect(verbs).toContain('get');
  });

  test('replicas of a half take turns by one Lease, and cluster run has no replicas', () => {
    const kindsOf = (part: (typeof PARTS)[number]): readonly string[] =>
      accessManifests(part, 'fleetgc', wanted()).map(({ kind }) => kind);
    expect(kindsOf('run')).not.toContain('Role');
    for (const part of ['agent', 'executor'] as const) {
      const role = accessManifests(part, 'fleetgc', wanted()).find(({ kind }) => kind === 'Role');
      const name = `fleetgc-cluster-${part}`;
      const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
      expect(role).toMatchObject({
        metadata: { name, namespace: 'fleetgc' },
        rules: [
          { ...leases, verbs: ['create'] },
          { ...leases, verbs: ['get', 'patch'], resourceNames: [name] },
        ],
      });
      expect(kindsOf(part)).toContain('RoleBinding');
    }
  });

  test('no rule has a wildcard, and none is on a part of an object but the status of pods', () => {
    const served = discoveredKinds([
      {
        group: '',
        versions: [
          {
            version: 'v1',
            isStale: false,
            resources: [
              { ...resource('Pod'), resource: 'pods' },
              { ...resource('Node'), resource: 'nodes/proxy' },
              { ...resource('Any'), resource: '*' },
            ],
          },
        ],
      },
    ]);
    for (const part of PARTS)
      for (const rule of rulesFor(part, wanted({ kinds: served })).filter((each) => 'resources' in each)) {
        expect(JSON.stringify(rule)).not.toContain('*');
        expect(rule.resources.filter((name) => name.includes('/') && name !== 'pods/status')).toEqual([]);
        expect(rule.resources).not.toContain('nodes/proxy');
      }
  });

  test('what lets in others and what limits others is left out unless it is asked for', () => {
    const kinds = [
      { group: '', kind: 'Secret' },
      { group: '', kind: 'ConfigMap' },
      { group: 'rbac.authorization.k8s.io', kind: 'ClusterRole' },
      { group: 'admissionregistration.k8s.io', kind: 'MutatingWebhookConfiguration' },
      { group: 'example.com', kind: 'Secret' },
    ];
    expect([...leftOutOf(kinds)]).toEqual([
      'Secret',
      'rbac.authorization.k8s.io/ClusterRole',
      'admissionregistration.k8s.io/MutatingWebhookConfiguration',
    ]);
    expect([...leftOutOf(kinds, new Set(['Secret', 'rbac.authorization.k8s.io/ClusterRole']))]).toEqual([
      'admissionregistration.k8s.io/MutatingWebhookConfiguration',
    ]);
  });

  test.each(['dry run', 'policy without collectors'])('in a %s nothing is changed', (what) => {
    const policy = clusterPolicy(what === 'dry run' ? { mode: 'dry-run' } : { collectors: [] });
    for (const part of PARTS)
      expect(rulesFor(part, wanted({ policy })).flatMap(({ verbs }) => verbs)).not.toContain('patch');
  });

  test('a kind that is left out has no right at all, whatever the policy is', () => {
    const policies = fc.record({
      mode: fc.constantFrom('dry-run' as const, 'rehearse' as const, 'enforce' as const),
      profile: fc.constantFrom('fleetgc' as const, 'kubernetes' as const),
      heldKinds: fc.subarray(['Secret', 'ConfigMap']),
    });
    fc.assert(
      fc.property(policies, fc.constantFrom(...PARTS), (over, part) => {
        const rules = rulesFor(part, wanted({ policy: clusterPolicy(over), without: new Set(['Secret']) }));
        expect(verbsOn('secrets', rules)).toEqual([]);
      }),
    );
  });

  test('no rule gives a right on more than its resources: groups never share one', () => {
    const other = { group: 'example.com', kind: 'A', resource: 'as', isCollectable: true, isReadable: true };
    const kinds: KnownKinds = [...KINDS, other];
    const rules = rulesFor('run', wanted({ kinds }));
    for (const rule of rules) if ('apiGroups' in rule) expect(rule.apiGroups).toHaveLength(1);
  });
});

test('what is deleted by its time needs the right to delete that kind alone, whether or not it is known what is served', () => {
  const served = discoveredKinds([
    {
      group: 'batch',
      versions: [{ version: 'v1', isStale: false, resources: [resource('Job', ALL, 'batch')] }],
    },
    {
      group: 'apps',
      versions: [{ version: 'v1', isStale: false, resources: [resource('ReplicaSet', ALL, 'apps')] }],
    },
  ]);
  const policy = clusterPolicy({ collectors: ['ttl-after-finished-controller'] });
  const rules = rulesFor('executor', wanted({ kinds: served, policy }));
  expect(verbsOn('jobs', rules)).toEqual(['delete', 'get']);
  expect(verbsOn('replicasets', rules)).toEqual(['get']);
  const kept = { ...policy, keep: { namespaces: [], kinds: ['batch/Job'] } };
  expect(verbsOn('jobs', rulesFor('executor', wanted({ kinds: served, policy: kept })))).toEqual(['get']);
  expect(verbsOn('jobs', rulesFor('executor', wanted({ policy })))).toEqual([]);
  const rule: OwnRule = {
    name: 'old',
    kinds: ['batch/Job'],
    namespaces: [],
    propagation: 'Background',
    removalsPerHour: 1,
  };
  const own = { ...policy, collectors: [], rules: [rule] };
  expect(verbsOn('jobs', rulesFor('executor', wanted({ kinds: served, policy: own })))).toEqual([
    'delete',
    'get',
  ]);
  expect(verbsOn('replicasets', rulesFor('executor', wanted({ kinds: served, policy: own })))).toEqual([
    'get',
  ]);
});
