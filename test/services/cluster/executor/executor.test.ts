import { describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import type { Approved } from '../../../../schemas/policy/approval.ts';
import type { ClusterExecutorDeps } from '../../../../services/cluster/executor/executor.ts';
import type { ClusterIndex, ClusterPolicyInForce } from '../../../../services/cluster/executor/ports.ts';
import { recentResults } from '../../../../services/cluster/executor/recent-results.ts';
import { approval, approvedObjects, approvedOwner, approvedOwners } from '../../../fixtures/approval.ts';
import {
  clusterCommandResult,
  clusterObjectResults,
  clusterPolicy,
  clusterPolicyRecord,
} from '../../../fixtures/cluster.ts';
import { statusBody } from '../../../packages/kube-api/support/fake-connection.ts';
import { type Harness, harness, IDENTITY, itemFor, wordsOf } from './support/executor.ts';
import { DATE_MS, type FakeApi, kindNamed, type StoredObject } from './support/fake-api.ts';
import { truthOf } from './support/truth.ts';

const CONFIG_MAP = kindNamed('ConfigMap');
const SECRET = kindNamed('Secret');
const LIMITS = clusterPolicy().limits;

const referenceTo = (uid: string, over: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: uid,
  uid,
  ...over,
});
/** A Secret that names these owners. */
const ownedAs = (api: FakeApi, name: string, ...owners: string[]): StoredObject =>
  api.put({ kind: SECRET, name, ownerReferences: owners.map((uid) => referenceTo(uid)) });
const owned = (api: FakeApi, ...owners: string[]): StoredObject => ownedAs(api, 'x', ...owners);
const ownerThere = (api: FakeApi, name: string, over: Partial<StoredObject> = {}): StoredObject =>
  api.put({ kind: CONFIG_MAP, name, ...over });
/** An event log that goes away when the intent is there. */
const awayAfterIntents: ClusterExecutorDeps['publish'] = async (events) => {
  if (events.some(({ event }) => event.type !== 'fleetgc.cluster.command-intent'))
    throw new FleetGcError('LOG_UNREACHABLE', 'no log');
};
const DELETING = { deletionTimestamp: '2026-11-25T00:00:00Z' };
const drop = (...ownerUids: string[]) => ({ action: 'drop-references', ownerUids }) as const;
const foreground = (unblock: boolean) => ({ action: 'delete', propagation: 'Foreground', unblock }) as const;

describe('an object whose owner is gone', () => {
  test('[cluster D14, D15, M14] is deleted in the state that was judged, and its result names the owner that was not there', async () => {
    const { api, carryOut, results } = harness();
    const object = owned(api, 'gone');
    expect(await carryOut([itemFor(object)])).toEqual(['removed']);
    expect(api.byUid('x')).toBeUndefined();
    const body = JSON.parse(api.asked.find(({ method }) => method === 'DELETE')?.body ?? '');
    expect(body).toMatchObject({
      preconditions: { uid: 'x', resourceVersion: object.resourceVersion },
      propagationPolicy: 'Background',
    });
    expect(results.at(-1)).toMatchObject({ result: { outcome: 'done', counts: { removed: 1 } } });
    expect(results[0]).toMatchObject({ objects: [{ owners: [{ uid: 'gone', found: 'absent' }] }] });
  });

  test('[cluster D5, D9] also if another object has the name of its owner by now', async () => {
    const { api, carryOut } = harness();
    ownerThere(api, 'gone', { uid: 'another' });
    expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['removed']);
  });

  test('with a finalizer of others it is accepted', async () => {
    const { api, carryOut } = harness();
    const object = api.put({
      kind: SECRET,
      name: 'x',
      finalizers: ['other'],
      ownerReferences: [referenceTo('gone')],
    });
    expect(await carryOut([itemFor(object)])).toEqual(['accepted']);
    expect(api.byUid('x')?.finalizers).toEqual(['other']);
  });

  test('[cluster D16, M12] it is not there any more, or another has its name: somebody was quicker', async () => {
    const { api, carryOut } = harness();
    const object = owned(api, 'gone');
    api.remove(object);
    expect(await carryOut([itemFor(object)])).toEqual(['not-found']);
    api.put({ ...object, uid: 'new' });
    expect(await carryOut([itemFor(object)])).toEqual(['not-found']);
    expect(api.writes).toEqual([]);
  });
});

describe('the executor judges by the object as it is', () => {
  test.each<[string, (api: FakeApi) => void, string]>([
    ['[cluster D10] an owner is there', (api) => void ownerThere(api, 'a'), 'refused owner-there'],
    [
      '[cluster D8] an owner that is being deleted otherwise is there',
      (api) => void ownerThere(api, 'a', { ...DELETING, finalizers: ['other'] }),
      'refused owner-there',
    ],
    [
      '[cluster S5] it bears the annotation',
      (api) => void api.touch('x', { keep: true }),
      'refused kept-by-policy',
    ],
    [
      '[cluster S5] its namespace does',
      (api) => void api.put({ kind: kindNamed('Namespace'), name: 'ns', keep: true }),
      'refused kept-by-policy',
    ],
    [
      '[cluster D7] it has no owners',
      (api) => void api.touch('x', { ownerReferences: [] }),
      'refused changed',
    ],
    [
      '[cluster D9] the kind of its owner is not served',
      (api) => void api.touch('x', { ownerReferences: [referenceTo('a', { kind: 'Gone' })] }),
      'refused owner-unknown',
    ],
    [
      '[cluster D9] its owner has a name that is a path',
      (api) => void api.touch('x', { ownerReferences: [referenceTo('a', { name: '..' })] }),
      'refused owner-unknown',
    ],
    ['[cluster D3] it is being deleted', (api) => void api.touch('x', DELETING), 'refused changed'],
  ])('%s: it stays', async (_, prepare, words) => {
    const { api, carryOut } = harness();
    const object = owned(api, 'a');
    prepare(api);
    expect(await carryOut([itemFor(object)])).toEqual([words]);
    expect(api.writes).toEqual([]);
  });

  test('[cluster D4, I8] what says of an owner nothing is no absence', async () => {
    for (const status of [403, 404]) {
      const { api, carryOut } = harness();
      api.fault = ({ path }) =>
        path.includes('/configmaps/') ? { status, body: JSON.stringify(statusBody(status, 'Other')) } : null;
      expect(await carryOut([itemFor(owned(api, 'a'))])).toEqual(['refused owner-unknown']);
    }
  });

  test('[cluster H2] a cluster-scoped object that names a namespaced owner stays, whatever the order calls it', async () => {
    const { api, carryOut } = harness();
    const role = api.put({
      kind: kindNamed('ClusterRole'),
      name: 'x',
      ownerReferences: [referenceTo('gone')],
    });
    const item = itemFor(role);
    const lying = { ...item, object: { ...item.object, namespaced: true, namespace: 'ns' } };
    expect(await carryOut([item])).toEqual(['refused kept-by-own-judgement']);
    expect(await carryOut([lying])).toEqual(['refused changed']);
  });

  test('[cluster S2, I1] held kinds are known by what the API server serves, not by the words of an order', async () => {
    const { api, carryOut } = harness();
    const namespace = api.put({
      kind: kindNamed('Namespace'),
      name: 'x',
      ownerReferences: [
        referenceTo('gone', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }),
      ],
    });
    const item = itemFor(namespace);
    expect(await carryOut([item])).toEqual(['refused not-approved']);
    const lying = { ...item, object: { ...item.object, kind: 'Harmless' } };
    expect(await carryOut([lying])).toEqual(['refused changed']);
    expect(api.byUid('x')).toBeDefined();
  });

  test('[cluster D2] an order that names another version of its kind is carried out in the one that is served', async () => {
    const { api, carryOut } = harness();
    const item = itemFor(owned(api, 'gone'));
    const older = { ...item, object: { ...item.object, version: 'v1beta1' } };
    expect(await carryOut([older])).toEqual(['removed']);
    expect(api.writes.map(({ request }) => request.path)).toEqual(['/api/v1/namespaces/ns/secrets/x']);
  });

  test('[cluster N9] what an agent does not watch is not collected', async () => {
    const { api, carryOut } = harness();
    const event = { group: '', version: 'v1', kind: 'Event', resource: 'events', namespaced: true };
    api.served = [...api.served, event];
    const object = api.put({ kind: event, name: 'x', ownerReferences: [referenceTo('gone')] });
    expect(await carryOut([itemFor(object)])).toEqual(['refused changed']);
  });

  test('the words of an order count for nothing', async () => {
    const { api, carryOut } = harness();
    ownerThere(api, 'a');
    const item = { ...itemFor(owned(api, 'a')), rule: 'S99' };
    expect(await carryOut([item])).toEqual(['refused owner-there']);
  });

  test('[cluster D14] only with the propagation that follows from it', async () => {
    const { api, carryOut } = harness();
    const object = owned(api, 'gone');
    expect(await carryOut([itemFor(object, { ...foreground(false) })])).toEqual([
      'refused kept-by-own-judgement',
    ]);
    const orphaned = api.put({ ...object, finalizers: ['orphan'] });
    expect(await carryOut([itemFor(orphaned)])).toEqual(['refused kept-by-own-judgement']);
    expect(
      await carryOut([itemFor(orphaned, { action: 'delete', propagation: 'Orphan', unblock: false })]),
    ).toEqual(['accepted']);
  });
});

