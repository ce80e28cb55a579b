import { expect, test } from 'vitest';
import { POLICY } from '../../../../lab/sim/api-server/objects.ts';
import { selectPolicy } from '../../../../schemas/policy/policy-selection.ts';
import { PolicyReconciler } from '../../../../services/cluster/policy-controller/handler.ts';
import { EVERY_NODE, pauseRecord } from '../../../fixtures/policy.ts';
import { newKey } from '../../../fixtures/trust.ts';
import { ControlledCluster } from './support/controlled-cluster.ts';
import { GuardedLog } from './support/guarded-log.ts';

const READY = ['Accepted=True Valid', 'Ready=True Applied'];

async function begin(cluster = 'a') {
  const guarded = await GuardedLog.open();
  return { guarded, a: await ControlledCluster.begin(cluster, guarded) };
}

/** The names of what counts on the log, and how much of it holds anything up. */
async function standing(guarded: GuardedLog) {
  const { policies, unreadable } = await guarded.stored();
  return { policies: [...policies.keys()], unreadable: unreadable.length };
}

test('an object becomes a policy of its cluster alone, its status says so, and nothing is written twice', async () => {
  const { guarded, a } = await begin();
  a.write('web', { mode: 'enforce', imageGCHighThresholdPercent: 90, selector: { pools: ['web'] } });
  expect(await a.pass()).toMatchObject({ applied: 1, deleted: 0, objects: 1, notReady: 0, problem: null });
  const { policies } = await guarded.stored();
  expect(policies.get('a..web')?.policy).toMatchObject({
    name: 'a..web',
    priority: -1000,
    selector: { clusters: ['a'], pools: ['web'] },
    mode: 'enforce',
    imageGCHighThresholdPercent: 90,
  });
  expect(a.conditions('web')).toEqual(READY);
  expect(a.status('web')).toMatchObject({ observedGeneration: 1, policyName: 'a..web', policyVersion: 1 });
  const [version, reads] = [a.version('web'), a.policies.reads];
  expect(await a.pass()).toMatchObject({ applied: 0, deleted: 0 });
  expect([a.version('web'), a.policies.reads]).toEqual([version, reads]);
});

test('what is changed is changed, what is deleted is deleted, also while nobody looked', async () => {
  const { guarded, a } = await begin();
  a.write('web', { mode: 'dry-run' });
  a.write('db', { mode: 'dry-run' });
  await a.pass();
  a.write('web', { mode: 'enforce' });
  a.delete('db');
  a.restart();
  expect(await a.pass()).toMatchObject({ applied: 1, deleted: 1 });
  expect(await standing(guarded)).toEqual({ policies: ['a..web'], unreadable: 0 });
  expect(a.status('web')).toMatchObject({ observedGeneration: 2, policyVersion: 2 });
  expect(a.conditions('web')).toEqual(READY);
});

test('somebody who deletes it on the log, or puts another in its place, is overruled by the next pass', async () => {
  const { guarded, a } = await begin();
  a.write('web', { mode: 'enforce' });
  await a.pass();
  await guarded.pause(
    { type: 'fleetgc.policy-deletion', version: 1, id: 'd', key: 'a..web', wasHeld: true },
    'a..web',
  );
  expect((await standing(guarded)).policies).toEqual([]);
  expect(await a.pass()).toMatchObject({ applied: 1 });
  expect((await standing(guarded)).policies).toEqual(['a..web']);
});

test.each([
  {
    name: 'is told as forbidden',
    status: 403,
    body: JSON.stringify({ kind: 'Status', reason: 'Forbidden' }),
  },
  {
    name: 'is not served any more',
    status: 404,
    body: JSON.stringify({ kind: 'Status', reason: 'NotFound' }),
  },
  { name: 'is no list', status: 200, body: '{}' },
  {
    name: 'is an object that is no list',
    status: 200,
    body: JSON.stringify({ kind: 'Namespace', metadata: { name: 'a', resourceVersion: '1' } }),
  },
  {
    name: 'has something that is no object',
    status: 200,
    body: JSON.stringify({ metadata: { resourceVersion: '1' }, items: [{}] }),
  },
  { name: 'breaks off', status: 200, body: '{"metadata":{"resourceVersion":"1"},"items":[' },
])('nothing goes where the list of objects $name', async ({ status, body }) => {
  const { guarded, a } = await begin();
  a.write('web', { mode: 'enforce' });
  await a.pass();
  a.instead = (path) => (path.includes('garbagecollectionpolicies?') ? { status, body } : null);
  await expect(a.pass()).rejects.toThrow('cannot be listed, so nothing is changed');
  expect((await standing(guarded)).policies).toEqual(['a..web']);
});

