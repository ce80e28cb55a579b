import { expect, test } from 'vitest';
import type { ClusterPolicyInForce } from '../../../../services/cluster/executor/ports.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { harness, itemFor, wordsOf } from './support/executor.ts';
import { type FakeApi, kindNamed, type StoredObject } from './support/fake-api.ts';

const SECRET = kindNamed('Secret');
const UNREADABLE: ClusterPolicyInForce = { kind: 'unreadable', message: 'no log' };
const READABLE: ClusterPolicyInForce = { kind: 'policy', record: clusterPolicyRecord(), approvals: [] };
const WAITING = { deletionTimestamp: '2026-11-25T00:00:00Z', finalizers: ['foregroundDeletion'] };

const owned = (api: FakeApi, name = 'x', over: object = {}): StoredObject =>
  api.put({
    kind: SECRET,
    name,
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone', ...over }],
  });

test('an order that comes while policies cannot be read waits, asks for nothing, and is carried out once they can', async () => {
  const state: { inForce: ClusterPolicyInForce } = { inForce: UNREADABLE };
  const h = harness({ policy: () => state.inForce });
  const order = h.order([itemFor(owned(h.api))]);
  h.give(order);
  await h.pass(60);
  expect(h.results).toEqual([]);
  expect(h.api.asked).toEqual([]);
  state.inForce = READABLE;
  expect(await h.done(order)).toEqual(['removed']);
  const [told] = h.results.flatMap((each) => ('objects' in each ? each.objects : []));
  expect(told?.attempts).toBe(1);
});

test.each<readonly [string, ClusterPolicyInForce, string]>([
  ['a pause', { kind: 'paused', reason: 'incident' }, 'refused paused'],
  ['no policy', { kind: 'none' }, 'refused policy-not-in-force'],
  [
    'another policy',
    { kind: 'policy', record: clusterPolicyRecord({ heldKinds: ['Secret'] }), approvals: [] },
    'refused policy-not-in-force',
  ],
])('what then turns out to be in force counts: %s', async (_, inForce, expected) => {
  const state: { inForce: ClusterPolicyInForce } = { inForce: UNREADABLE };
  const h = harness({ policy: () => state.inForce });
  const order = h.order([itemFor(owned(h.api))]);
  h.give(order);
  await h.pass(5);
  state.inForce = inForce;
  expect(await h.done(order)).toEqual([expected]);
  expect(h.api.writes).toEqual([]);
});

test('at the end of its lifetime it is told as expired, with what it waited for', async () => {
  const h = harness({ policy: () => UNREADABLE });
  expect(await h.carryOut([itemFor(owned(h.api, 'x')), itemFor(owned(h.api, 'y'))])).toEqual([
    'refused expired',
    'refused expired',
  ]);
  expect(JSON.stringify(h.results)).toContain(
    'it waited: whether the cluster is paused cannot be read, so nothing is done: no log',
  );
  expect(h.api.writes).toEqual([]);
});

test('more than there are workers wait and expire too, and a newer order replaces one that waits', async () => {
  const h = harness({ policy: () => UNREADABLE });
  const objects = Array.from({ length: 50 }, (_, at) => owned(h.api, `s${at}`));
  const first = h.order(objects.map((each) => itemFor(each)));
  h.give(first);
  await h.pass(10);
  const second = h.order([itemFor(objects[0] ?? owned(h.api))]);
  h.give(second);
  expect(new Set(await h.done(second))).toEqual(new Set(['refused expired']));
  const words = await h.done(first);
  expect(words.filter((each) => each === 'refused superseded')).toHaveLength(1);
  expect(words.filter((each) => each === 'refused expired')).toHaveLength(49);
});

test('policies that cannot be read right before the deed stop it until they can', async () => {
  const state: { inForce: ClusterPolicyInForce } = { inForce: READABLE };
  const h = harness({ policy: () => state.inForce });
  h.api.fault = ({ path }) => {
    if (path.includes('/configmaps/')) state.inForce = UNREADABLE;
    return null;
  };
  const order = h.order([itemFor(owned(h.api))]);
  h.give(order);
  await h.pass(30);
  expect(h.api.writes).toEqual([]);
  h.api.fault = () => null;
  state.inForce = READABLE;
  expect(await h.done(order)).toEqual(['removed']);
});

test('[cluster D12] and so they do between the patch that unblocks an object and its deletion', async () => {
  const state: { inForce: ClusterPolicyInForce } = { inForce: READABLE };
  const h = harness({ policy: () => state.inForce });
  h.api.put({ kind: kindNamed('ConfigMap'), name: 'gone', ...WAITING });
  const ring = owned(h.api, 'x', { blockOwnerDeletion: true });
  h.api.onWrite = ({ request }) => {
    if (request.method === 'PATCH') state.inForce = UNREADABLE;
  };
  const order = h.order([itemFor(ring, { action: 'delete', propagation: 'Foreground', unblock: true })]);
  h.give(order);
  await h.pass(30);
  expect(h.api.writes.map(({ request }) => request.method)).toEqual(['PATCH']);
  h.api.onWrite = () => undefined;
  state.inForce = READABLE;
  expect(await h.done(order)).toEqual(['accepted']);
});

test('a local hold and another instance are refused though policies cannot be read', async () => {
  const held = harness({ policy: () => UNREADABLE, localHold: () => 'hold: true' });
  expect(await held.carryOut([itemFor(owned(held.api))])).toEqual(['command refused held']);
  const other = harness({ policy: () => UNREADABLE });
  expect(await other.carryOut([itemFor(owned(other.api))], { clusterInstance: 'another' })).toEqual([
    'command refused other-instance',
  ]);
});

test('an executor that ends while orders wait does nothing with them', async () => {
  const h = harness({ policy: () => UNREADABLE });
  h.give(h.order([itemFor(owned(h.api))]));
  await h.pass(5);
  await h.stop();
  expect(wordsOf(h.results, 'command')).toEqual([]);
  expect(h.api.writes).toEqual([]);
});