describe('references', () => {
  test('[cluster D11] of a held object those to absent and waiting owners are dropped, and no others', async () => {
    const { api, carryOut } = harness();
    ownerThere(api, 'solid');
    ownerThere(api, 'waiting', { ...DELETING, finalizers: ['foregroundDeletion'] });
    const object = owned(api, 'solid', 'gone', 'waiting');
    expect(await carryOut([itemFor(object, drop('solid', 'gone'))])).toEqual([
      'refused kept-by-own-judgement',
    ]);
    expect(await carryOut([itemFor(object, drop('gone', 'waiting'))])).toEqual(['patched']);
    expect(api.byUid('x')?.ownerReferences.map(({ uid }) => uid)).toEqual(['solid']);
  });

  test('[cluster D11] references beyond what is read are never lost, even where their sign is what is to be dropped', async () => {
    const { api, carryOut } = harness();
    const uids = Array.from({ length: 201 }, (_, number) => `o${number}`);
    expect(await carryOut([itemFor(owned(api, ...uids), drop('-'))])).toEqual([
      'refused kept-by-own-judgement',
    ]);
    expect(api.writes).toEqual([]);
  });

  test('[cluster E1] to an owner that orphans they are dropped', async () => {
    const { api, carryOut } = harness();
    ownerThere(api, 'a', { ...DELETING, finalizers: ['orphan'] });
    expect(await carryOut([itemFor(owned(api, 'a'), drop('a'))])).toEqual(['patched']);
    expect(api.byUid('x')?.ownerReferences).toEqual([]);
  });

  test('[cluster D12, D13] it stops blocking its owners, and is deleted in the state after that', async () => {
    const { api, carryOut } = harness();
    ownerThere(api, 'a', { ...DELETING, finalizers: ['foregroundDeletion'] });
    const object = api.put({
      kind: SECRET,
      name: 'x',
      ownerReferences: [referenceTo('a', { blockOwnerDeletion: true, controller: true })],
    });
    expect(await carryOut([itemFor(object, foreground(true))])).toEqual(['accepted']);
    const left = api.byUid('x');
    expect(left?.ownerReferences).toEqual([
      referenceTo('a', { controller: true, blockOwnerDeletion: false }),
    ]);
    expect([left?.finalizers, api.writes.length]).toEqual([['foregroundDeletion'], 2]);
  });

  test('[cluster D13] an order may say that it has dependents, while its owner waits', async () => {
    const { api, carryOut } = harness();
    ownerThere(api, 'a', { ...DELETING, finalizers: ['foregroundDeletion'] });
    expect(await carryOut([itemFor(owned(api, 'a'), foreground(false))])).toEqual(['accepted']);
  });
});