test.each([
  { spec: { mode: 'enforce', imageGCHighThresholdPercent: 70 }, told: 'imageGCHighThresholdPercent' },
  { spec: { mode: 'enforce', selector: { nodeName: ['web-*'] } }, told: 'did you mean selector.nodeNames?' },
  { spec: { mode: 'enforce', selector: { clusters: ['b'] } }, told: 'no other can be selected' },
  { spec: { mode: 'enforce', selector: [] }, told: 'selector must be a map' },
  { spec: { mode: 'enforce', selector: { nodeNames: [] } }, told: 'must not be empty' },
  { spec: { mode: 'enforce', priority: 0 }, told: 'priority must be -1000 or less' },
  { spec: { mode: 'enforce', name: 'default' }, told: 'said by the object itself' },
  { spec: { mode: 'enforce', keep: { images: [[[[]]]] } }, told: 'deeper than any policy' },
  { spec: { mode: 'enforce', keep: { images: ['x'.repeat(200_001)] } }, told: 'make it smaller' },
  { spec: { mode: 'everything' }, told: 'mode must be dry-run' },
])('a spec that is no policy says why, and what was applied before stays: $told', async ({ spec, told }) => {
  const { guarded, a } = await begin();
  a.write('web', { mode: 'dry-run' });
  await a.pass();
  a.cluster.patch(POLICY, { namespace: '', name: 'web' }, { spec }, false);
  expect(await a.pass()).toMatchObject({ applied: 0, deleted: 0, notReady: 1 });
  expect(a.conditions('web')).toEqual(['Accepted=False Invalid', 'Ready=False Invalid']);
  expect(a.status('web').problems?.join('\n')).toContain(told);
  expect(a.status('web')).toMatchObject({ observedGeneration: 2, policyVersion: 1 });
  const { policies } = await guarded.stored();
  expect(policies.get('a..web')?.policy.mode).toBe('dry-run');
});

test('what is no policy stands in the way of no other', async () => {
  const { guarded, a } = await begin();
  a.write('bad', { mode: 'none' });
  a.write('good', { mode: 'enforce' });
  expect(await a.pass()).toMatchObject({ applied: 1, notReady: 1 });
  expect((await standing(guarded)).policies).toEqual(['a..good']);
});

test('another cluster of the same name leaves what it did not bring, and says so', async () => {
  const { guarded, a } = await begin();
  a.write('web', { mode: 'dry-run' });
  a.write('own', { mode: 'dry-run' });
  await a.pass();
  const double = await ControlledCluster.begin('a', guarded);
  double.write('web', { mode: 'enforce' });
  expect(await double.pass()).toMatchObject({ applied: 0, deleted: 0, notReady: 1 });
  expect(double.conditions('web')).toEqual(['Accepted=False NameTaken', 'Ready=False NameTaken']);
  expect(double.status('web').problems).toEqual([
    expect.stringContaining('refused: a policy named a..web was applied by another cluster of this name'),
  ]);
  const { policies } = await guarded.stored();
  expect(policies.get('a..web')?.policy.mode).toBe('dry-run');
  expect([...policies.keys()]).toEqual(['a..own', 'a..web']);
});

test('a policy of that name that came another way stays too', async () => {
  const { guarded, a } = await begin();
  await guarded.apply({ name: 'a..web', selector: { ...EVERY_NODE, clusters: ['a'] }, mode: 'dry-run' });
  a.write('web', { mode: 'enforce' });
  await a.pass();
  expect(a.status('web').problems?.[0]).toContain('was applied by somebody else');
  a.delete('web');
  expect(await a.pass()).toMatchObject({ deleted: 0 });
  expect((await standing(guarded)).policies).toEqual(['a..web']);
});

