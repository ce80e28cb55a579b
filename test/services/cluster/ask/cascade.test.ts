import { expect, test } from 'vitest';
import { cascadeLines } from '../../../../packages/documents/cluster.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { ClusterCascade } from '../../../../schemas/reports/cluster-cascade.ts';
import { clusterCascade } from '../../../../services/cluster/ask/cascade.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import type { FakeCluster } from '../agent/support/fake-cluster.ts';
import { KEPT, lookedAt, owned } from './support/looked-at.ts';

type Mode = 'Background' | 'Foreground' | 'Orphan';

/** What becomes of each object in one mode, by name. */
async function fates(
  mode: Mode,
  prepare: (cluster: FakeCluster) => void,
  { target = 'ConfigMap/o', policy = {} }: { target?: string; policy?: Partial<ClusterPolicy> } = {},
): Promise<Readonly<Record<string, string>>> {
  const [kind = '', name = ''] = target.split('/');
  const asking = { look: await lookedAt(prepare), clusterInstance: 'c', record: clusterPolicyRecord(policy) };
  const told = ClusterCascade.parse(clusterCascade(asking, { kind, name, namespace: 'ns' }));
  const objects = told.modes.find(({ propagation }) => propagation === mode)?.objects ?? [];
  return Object.fromEntries(
    objects.map((each) => [each.name, each.rule === null ? each.fate : `${each.fate} ${each.rule}`]),
  );
}

const family = (cluster: FakeCluster): void => {
  cluster.put({ resource: 'configmaps', name: 'o' });
  cluster.put(owned('d', ['o'], { blockOwnerDeletion: true }));
  cluster.put(owned('e', ['d']));
};

test('[cluster D14, D17, E1, E3] each mode takes along what it does', async () => {
  expect(await fates('Background', family)).toEqual({ o: 'goes', d: 'goes D14', e: 'goes D14' });
  expect(await fates('Foreground', family)).toEqual({ o: 'goes D17', d: 'goes D17', e: 'goes D14' });
  expect(await fates('Orphan', family)).toEqual({ o: 'goes E3', d: 'loses-references E1', e: 'stays' });
});

test('[cluster D10, D11, S5] what has another owner, or is kept, stays', async () => {
  const told = await fates('Background', (cluster) => {
    family(cluster);
    cluster.put({ resource: 'configmaps', name: 'p' });
    cluster.put(owned('shared', ['o', 'p']));
    cluster.put(owned('kept', ['o'], {}, KEPT));
  });
  expect(told).toMatchObject({ shared: 'loses-references D11', kept: 'stays S5' });
});

test('[cluster S4] what names the deleted object and lies in another namespace stays, and is told why', async () => {
  const look = await lookedAt((cluster) => {
    family(cluster);
    cluster.put({ ...owned('copy', ['o']), namespace: 'other' });
  });
  const asking = { look, clusterInstance: 'c', record: clusterPolicyRecord() };
  const told = ClusterCascade.parse(
    clusterCascade(asking, { kind: 'ConfigMap', name: 'o', namespace: 'ns' }),
  );
  const fateIn = Object.fromEntries(
    told.modes.map(({ propagation, objects }) => [
      propagation,
      objects.find(({ name }) => name === 'copy')?.fate,
    ]),
  );
  expect(fateIn).toEqual({ Background: 'stays', Foreground: 'stays', Orphan: 'loses-references' });
  const REMARK =
    '  = stays: Secret other/copy: the uid of its owner ConfigMap o was that of another object, which is known until the agent restarts (S4)';
  expect(cascadeLines(told).filter((line) => line.includes('(S4)'))).toEqual([REMARK, REMARK]);
});

test('[cluster D3, G7] what has a finalizer of somebody else waits, and so does an owner that it blocks', async () => {
  const stuck = (cluster: FakeCluster): void => {
    cluster.put({ resource: 'configmaps', name: 'o' });
    cluster.put(owned('stuck', ['o'], { blockOwnerDeletion: true }, { finalizers: ['example.com/x'] }));
    cluster.put(owned('below', ['stuck']));
  };
  expect(await fates('Background', stuck)).toEqual({ o: 'goes', stuck: 'waits D14', below: 'stays' });
  expect(await fates('Foreground', stuck)).toMatchObject({
    o: 'waits',
    stuck: 'waits D17',
    below: 'goes D14',
  });
});

test('[cluster S1, S2] what is held is told as held', async () => {
  const narrow = { limits: { cascade: 1, cascadeOfKind: 5_000, removalsPerHour: 10_000 } };
  expect(await fates('Background', family, { policy: narrow })).toEqual({
    o: 'goes',
    d: 'held S1',
    e: 'stays',
  });
  const held = { heldKinds: ['Secret'] };
  expect(await fates('Background', family, { policy: held })).toEqual({
    o: 'goes',
    d: 'held S2',
    e: 'stays',
  });
  const upstream = { ...narrow, ...held, profile: 'kubernetes' as const };
  expect(await fates('Background', family, { policy: upstream })).toEqual({
    o: 'goes',
    d: 'goes D14',
    e: 'goes D14',
  });
});

test('with a namespace goes what lies in it, whoever owns that, and it waits for what does not go', async () => {
  const inside = (finalizers: readonly string[]) => (cluster: FakeCluster) => {
    cluster.put({ resource: 'namespaces', name: 'ns' });
    cluster.put({ resource: 'configmaps', name: 'in', metadata: { finalizers } });
    cluster.put({ resource: 'configmaps', name: 'out', namespace: 'other' });
  };
  const target = 'Namespace/ns';
  expect(await fates('Background', inside([]), { target })).toEqual({ ns: 'goes', in: 'goes' });
  expect(await fates('Background', inside(['example.com/x']), { target })).toEqual({
    ns: 'waits',
    in: 'waits',
  });
});

test('what is due anyway is not counted as taken along', async () => {
  const told = await fates('Background', (cluster) => {
    family(cluster);
    cluster.put(owned('due', ['nobody']));
  });
  expect(Object.keys(told).toSorted()).toEqual(['d', 'e', 'o']);
});

test('[cluster D11] what loses a reference anyway loses that to the deleted owner too', async () => {
  const told = await fates('Background', (cluster) => {
    cluster.put({ resource: 'configmaps', name: 'o' });
    cluster.put({ resource: 'configmaps', name: 'p' });
    cluster.put(owned('shared', ['o', 'p', 'nobody']));
  });
  expect(told).toEqual({ o: 'goes', shared: 'loses-references D11' });
});

test('an object that is not there, and a kind that is not served, are told', async () => {
  await expect(fates('Background', family, { target: 'ConfigMap/x' })).rejects.toThrow(
    'there is no ConfigMap x',
  );
  await expect(fates('Background', family, { target: 'Foo/x' })).rejects.toThrow('no kind Foo');
});