describe('beside an agent, which keeps the owner graph', () => {
  /** An executor that knows the graph as it was when `behind` was called last; until then it is never behind. */
  function beside(prepare: (api: FakeApi) => void) {
    const known: { index: ClusterIndex | null; isBehind: boolean } = { index: null, isBehind: false };
    const h: Harness = harness(
      { index: { current: () => (known.isBehind ? known.index : truthOf(h.api)) } },
      prepare,
    );
    return {
      ...h,
      behind: (index: ClusterIndex | null = truthOf(h.api)) => {
        known.index = index;
        known.isBehind = true;
      },
      ready: () => {
        known.isBehind = false;
      },
    };
  }
  const withOwner = (over: Partial<StoredObject>) => (api: FakeApi) => {
    ownerThere(api, 'a', over);
    owned(api, 'a');
  };
  const WAITING = { ...DELETING, finalizers: ['foregroundDeletion'] };
  const itemOf = (api: FakeApi, act?: ClusterCommandItem['act']): ClusterCommandItem => {
    const object = api.byUid('x');
    if (object === undefined) throw new Error('there is an x');
    return itemFor(object, act);
  };

  /** What was asked about an object, in order. */
  const methodsOn = (api: FakeApi, name: string): readonly string[] =>
    api.asked.filter(({ path }) => path.endsWith(`/${name}`)).map(({ method }) => method);

  test('[cluster C13] an owner is let go after its dependents were tried, whatever the order of a command', async () => {
    const { api, carryOut } = beside((each) => {
      ownerThere(each, 'a', WAITING);
      owned(each, 'a');
      each.put({ kind: SECRET, name: 'y', ownerReferences: [referenceTo('x')] });
    });
    const owner = api.byUid('a');
    if (owner === undefined) throw new Error('there is an a');
    const finish = itemFor(owner, { action: 'finish', finalizer: 'foregroundDeletion' });
    // As they were done.
    expect(await carryOut([finish, itemOf(api, foreground(false))])).toEqual(['accepted', 'patched']);
  });

  test('[cluster N3] the object itself is not read, and its owner once for all its dependents', async () => {
    const { api, carryOut } = beside((each) => void owned(each, 'gone'));
    const other = api.put({ kind: SECRET, name: 'y', ownerReferences: [referenceTo('gone')] });
    await carryOut([itemFor(other)]);
    const before = api.asked.length;
    expect(await carryOut([itemOf(api)])).toEqual(['removed']);
    const paths = api.asked.slice(before).map(({ method, path }) => `${method} ${path}`);
    expect(paths).toEqual(['DELETE /api/v1/namespaces/ns/secrets/x']);
  });

  test('[cluster I10] where graph and API server do not agree about an owner, the object stays', async () => {
    const { api, carryOut, behind } = beside(withOwner(WAITING));
    behind();
    const owner = api.byUid('a');
    if (owner !== undefined) api.remove(owner);
    expect(await carryOut([itemOf(api)])).toEqual(['refused kept-by-own-judgement']);
  });

  test('[cluster D10] an owner that waits no more holds it', async () => {
    const { api, carryOut, behind } = beside(withOwner(WAITING));
    behind();
    api.touch('a', { deletionTimestamp: null, finalizers: [] });
    expect(await carryOut([itemOf(api)])).toEqual(['refused owner-there']);
  });

  test('[cluster D15] what changed in an object that the graph has not seen leaves it as it is', async () => {
    const { api, carryOut, behind } = beside((each) => void owned(each, 'gone'));
    behind();
    ownerThere(api, 'b');
    const item = itemOf(api);
    api.touch('x', { ownerReferences: [referenceTo('b')] });
    expect(await carryOut([item])).toEqual(['refused changed']);
    expect(methodsOn(api, 'x')).toEqual(['DELETE', 'GET']);
  });

  test('[cluster D15] after a try that failed the object itself is read, and not the graph', async () => {
    const { api, carryOut, behind } = beside((each) => void owned(each, 'gone'));
    behind();
    ownerThere(api, 'b');
    const item = itemOf(api);
    let failures = 1;
    api.fault = ({ method }) => {
      if (method !== 'DELETE' || failures-- <= 0) return null;
      api.touch('x', { ownerReferences: [referenceTo('b')] });
      return { status: 500, body: JSON.stringify(statusBody(500, 'InternalError')) };
    };
    expect(await carryOut([item])).toEqual(['failed api-server-error']);
    expect(methodsOn(api, 'x')).toEqual(['DELETE', 'GET']);
  });

  test('[cluster S5] a namespace with the annotation keeps what is in it', async () => {
    const { api, carryOut } = beside((each) => {
      owned(each, 'gone');
      each.put({ kind: kindNamed('Namespace'), name: 'ns', keep: true });
    });
    expect(await carryOut([itemOf(api)])).toEqual(['refused kept-by-policy']);
  });

  test('[cluster S4] a reference that describes another object than its uid has keeps it', async () => {
    const { api, carryOut } = beside((each) => {
      ownerThere(each, 'a', { namespace: 'other' });
      owned(each, 'a');
    });
    expect(await carryOut([itemOf(api)])).toEqual(['refused kept-by-own-judgement']);
  });

  test('[cluster E1] an owner that orphans is read where it lies, and left however it is described', async () => {
    const { api, carryOut } = beside((each) => {
      ownerThere(each, 'a', { ...DELETING, finalizers: ['orphan'], namespace: 'other' });
      owned(each, 'a');
    });
    expect(await carryOut([itemOf(api, drop('a'))])).toEqual(['patched']);
  });

  test('[cluster E3, D17] finalizers are taken away when nobody is left for whom the owner waits', async () => {
    for (const finalizer of ['orphan', 'foregroundDeletion']) {
      const { api, carryOut } = beside((each) => {
        each.put({ kind: CONFIG_MAP, name: 'x', ...DELETING, finalizers: [finalizer] });
        each.put({
          kind: SECRET,
          name: 'child',
          ownerReferences: [referenceTo('x', { blockOwnerDeletion: true })],
        });
      });
      const finish = { action: 'finish', finalizer } as const;
      expect(await carryOut([itemOf(api, finish)])).toEqual(['refused kept-by-own-judgement']);
      api.touch('child', { ownerReferences: [] });
      expect(await carryOut([itemOf(api, finish)])).toEqual(['patched']);
      expect(api.byUid('x')).toBeUndefined();
    }
  });

  test('[cluster I10] while it is not known, orders wait', async () => {
    const { api, give, order, pass, results, behind, ready } = beside((each) => void owned(each, 'gone'));
    behind(null);
    give(order([itemOf(api)]));
    await pass(2);
    expect(results).toEqual([]);
    ready();
    await pass(3);
    expect(api.byUid('x')).toBeUndefined();
  });
});

describe('finalizers', () => {
  const finish = (finalizer: string) => ({ action: 'finish', finalizer }) as const;

  test('[cluster E3, D17] without the owner graph an owner that is being deleted is let go, and no other', async () => {
    const { api, carryOut } = harness();
    for (const finalizer of ['orphan', 'foregroundDeletion']) {
      const there = ownerThere(api, 'a', { finalizers: [finalizer] });
      expect(await carryOut([itemFor(there, finish(finalizer))])).toEqual(['refused kept-by-own-judgement']);
      const object = ownerThere(api, 'a', { ...DELETING, finalizers: [finalizer] });
      expect(await carryOut([itemFor(object, finish(finalizer))])).toEqual(['patched']);
      expect(api.byUid('a')).toBeUndefined();
    }
  });

  test('[cluster E3] by another rule than that of its finalizer none is let go: the journal goes by it', async () => {
    const { api, carryOut } = harness();
    const object = ownerThere(api, 'a', { ...DELETING, finalizers: ['orphan'] });
    const order = { ...itemFor(object, finish('orphan')), rule: 'D17' };
    expect(await carryOut([order])).toEqual(['refused kept-by-own-judgement']);
  });

  test('[cluster E3] in profile kubernetes an owner that orphans is let go only beside an agent', async () => {
    const h = harness();
    h.policy = clusterPolicy({ profile: 'kubernetes' });
    const owner = (name: string, finalizer: string) =>
      itemFor(ownerThere(h.api, name, { ...DELETING, finalizers: [finalizer] }), finish(finalizer));
    expect(await h.carryOut([owner('a', 'orphan')])).toEqual(['refused kept-by-own-judgement']);
    expect(await h.carryOut([owner('b', 'foregroundDeletion')])).toEqual(['patched']);
  });

  test('[cluster N8] of others no order takes them away', async () => {
    const { api, carryOut } = harness();
    const object = ownerThere(api, 'a', { ...DELETING, finalizers: ['orphan', 'other'] });
    expect(await carryOut([itemFor(object, finish('other'))])).toEqual(['refused forbidden-finalizer']);
  });
});