test('it touches nothing of others: neither what the fleet applied nor what other clusters brought', async () => {
  const { guarded, a } = await begin();
  const b = await ControlledCluster.begin('b', guarded);
  await guarded.apply({ name: 'default' });
  await guarded.apply({ name: 'a.web', selector: { ...EVERY_NODE, clusters: ['a'] } });
  b.write('web', { mode: 'enforce' });
  await b.pass();
  expect(await a.pass()).toMatchObject({ applied: 0, deleted: 0 });
  a.write('web', { mode: 'enforce' });
  await a.pass();
  a.delete('web');
  expect(await a.pass()).toMatchObject({ deleted: 1 });
  expect((await standing(guarded)).policies).toEqual(['a.web', 'b..web', 'default']);
});

test('two at once write the same', async () => {
  const { guarded, a } = await begin();
  const twin = new PolicyReconciler({
    ...a.parts,
    policies: guarded.policies(await guarded.controllerKey('a')),
  });
  for (const name of ['x', 'y', 'z']) a.write(name, { mode: 'enforce' });
  const signal = new AbortController().signal;
  await Promise.all([a.pass(), twin.pass(signal)]);
  a.delete('y');
  await Promise.all([a.pass(), twin.pass(signal)]);
  expect(await standing(guarded)).toEqual({ policies: ['a..x', 'a..z'], unreadable: 0 });
  await a.pass();
  expect(a.conditions('x')).toEqual(READY);
});

test('a key that nobody believes writes nothing, and the status says why', async () => {
  const guarded = await GuardedLog.open();
  for (const key of [newKey(), await guarded.controllerKey('b')]) {
    const a = await ControlledCluster.begin('a', guarded, key);
    a.write('web', { mode: 'enforce' });
    expect(await a.pass()).toMatchObject({ applied: 0, notReady: 1, problem: { code: 'KEY_UNUSABLE' } });
    expect(a.conditions('web')).toEqual(['Accepted=True Valid', 'Ready=False NotWritten']);
  }
  expect(await standing(guarded)).toEqual({ policies: [], unreadable: 0 });
});

test('the status counts the nodes that it selects, and says what holds for the others', async () => {
  const { guarded, a } = await begin();
  for (const node of ['web-1', 'web-2', 'db-1']) await guarded.hear('a', node);
  await guarded.hear('b', 'web-1');
  await guarded.apply({ name: 'default', selector: { ...EVERY_NODE, nodeNames: ['web-2'] } });
  const selector = { ...EVERY_NODE, nodeNames: ['web-1'], clusters: ['a'] };
  const pause = pauseRecord({ selector });
  await guarded.pause(pause, '!pause [["a"],["web-1"],[],[]]');
  a.write('web', { mode: 'enforce', selector: { nodeNames: ['web-*'] } });
  await a.pass();
  expect(a.status('web')).toMatchObject({ nodesSelected: 2, nodesFollowing: 1 });
  expect(a.status('web').problems).toEqual([
    'default holds for 1 of the nodes it selects',
    'a pause holds for 1 of the nodes it selects',
  ]);
});

test('what the fleet applied comes first, whatever its priority but one below those of Kubernetes', async () => {
  const { guarded, a } = await begin();
  const holds = async (): Promise<string | null> => {
    const selection = selectPolicy((await guarded.stored()).sets.node, {
      cluster: 'a',
      node: 'web-1',
      nodeLabels: {},
    });
    return selection.kind === 'policy' ? selection.record.policy.name : null;
  };
  a.write('web', { mode: 'enforce' });
  await a.pass();
  expect(await holds()).toBe('a..web');
  await guarded.apply({ name: 'zzz', priority: -999, mode: 'dry-run' });
  expect(await holds()).toBe('zzz');
  await guarded.apply({ name: 'zzz', priority: -1001, mode: 'dry-run' });
  expect(await holds()).toBe('a..web');
});