describe('without the owner graph', () => {
  const finish = { action: 'finish', finalizer: 'orphan' } as const;

  test('[cluster S6] who is ordered to let an owner go too early does not get what it leaves', async () => {
    const { api, carryOut } = harness();
    const owner = ownerThere(api, 'a', { ...DELETING, finalizers: ['orphan'] });
    const dependent = owned(api, 'a');
    expect(await carryOut([itemFor(owner, finish)])).toEqual(['patched']);
    expect(await carryOut([itemFor(dependent)])).toEqual(['refused kept-by-own-judgement']);
    expect(await carryOut([itemFor(dependent, drop('a'))])).toEqual(['patched']);
    expect(api.byUid('x')?.ownerReferences).toEqual([]);
  });

  test.each(['foregroundDeletion', 'other'])(
    '[cluster C13] with the finalizer %s besides no owner is let go: what it leaves would be taken for what goes with it',
    async (finalizer) => {
      const { api, carryOut } = harness();
      const owner = ownerThere(api, 'a', { ...DELETING, finalizers: ['orphan', finalizer] });
      expect(await carryOut([itemFor(owner, finish)])).toEqual(['refused kept-by-own-judgement']);
      expect(api.writes).toEqual([]);
    },
  );

  const unknown = (name: string) => itemFor({ ...harness().api.put({ kind: CONFIG_MAP, name }) }, finish);

  test('[cluster S6] nor does who orders the same of ever so many others', async () => {
    const h = harness();
    const owner = ownerThere(h.api, 'a', { ...DELETING, finalizers: ['orphan'] });
    const dependent = owned(h.api, 'a');
    expect(await h.carryOut([itemFor(owner, finish)])).toEqual(['patched']);
    const other = unknown('b');
    for (let round = 0; round < 21; round++) {
      const uids = Array.from({ length: 500 }, (_, number) => `of-nobody-${round}-${number}`);
      const items = uids.map((uid) => ({ ...other, object: { ...other.object, uid } }));
      h.give(h.order(items, { lifetimeMs: 1_500 }));
    }
    expect(await h.carryOut([itemFor(dependent)])).toEqual(['refused kept-by-own-judgement']);
  });

  test('[cluster S6] nor does who waits for a restart before anything was told, after which the order is refused as a whole', async () => {
    const first = harness({ publish: awayAfterIntents });
    const owner = ownerThere(first.api, 'a', { ...DELETING, finalizers: ['orphan'] });
    const dependent = owned(first.api, 'a');
    const order = first.order([itemFor(owner, finish)]);
    first.give(order);
    await first.pass(2);
    expect(first.api.byUid('a')).toBeUndefined();
    const then = harness({ connection: first.api.connection() });
    then.policy = clusterPolicy({ limits: { ...LIMITS, removalsPerHour: 7 } });
    then.give(order);
    expect(await then.done(order)).toEqual(['command refused policy-not-in-force']);
    expect(await then.carryOut([itemFor(dependent)])).toEqual(['refused kept-by-own-judgement']);
  });

  test('[cluster S6] nor does who waits for another profile', async () => {
    const h = harness();
    const owner = ownerThere(h.api, 'a', { ...DELETING, finalizers: ['orphan'] });
    const dependent = owned(h.api, 'a');
    expect(await h.carryOut([itemFor(owner, finish)])).toEqual(['patched']);
    h.policy = clusterPolicy({ profile: 'kubernetes' });
    expect(await h.carryOut([itemFor(dependent)])).toEqual(['refused kept-by-own-judgement']);
  });

  test('[cluster D14] an owner of which that was only ordered keeps its dependents for an hour, and not for good', async () => {
    const h = harness();
    const owner = ownerThere(h.api, 'a');
    const dependent = owned(h.api, 'a');
    expect(await h.carryOut([itemFor(owner, finish)])).toEqual(['refused kept-by-own-judgement']);
    h.api.remove(owner);
    expect(await h.carryOut([itemFor(dependent)])).toEqual(['refused kept-by-own-judgement']);
    await h.pass(3_600);
    expect(await h.carryOut([itemFor(dependent)])).toEqual(['removed']);
  });

  test('[cluster D10] no order makes an object leave an owner that waits for it', async () => {
    const { api, carryOut } = harness();
    const owner = ownerThere(api, 'a');
    await carryOut([itemFor(owner, finish)]);
    ownerThere(api, 'a', { ...DELETING, finalizers: ['foregroundDeletion'] });
    const dependent = owned(api, 'a');
    expect(await carryOut([itemFor(dependent, drop('a'))])).toEqual(['refused kept-by-own-judgement']);
    expect(await carryOut([itemFor(dependent)])).toEqual(['removed']);
  });

  test.each([false, true])(
    '[cluster S6] nor does who waits for a restart (an id used twice: %s)',
    async (isTwice) => {
      const objects = [
        {
          object: itemFor(harness().api.put({ kind: CONFIG_MAP, name: 'a' })).object,
          rule: 'E3',
          action: 'finish' as const,
          attempts: 1,
          requests: 1,
          owners: [],
          result: { outcome: 'patched' as const },
        },
      ];
      const told = clusterObjectResults({ objects });
      const ended = clusterCommandResult({ commandId: told.commandId });
      const recent = recentResults([...(isTwice ? [ended] : []), told]);
      const { api, carryOut } = harness({ recent });
      expect(await carryOut([itemFor(owned(api, 'a'))])).toEqual(['refused kept-by-own-judgement']);
    },
  );

  test('[cluster S6] an object loses references to owners that are absent, in place of going, and to no others', async () => {
    const { api, carryOut } = harness();
    const waiting = { ...DELETING, finalizers: ['foregroundDeletion'] };
    ownerThere(api, 'w', waiting);
    expect(await carryOut([itemFor(owned(api, 'gone', 'w'), drop('w'))])).toEqual([
      'refused kept-by-own-judgement',
    ]);
    expect(await carryOut([itemFor(owned(api, 'gone', 'w'), drop('gone'))])).toEqual(['patched']);
    expect(api.byUid('x')?.ownerReferences.map(({ uid }) => uid)).toEqual(['w']);
  });

  test('[cluster S6] also where it knows of one of them itself that it was to leave what it owns', async () => {
    const { api, carryOut } = harness();
    const owner = ownerThere(api, 'a', { ...DELETING, finalizers: ['orphan'] });
    expect(await carryOut([itemFor(owner, finish)])).toEqual(['patched']);
    expect(await carryOut([itemFor(owned(api, 'a', 'gone'), drop('a', 'gone'))])).toEqual(['patched']);
  });

  test('[cluster D14] in profile kubernetes, which has no S6, it loses none in place of going', async () => {
    const h = harness();
    h.policy = clusterPolicy({ profile: 'kubernetes' });
    const object = owned(h.api, 'gone');
    expect(await h.carryOut([itemFor(object, drop('gone'))])).toEqual(['refused kept-by-own-judgement']);
    expect(await h.carryOut([itemFor(object)])).toEqual(['removed']);
  });
});

describe('an object that others change', () => {
  test('[cluster D15, M12] is judged again, and goes if the same follows', async () => {
    const { api, carryOut } = harness();
    let changes = 3;
    api.beforeWrite = () => {
      if (changes-- > 0) api.touch('x');
    };
    expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['removed']);
    expect(api.writes.length).toBe(1);
  });

  test('[cluster D15] stays if an owner adopts it between', async () => {
    const { api, carryOut } = harness();
    ownerThere(api, 'b');
    api.beforeWrite = () => api.touch('x', { ownerReferences: [referenceTo('gone'), referenceTo('b')] });
    expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['refused changed']);
    expect(api.byUid('x')).toBeDefined();
  });

  test('[cluster D15] is never deleted by its uid alone, however often it changes', async () => {
    const { api, carryOut } = harness();
    api.beforeWrite = () => api.touch('x');
    expect(await carryOut([itemFor(owned(api, 'gone'))], { lifetimeMs: 5_000 })).toEqual(['failed conflict']);
    expect(api.writes).toEqual([]);
  });
});

describe('an API server that answers otherwise', () => {
  const answered = async (status: number, lifetimeMs = 600_000): Promise<readonly string[]> => {
    const { api, carryOut } = harness();
    api.fault = ({ method }) =>
      method === 'DELETE' ? { status, body: JSON.stringify(statusBody(status, 'Other')) } : null;
    return carryOut([itemFor(owned(api, 'gone'))], { lifetimeMs });
  };

  test('what it forbids, or cannot take, failed', async () => {
    expect(await answered(403)).toEqual(['failed forbidden']);
    expect(await answered(422)).toEqual(['failed invalid']);
  });

  test('what it cannot do now is tried until the command expires', async () => {
    expect(await answered(500, 5_000)).toEqual(['failed api-server-error']);
  });

  test('[cluster F4] where it asks to wait, it is waited for, and that is no failure', async () => {
    const { api, carryOut, time, results } = harness();
    const at: number[] = [];
    api.fault = ({ method }) => {
      if (method !== 'DELETE') return null;
      at.push(time.now().sinceBootMs);
      return at.length < 3 ? { status: 429, headers: { 'retry-after': '7' } } : null;
    };
    expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['removed']);
    expect(at.map((ms) => ms - (at[0] ?? 0))).toEqual([0, 7_000, 14_000]);
    expect(results[0]).toMatchObject({ objects: [{ attempts: 3 }] });
  });

  test('[cluster F4] a storm in which it asks to wait keeps nobody else back, and has no more requests than all else', async () => {
    const { api, give, order, pass, results } = harness();
    const others = Array.from({ length: 200 }, (_, at) => ownedAs(api, `storm-${at}`, 'gone'));
    const isOfStorm = ({ path }: ApiRequest): boolean => path.includes('/storm-');
    api.fault = (request) => (isOfStorm(request) ? { status: 429, headers: { 'retry-after': '1' } } : null);
    const storm = order(others.map((each) => itemFor(each)));
    give(storm);
    await pass(1);
    const calm = order([itemFor(ownedAs(api, 'calm', 'gone'))]);
    give(calm);
    await pass(5);
    expect(wordsOf(results, calm.id)).toEqual(['removed']);
    expect(wordsOf(results, storm.id)).toEqual([]);
    api.asked.splice(0);
    await pass(20);
    expect(api.asked.filter(isOfStorm).length).toBeLessThanOrEqual(20 * 50 + 100);
    api.fault = () => null;
    await pass(20);
    expect(new Set(wordsOf(results, storm.id))).toEqual(new Set(['removed']));
  });

  test.each(['the owner', 'the object', 'the deletion'])(
    '[cluster D4] where it does not know us (401) at %s, nothing counts as absent, and the work waits',
    async (where) => {
      const { api, give, order, pass, results } = harness();
      const isIt: Readonly<Record<string, (request: ApiRequest) => boolean>> = {
        'the owner': ({ path }) => path.endsWith('/configmaps/gone'),
        'the object': ({ method, path }) => method === 'GET' && path.endsWith('/secrets/x'),
        'the deletion': ({ method }) => method === 'DELETE',
      };
      api.fault = (request) => (isIt[where]?.(request) ? { status: 401, body: 'Unauthorized' } : null);
      const object = owned(api, 'gone');
      const command = order([itemFor(object)]);
      give(command);
      await pass(5);
      expect(wordsOf(results, command.id)).toEqual([]);
      expect(api.byUid('x')).toBeDefined();
      api.fault = () => null;
      await pass(20);
      expect(wordsOf(results, command.id)).toEqual(['removed']);
    },
  );

  test('one that is not there is waited for', async () => {
    const { api, carryOut, give, order, pass, results } = harness();
    api.fault = () => new FleetGcError('API_UNREACHABLE', 'nobody there');
    const object = owned(api, 'gone');
    const command = order([itemFor(object)]);
    give(command);
    await pass(3);
    expect(results).toEqual([]);
    api.fault = () => null;
    await pass(3);
    expect(wordsOf(results, command.id)).toEqual(['removed']);
    api.fault = () => new FleetGcError('API_UNREACHABLE', 'nobody there');
    expect(await carryOut([itemFor(owned(api, 'gone'))], { lifetimeMs: 3_000 })).toEqual([
      'failed unreachable',
    ]);
  });

  describe('what has no answer', () => {
    const isWrite = ({ method }: ApiRequest): boolean => method !== 'GET';
    const once = (api: FakeApi): void => {
      api.loses = (request) => {
        if (!isWrite(request)) return false;
        api.loses = () => false;
        return true;
      };
    };

    test('is found to be done when it is tried again', async () => {
      const { api, carryOut } = harness();
      once(api);
      expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['not-found']);
    });

    test.each<[string, ClusterCommandItem['act'] | undefined]>([
      ['a deletion', undefined],
      ['a patch', drop('gone')],
    ])('and is refused when it is tried again, is told as what may have been done: %s', async (_, act) => {
      const state = { objection: null as string | null };
      const { api, carryOut, results } = harness({ objectionTo: () => state.objection });
      once(api);
      api.onWrite = () => {
        state.objection = 'the key was revoked';
      };
      expect(await carryOut([itemFor(owned(api, 'gone'), act)])).toEqual(['failed unreachable']);
      expect(api.writes).toHaveLength(1);
      expect(JSON.stringify(results)).toContain(
        'it may have been done (no answer came); tried again, it is refused as not-trusted: the key was revoked',
      );
    });

    test('where a patch left nothing to patch, that is told too', async () => {
      const { api, carryOut } = harness();
      once(api);
      expect(await carryOut([itemFor(owned(api, 'gone'), drop('gone'))])).toEqual(['failed unreachable']);
      expect(api.byUid('x')?.ownerReferences).toEqual([]);
    });
  });

  test('[cluster F9] a fault of the executor itself ends its object, and no other', async () => {
    const { api, carryOut } = harness();
    api.fault = ({ path }) => (path.endsWith('/secrets/bad') ? new TypeError('a bug') : null);
    const bad = api.put({ kind: SECRET, name: 'bad', ownerReferences: [referenceTo('gone')] });
    expect(await carryOut([itemFor(bad), itemFor(owned(api, 'gone'))])).toEqual([
      'failed executor-failed',
      'removed',
    ]);
  });
});

describe('a command as a whole', () => {
  const refusals: [string, object, string][] = [
    ['for another cluster of that name', { clusterInstance: 'other' }, 'other-instance'],
    [
      'of which nobody knows how it could be that new',
      { takenAt: { serverMs: DATE_MS * 2, spreadMs: 0 } },
      'taken-in-the-future',
    ],
    ['that is too old', { takenAt: { serverMs: DATE_MS - 700_000, spreadMs: 0 } }, 'expired'],
    [
      'decided under another policy',
      { policy: { name: 'clusters', version: 1, hash: 'other', setHash: 'x' } },
      'policy-not-in-force',
    ],
  ];
  test('what it says of a policy that is no hash has no half character', async () => {
    const { api, carryOut, results } = harness();
    const object = owned(api, 'gone');
    await api.connection().call({ method: 'GET', path: '/api' });
    const policy = { name: 'clusters', version: 1, hash: `${'e'.repeat(11)}😀`, setHash: 'x' };
    await carryOut([itemFor(object)], { policy });
    expect(JSON.stringify(results)).toContain('(eeeeeeeeeee\ufffd)');
  });
  test.each(refusals)('%s is refused', async (_, over, reason) => {
    const { api, carryOut, executor } = harness();
    const object = owned(api, 'gone');
    await api.connection().call({ method: 'GET', path: '/api' });
    expect(executor).toBeDefined();
    expect(await carryOut([itemFor(object)], over)).toEqual([`command refused ${reason}`]);
    expect(api.writes).toEqual([]);
  });

  test('that names an object twice is refused', async () => {
    const { api, carryOut } = harness();
    const item = itemFor(owned(api, 'gone'));
    expect(await carryOut([item, { ...item, act: drop('gone') }])).toEqual(['command refused malformed']);
  });

  test.each<[ClusterPolicyInForce, string]>([
    [{ kind: 'paused', reason: 'incident' }, 'paused'],
    [{ kind: 'none' }, 'policy-not-in-force'],
    [
      { kind: 'policy', record: clusterPolicyRecord({ mode: 'dry-run' }), approvals: [] },
      'policy-not-in-force',
    ],
    [
      { kind: 'policy', record: clusterPolicyRecord({ collectors: [] }), approvals: [] },
      'policy-not-in-force',
    ],
  ])('is refused where the policies say %j', async (inForce, reason) => {
    const { api, carryOut } = harness({ policy: () => inForce });
    const over =
      inForce.kind === 'policy'
        ? { policy: { name: 'p', version: 1, hash: inForce.record.hash, setHash: 'x' } }
        : {};
    expect(await carryOut([itemFor(owned(api, 'gone'))], over)).toEqual([`command refused ${reason}`]);
  });

  test('what may forbid it is asked again right before the deed', async () => {
    let inForce: ClusterPolicyInForce = { kind: 'policy', record: clusterPolicyRecord(), approvals: [] };
    const { api, carryOut } = harness({ policy: () => inForce });
    api.fault = ({ path }) => {
      if (path.includes('/configmaps/')) inForce = { kind: 'paused', reason: 'incident' };
      return null;
    };
    expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['refused paused']);
    expect(api.writes).toEqual([]);
  });

  test('under a policy that another one replaced meanwhile is refused', async () => {
    const h = harness();
    const object = owned(h.api, 'gone');
    h.api.fault = ({ path }) => {
      if (path.includes('/configmaps/')) h.policy = clusterPolicy({ heldKinds: ['Secret'] });
      return null;
    };
    expect(await h.carryOut([itemFor(object)])).toEqual(['refused policy-not-in-force']);
    expect(h.api.writes).toEqual([]);
  });

  test.each<[string, (api: FakeApi) => ClusterCommandItem]>([
    ['deleted', (api) => itemFor(owned(api, 'gone'))],
    [
      'unblocked',
      (api) => {
        ownerThere(api, 'a', { ...DELETING, finalizers: ['foregroundDeletion'] });
        const blocking = [referenceTo('a', { blockOwnerDeletion: true })];
        return itemFor(api.put({ kind: SECRET, name: 'x', ownerReferences: blocking }), foreground(true));
      },
    ],
    [
      'released from an owner',
      (api) => {
        ownerThere(api, 'solid');
        return itemFor(owned(api, 'solid', 'gone'), drop('gone'));
      },
    ],
    [
      'let go',
      (api) =>
        itemFor(ownerThere(api, 'x', { ...DELETING, finalizers: ['foregroundDeletion'] }), {
          action: 'finish',
          finalizer: 'foregroundDeletion',
        }),
    ],
  ])(
    'that is paused while its intent is published changes nothing: no object is %s',
    async (what, itemIn) => {
      let isPaused = false;
      const policy = { kind: 'policy', record: clusterPolicyRecord(), approvals: [] } as const;
      const h: Harness = harness({
        policy: () => (isPaused ? { kind: 'paused', reason: 'now' } : policy),
        publish: async (events) => {
          isPaused ||= events.some(({ event }) => event.type === 'fleetgc.cluster.command-intent');
          for (const { event } of events)
            if (event.type !== 'fleetgc.cluster.command-intent') h.results.push(event);
        },
        // Without the owner graph no owner is let go.
        index: what === 'let go' ? { current: () => truthOf(h.api) } : null,
      });
      expect(await h.carryOut([itemIn(h.api)])).toEqual(['refused paused']);
      expect([isPaused, h.api.writes]).toEqual([true, []]);
    },
  );

  test('[cluster D12] that is paused between two writes to an object does only the first', async () => {
    let isPaused = false;
    const policy = { kind: 'policy', record: clusterPolicyRecord(), approvals: [] } as const;
    const h = harness({ policy: () => (isPaused ? { kind: 'paused', reason: 'now' } : policy) });
    ownerThere(h.api, 'a', { ...DELETING, finalizers: ['foregroundDeletion'] });
    const blocking = [referenceTo('a', { blockOwnerDeletion: true })];
    const object = h.api.put({ kind: SECRET, name: 'x', ownerReferences: blocking });
    h.api.onWrite = () => {
      isPaused = true;
    };
    expect(await h.carryOut([itemFor(object, foreground(true))])).toEqual(['refused paused']);
    expect([h.api.writes.length, h.api.byUid('x')?.deletionTimestamp]).toEqual([1, null]);
  });

  test('whose key was taken back meanwhile is not carried out', async () => {
    const { api, carryOut } = harness({ objectionTo: () => 'the key was revoked' });
    expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['refused not-trusted']);
  });

  test('[cluster A11] that comes twice is carried out once, and told once', async () => {
    const { api, give, order, done, results, pass } = harness();
    const command = order([itemFor(owned(api, 'gone'))]);
    give(command);
    give(command);
    await done(command);
    give(command);
    await pass(3);
    expect([api.writes.length, results.length]).toEqual([1, 2]);
  });

  test('of another cluster, which shares the partition, concerns nobody here', async () => {
    const { api, give, order, pass, results } = harness();
    give(order([itemFor(owned(api, 'gone'))], { cluster: 'c2' }));
    await pass(3);
    expect([api.asked.length, results.length]).toEqual([0, 0]);
  });

  test('its results come in portions, and its own after them', async () => {
    const { api, carryOut, results } = harness();
    const objects = Array.from({ length: 250 }, (_, number) =>
      api.put({ kind: SECRET, name: `s${number}`, ownerReferences: [referenceTo('gone')] }),
    );
    await carryOut(objects.map((object) => itemFor(object)));
    const portions = results.map((event) =>
      event.type === 'fleetgc.cluster.object-results' ? event.objects.length : event.result,
    );
    expect(portions.at(-1)).toEqual({ outcome: 'done', counts: { removed: 250 } });
    expect(Math.max(...portions.slice(0, -1).map(Number))).toBeLessThanOrEqual(100);
    expect(new Set(results.map(({ id }) => id)).size).toBe(results.length);
  });
});

test('in mode rehearse the API server is asked for all of it, and nothing changes', async () => {
  const h = harness();
  h.policy = clusterPolicy({ mode: 'rehearse' });
  ownerThere(h.api, 'a', { ...DELETING, finalizers: ['foregroundDeletion'] });
  const ring = h.api.put({
    kind: SECRET,
    name: 'ring',
    ownerReferences: [referenceTo('a', { blockOwnerDeletion: true })],
  });
  const before = JSON.stringify(h.api.objects);
  const object = owned(h.api, 'gone');
  expect(await h.carryOut([itemFor(object), itemFor(ring, foreground(true))])).toEqual([
    'rehearsed',
    'rehearsed',
  ]);
  expect(h.api.writes.every(({ isDryRun }) => isDryRun)).toBe(true);
  h.api.remove(object);
  expect(JSON.stringify(h.api.objects)).toBe(before);
});

describe('orders about one object', () => {
  test('[cluster F7] of two that wait the later counts', async () => {
    const { api, order, give, done, results } = harness();
    const object = owned(api, 'gone');
    api.fault = () => new FleetGcError('API_UNREACHABLE', 'nobody there');
    const [first, second] = [order([itemFor(object)]), order([itemFor(object)])];
    give(first);
    give(second);
    api.fault = () => null;
    await done(second);
    expect(wordsOf(results, first.id)).toEqual(['refused superseded']);
    expect(wordsOf(results, second.id)).toEqual(['removed']);
  });

  test('what was done to a state of it is not done to that state again', async () => {
    const { api, carryOut, results } = harness();
    ownerThere(api, 'solid');
    const object = owned(api, 'solid', 'gone');
    expect(await carryOut([itemFor(object, drop('gone'))])).toEqual(['patched']);
    expect(await carryOut([itemFor(object, drop('gone'))])).toEqual(['refused superseded']);
    expect(results.length).toBe(4);
  });

  test('more than can wait are refused', async () => {
    const { api, order, give, pass, results } = harness();
    api.fault = () => new FleetGcError('API_UNREACHABLE', 'nobody there');
    const template = itemFor(owned(api, 'gone'));
    const commands = Array.from({ length: 101 }, (_, number) =>
      order(
        Array.from({ length: 500 }, (_, place) => ({
          ...template,
          object: { ...template.object, uid: `u${number}-${place}` },
        })),
      ),
    );
    for (const command of commands) give(command);
    await pass(2);
    expect(results.map(({ commandId }) => wordsOf(results, commandId))).toEqual([
      ['command refused too-many-waiting'],
    ]);
  });
});

describe('limits', () => {
  const three = (api: FakeApi) =>
    ['s1', 's2', 's3'].map((name) =>
      itemFor(api.put({ kind: SECRET, name, ownerReferences: [referenceTo('gone')] })),
    );

  test('no more go in an hour than the policy says, also after a restart', async () => {
    const h = harness({
      recent: recentResults([
        clusterObjectResults({ at: { serverMs: DATE_MS - 60_000, spreadMs: 0 }, commandId: 'earlier' }),
      ]),
    });
    h.policy = clusterPolicy({ limits: { ...LIMITS, removalsPerHour: 2 } });
    expect((await h.carryOut(three(h.api))).toSorted()).toEqual([
      'refused rate-limited',
      'refused rate-limited',
      'removed',
    ]);
    await h.pass(3_700);
    expect(await h.carryOut(three(h.api).slice(1, 2))).toEqual(['removed']);
  });

  test('what was refused or gone counts for no removal', async () => {
    const h = harness();
    h.policy = clusterPolicy({ limits: { ...LIMITS, removalsPerHour: 1 } });
    let isForbidden = true;
    h.api.fault = ({ method }) =>
      method === 'DELETE' && isForbidden
        ? { status: 403, body: JSON.stringify(statusBody(403, 'Forbidden')) }
        : null;
    const [one, two] = three(h.api);
    if (one === undefined || two === undefined) throw new Error('there are three');
    expect(await h.carryOut([one])).toEqual(['failed forbidden']);
    isForbidden = false;
    expect(await h.carryOut([two])).toEqual(['removed']);
  });

  test('[cluster S1] without the owner graph no more go for one owner in an hour than a cascade may have', async () => {
    const h = harness();
    h.policy = clusterPolicy({ limits: { ...LIMITS, cascade: 2 } });
    const words: string[] = [];
    for (const item of three(h.api)) words.push(...(await h.carryOut([item])));
    expect(words).toEqual(['removed', 'removed', 'refused not-approved']);
    const other = h.api.put({ kind: SECRET, name: 'y', ownerReferences: [referenceTo('gone too')] });
    expect(await h.carryOut([itemFor(other)])).toEqual(['removed']);
  });

  test('[cluster S1, S7] nor when they are ordered at once, or as an approval says', async () => {
    const going = async (...what: readonly Approved[]): Promise<readonly number[]> => {
      const h = harness();
      h.policy = clusterPolicy({ limits: { ...LIMITS, cascade: 2, cascadeOfKind: 100 } });
      h.approvals = what.map((each) => approval(each, { ...IDENTITY, untilMs: minuteAfter(h) }));
      const items = Array.from({ length: 12 }, (_, index) =>
        itemFor(h.api.put({ kind: SECRET, name: `s${index}`, ownerReferences: [referenceTo('gone')] })),
      );
      const told = await h.carryOut(items);
      return ['removed', 'refused not-approved'].map((word) => told.filter((each) => each === word).length);
    };
    expect(await going()).toEqual([2, 10]);
    expect(await going(approvedOwner('gone', 7, { name: 'gone' }))).toEqual([7, 5]);
    expect(await going(approvedOwner('gone', 12, { name: 'gone' }))).toEqual([12, 0]);
  });

  test('[cluster S1] nor for all owners of a kind', async () => {
    const h = harness();
    h.policy = clusterPolicy({ limits: { ...LIMITS, cascadeOfKind: 1 } });
    const words: string[] = [];
    for (const name of ['s1', 's2'])
      words.push(
        ...(await h.carryOut([
          itemFor(h.api.put({ kind: SECRET, name, ownerReferences: [referenceTo(`of-${name}`)] })),
        ])),
      );
    expect(words).toEqual(['removed', 'refused not-approved']);
  });

  const minuteAfter = ({ time }: Harness): number => DATE_MS + time.now().sinceBootMs + 60_000;

  test('[cluster S7] what was approved goes on, as far as it was and while it is', async () => {
    const h = harness();
    h.policy = clusterPolicy({ limits: { ...LIMITS, cascade: 1 } });
    const untilMs = minuteAfter(h);
    const [one, two, third] = three(h.api);
    if (one === undefined || two === undefined || third === undefined) throw new Error('there are three');
    expect(await h.carryOut([one])).toEqual(['removed']);
    h.approvals = [approval(approvedOwner('gone', 2, { name: 'gone' }), { ...IDENTITY, untilMs })];
    expect(await h.carryOut([two])).toEqual(['removed']);
    expect(await h.carryOut([third])).toEqual(['refused not-approved']);
    h.approvals = [
      approval(approvedOwner('gone', 3, { name: 'gone' }), { ...IDENTITY, cluster: 'other', untilMs }),
    ];
    expect(await h.carryOut([third])).toEqual(['refused not-approved']);
    h.approvals = [approval(approvedOwner('gone', 3, { name: 'gone' }), { ...IDENTITY, untilMs })];
    await h.pass(60);
    expect(await h.carryOut([third])).toEqual(['refused not-approved']);
    h.approvals = [
      approval(approvedOwner('gone', 3, { name: 'gone' }), { ...IDENTITY, untilMs: untilMs + 60_000 }),
    ];
    expect(await h.carryOut([third])).toEqual(['removed']);
  });

  test('[cluster S2, S7] no order deletes what is held by its kind and was not approved itself', async () => {
    const h = harness();
    const until = { ...IDENTITY, untilMs: minuteAfter(h) };
    h.policy = clusterPolicy({ heldKinds: ['Secret'] });
    const [one, two] = three(h.api);
    if (one === undefined || two === undefined) throw new Error('there are three');
    h.approvals = [
      approval(approvedOwner('gone', 9, { name: 'gone' }), until),
      approval(approvedOwners('Secret', 9), until),
    ];
    expect(await h.carryOut([one])).toEqual(['refused not-approved']);
    h.approvals = [approval(approvedObjects('Secret', one.object.uid), until)];
    expect(await h.carryOut([two])).toEqual(['refused not-approved']);
    expect(await h.carryOut([one])).toEqual(['removed']);
  });

  test.each([50, 20])(
    '[cluster F12] requests come at %d a second, after twice as many at once',
    async (rate) => {
      const { api, order, give, pass } = harness({ requestsPerSecond: rate });
      const objects = Array.from({ length: 300 }, (_, number) =>
        api.put({ kind: SECRET, name: `s${number}`, ownerReferences: [referenceTo('gone')] }),
      );
      give(order(objects.map((object) => itemFor(object))));
      await pass(1);
      const first = api.asked.length;
      await pass(2);
      expect(first).toBeLessThanOrEqual(3 * rate);
      expect(api.asked.length).toBeLessThanOrEqual(first + 2 * rate);
      expect(api.asked.length).toBeGreaterThan(first + rate);
    },
  );
});

test.each([1, 5, 20])(
  '[cluster F12] at %d requests a second nothing is done long after the last look at the policy',
  async (rate) => {
    const made = harness({ requestsPerSecond: rate });
    const { api, order, give, pass } = made;
    const objects = Array.from({ length: 300 }, (_, number) =>
      api.put({ kind: SECRET, name: `s${number}`, ownerReferences: [referenceTo('gone')] }),
    );
    give(order(objects.map((object) => itemFor(object))));
    await pass(30);
    const before = api.writes.length;
    expect(before).toBeGreaterThan(0);
    made.policy = clusterPolicy({ mode: 'dry-run' });
    await pass(2);
    const { length } = api.writes;
    await pass(30);
    expect(api.writes).toHaveLength(length);
  },
);

test('[cluster N3] a proof that an owner is absent holds for two seconds', async () => {
  const { api, carryOut, pass } = harness();
  const secret = (name: string) =>
    itemFor(api.put({ kind: SECRET, name, ownerReferences: [referenceTo('gone')] }));
  const asked = (): number => api.asked.filter(({ path }) => path.endsWith('/configmaps/gone')).length;
  await carryOut([secret('s1'), secret('s2')]);
  const before = asked();
  await pass(3);
  ownerThere(api, 'gone');
  expect(await carryOut([secret('s3')])).toEqual(['refused owner-there']);
  expect([before < 3, asked()]).toEqual([true, before + 1]);
});

test('[cluster N3] workers that need the same proof at the same time ask once', async () => {
  const { api, carryOut } = harness();
  const items = Array.from({ length: 15 }, (_, number) =>
    itemFor(api.put({ kind: SECRET, name: `s${number}`, ownerReferences: [referenceTo('gone')] })),
  );
  expect(new Set(await carryOut(items))).toEqual(new Set(['removed']));
  const asked = (end: string): number => api.asked.filter(({ path }) => path.endsWith(end)).length;
  expect([asked('/configmaps/gone'), asked('/namespaces/ns')]).toEqual([1, 1]);
});

describe('a command that an earlier life of the executor began', () => {
  const told = (uid: string) => {
    const [object] = clusterObjectResults().objects;
    if (object === undefined) throw new Error('the fixture has an object');
    return { ...object, object: { ...object.object, uid } };
  };

  test('goes on where it was, and its result counts all of it', async () => {
    const earlier = clusterObjectResults({ commandId: 'half', objects: [told('x')] });
    const h = harness({ recent: recentResults([earlier]) });
    const y = h.api.put({ kind: SECRET, name: 'y', ownerReferences: [referenceTo('gone')] });
    const x = owned(h.api, 'gone');
    expect(await h.carryOut([itemFor(x), itemFor(y)], { id: 'half' })).toEqual(['removed']);
    expect(h.api.byUid('x')).toBeDefined();
    expect(h.results.at(-1)).toMatchObject({ result: { counts: { removed: 2 } } });
  });

  test('and ended is not carried out again', async () => {
    const { type: _, objects: __, ...header } = clusterObjectResults({ commandId: 'whole' });
    const h = harness({
      recent: recentResults([
        {
          ...header,
          type: 'fleetgc.cluster.command-result',
          result: { outcome: 'done', counts: { removed: 1 } },
        },
      ]),
    });
    h.give(h.order([itemFor(owned(h.api, 'gone'))], { id: 'whole' }));
    await h.pass(3);
    expect(h.results).toEqual([]);
    expect(h.api.byUid('x')).toBeDefined();
  });
});

describe('results', () => {
  test('wait for an event log that does not take them', async () => {
    let isAway = true;
    const published: string[] = [];
    const { api, give, order, pass } = harness({
      publish: async (events) => {
        if (isAway) await awayAfterIntents(events);
        else published.push(...events.map(({ event }) => event.type));
      },
    });
    give(order([itemFor(owned(api, 'gone'))]));
    await pass(5);
    expect(published).toEqual([]);
    isAway = false;
    await pass(40);
    expect(published).toEqual(['fleetgc.cluster.object-results', 'fleetgc.cluster.command-result']);
  });

  test('at the end what is done is told, and what waits is left for the next life', async () => {
    const { api, give, order, pass, stop, results } = harness();
    const waiting = api.put({ kind: SECRET, name: 'w', ownerReferences: [referenceTo('gone')] });
    api.fault = ({ path, method }) => (method === 'DELETE' && path.endsWith('/w') ? { status: 500 } : null);
    give(order([itemFor(owned(api, 'gone')), itemFor(waiting)]));
    await pass(0);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    await stop();
    expect(results.map(({ type }) => type)).toEqual(['fleetgc.cluster.object-results']);
    expect(api.byUid('x')).toBeUndefined();
  });
});

test('nothing is done in a cluster that took the place of the one that was ordered about, and the executor ends', async () => {
  const { api, carryOut, executor, pass, time } = harness();
  const stop = new AbortController();
  const watching = executor.instance.watch(api.connection(), time.sleep, stop.signal).then(
    () => 'ended',
    ({ code }: FleetGcError) => code,
  );
  expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['removed']);
  api.put({ kind: kindNamed('Namespace'), name: 'kube-system', uid: 'another-cluster' });
  await pass(3);
  const writes = api.writes.length;
  expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['refused other-instance']);
  expect(api.writes).toHaveLength(writes);
  await pass(10);
  expect(await watching).toBe('API_REPLACED');
  // It does not go back: what is remembered is about the other one.
  api.put({ kind: kindNamed('Namespace'), name: 'kube-system', uid: 'the-cluster' });
  await pass(3);
  expect(await carryOut([itemFor(owned(api, 'gone'))])).toEqual(['refused other-instance']);
});
