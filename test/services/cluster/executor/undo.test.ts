import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { ClusterRemoved, ManifestLeftOut } from '../../../../schemas/events/cluster-removed.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { ClusterExecutorDeps } from '../../../../services/cluster/executor/executor.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { statusBody } from '../../../packages/kube-api/support/fake-connection.ts';
import { type Harness, harness, IDENTITY, itemFor } from './support/executor.ts';
import { kindNamed, NODE, POD, SERVED, type StoredObject } from './support/fake-api.ts';

const CONFIG_MAP = kindNamed('ConfigMap');
const GONE = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone', blockOwnerDeletion: true };

const undoPolicy = (over: Partial<ClusterPolicy> = {}): ClusterPolicy =>
  clusterPolicy({ undo: 'manifest', ...over });

interface Undoing extends Harness {
  readonly object: StoredObject;
}

/** An executor under a policy with `undo: manifest`, and an object that goes. */
function undoing(
  over: Partial<StoredObject> = {},
  { policy = {}, deps = {} }: { policy?: Partial<ClusterPolicy>; deps?: Partial<ClusterExecutorDeps> } = {},
): Undoing {
  const h = harness(deps);
  h.policy = undoPolicy(policy);
  const object = h.api.put({
    kind: CONFIG_MAP,
    name: 'x',
    ownerReferences: [GONE],
    whole: { data: { a: '1' } },
    ...over,
  });
  return Object.assign(h, { object });
}

const isWholeRead = ({ method, accept }: { readonly method: string; readonly accept?: string }): boolean =>
  method === 'GET' && accept === 'application/json';
const manifestOf = (removed: ClusterRemoved | undefined): unknown =>
  removed?.saved.as === 'manifest' ? JSON.parse(removed.saved.manifest) : removed?.saved;

describe('under undo: manifest', () => {
  test('an object lies on the event log in the state that is deleted, before it is', async () => {
    const order: string[] = [];
    const saved: ClusterRemoved[] = [];
    const { api, object, carryOut } = undoing(
      {},
      {
        deps: {
          save: async (removed) => {
            await Promise.resolve();
            order.push('saved');
            saved.push(removed);
          },
        },
      },
    );
    api.onWrite = ({ request }) => void order.push(request.method);
    expect(await carryOut([itemFor(object)])).toEqual(['removed']);
    expect(order).toEqual(['saved', 'DELETE']);
    expect(saved[0]).toMatchObject({
      ...IDENTITY,
      object: {
        ...CONFIG_MAP,
        namespace: 'ns',
        name: 'x',
        uid: 'x',
        resourceVersion: object.resourceVersion,
      },
      owners: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }],
      rule: 'D14',
    });
    expect(api.asked.filter(isWholeRead)).toHaveLength(1);
  });

  test('what the API server sets, and owners, are left out', async () => {
    const { api, saved, object, carryOut } = undoing({
      labels: { app: 'web' },
      finalizers: ['other'],
      annotations: { note: 'n' },
      creationTimestamp: '2026-01-01T00:00:00Z',
      whole: { data: { a: '1' }, status: { phase: 'Active' } },
    });
    expect(await carryOut([itemFor(object)])).toEqual(['accepted']);
    expect(manifestOf(saved[0])).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'x',
        namespace: 'ns',
        labels: { app: 'web' },
        annotations: { note: 'n' },
        finalizers: ['other'],
      },
      data: { a: '1' },
    });
    expect(api.writes).toHaveLength(1);
  });

  test('an object that is unblocked first is saved as it is then', async () => {
    const { api, saved, object, carryOut } = undoing();
    api.put({
      kind: CONFIG_MAP,
      name: 'gone',
      deletionTimestamp: '2026-11-25T00:00:00Z',
      finalizers: ['foregroundDeletion'],
    });
    const act = { action: 'delete', propagation: 'Foreground', unblock: true } as const;
    expect(await carryOut([itemFor(object, act)])).toEqual(['accepted']);
    const [patched, deleted] = api.writes;
    expect(patched?.request.method).toBe('PATCH');
    expect(saved.map(({ object: { resourceVersion } }) => resourceVersion)).toEqual([
      deleted?.before.resourceVersion,
    ]);
  });

  test('an object is not saved whose removal is withdrawn while it is unblocked', async () => {
    const withdrawn = { isSo: false };
    const { api, saved, object, carryOut } = undoing(
      {},
      { deps: { localHold: () => (withdrawn.isSo ? 'the file says hold: true' : null) } },
    );
    api.put({
      kind: CONFIG_MAP,
      name: 'gone',
      deletionTimestamp: '2026-11-25T00:00:00Z',
      finalizers: ['foregroundDeletion'],
    });
    api.onWrite = () => {
      withdrawn.isSo = true;
    };
    const act = { action: 'delete', propagation: 'Foreground', unblock: true } as const;
    expect(await carryOut([itemFor(object, act)])).toEqual(['refused held']);
    expect(api.writes.map(({ request: { method } }) => method)).toEqual(['PATCH']);
    expect(saved).toEqual([]);
  });

  test('a pod is saved as it is once it is marked', async () => {
    const h = harness({}, (api) => {
      api.served = [...SERVED, POD, NODE];
    });
    h.policy = undoPolicy({ collectors: ['pod-garbage-collector-controller'] });
    const pod = h.api.put({
      kind: POD,
      name: 'p',
      creationTimestamp: '2026-01-01T00:00:00Z',
      whole: { spec: { nodeName: 'lost' }, status: { phase: 'Running' } },
    });
    const act = { action: 'remove-pod', because: 'node-gone' } as const;
    expect(await h.carryOut([{ ...itemFor(pod, act), rule: 'J8' }])).toEqual(['removed']);
    expect(h.api.writes.map(({ request: { method } }) => method)).toEqual(['PATCH', 'DELETE']);
    expect(h.saved[0]?.object.resourceVersion).toBe(h.api.writes[1]?.before.resourceVersion);
    expect(manifestOf(h.saved[0])).toMatchObject({ spec: { nodeName: 'lost' } });
  });

  test.each<[string, string, Partial<ClusterPolicy>, ManifestLeftOut]>([
    ['Secret', '', {}, 'secret'],
    ['Secret', 'example.com', {}, 'secret'],
    ['OAuthAccessToken', 'oauth.openshift.io', {}, 'secret'],
    ['Template', 'template.openshift.io', {}, 'secret'],
    ['Widget', 'example.com', { undoExcept: ['example.com/Widget'] }, 'excepted'],
  ])(
    'of a %s of the group "%s" the name alone is saved, and it goes',
    async (kind, group, policy, because) => {
      const served = { group, version: 'v1', kind, resource: `${kind.toLowerCase()}s`, namespaced: true };
      const h = undoing({ kind: served, whole: { data: { password: 'hunter2' } } }, { policy });
      h.api.served = [...SERVED.filter((each) => each.kind !== kind), served];
      expect(await h.carryOut([itemFor(h.object)])).toEqual(['removed']);
      expect(h.saved.map(({ saved }) => saved)).toEqual([{ as: 'name', because }]);
      expect(h.api.asked.filter(isWholeRead)).toEqual([]);
      expect(JSON.stringify(h.saved)).not.toContain('hunter2');
    },
  );

  test('nothing is saved of what only loses references', async () => {
    const { api, saved, carryOut } = undoing();
    api.put({ kind: CONFIG_MAP, name: 'owner' });
    const held = { ...GONE, name: 'owner', uid: 'owner' };
    const object = api.put({ kind: CONFIG_MAP, name: 'y', ownerReferences: [GONE, held] });
    const item = itemFor(object, { action: 'drop-references', ownerUids: ['gone'] });
    expect(await carryOut([item])).toEqual(['patched']);
    expect([saved, api.asked.filter(isWholeRead)]).toEqual([[], []]);
  });

  test('rehearsed, it is seen whether it could be saved, and nothing is', async () => {
    const { saved, object, carryOut, api } = undoing({}, { policy: { mode: 'rehearse' } });
    expect(await carryOut([itemFor(object)])).toEqual(['rehearsed']);
    api.touch('x', { whole: { data: { a: 'x'.repeat(4 * 1024 * 1024) } } });
    const [touched] = api.objects.filter(({ uid }) => uid === 'x');
    expect(touched && (await carryOut([itemFor(touched)]))).toEqual(['failed not-saved']);
    expect(saved).toEqual([]);
  });
});

test('without undo nothing is read for it, and nothing saved', async () => {
  const { api, saved, carryOut } = harness();
  const object = api.put({ kind: CONFIG_MAP, name: 'x', ownerReferences: [GONE] });
  expect(await carryOut([itemFor(object)])).toEqual(['removed']);
  expect([saved, api.asked.filter(isWholeRead)]).toEqual([[], []]);
});

describe('what cannot be saved stays', () => {
  const tooDeep = (depth: number): unknown => (depth === 0 ? {} : { a: tooDeep(depth - 1) });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['too large', { data: { a: 'x'.repeat(3 * 1024 * 1024) } }],
    ['too large as it is written', { data: { a: '\u0001'.repeat(600 * 1024) } }],
    ['too deep', { data: tooDeep(300) }],
    ['a number that would come back as another one', { data: { a: 2 ** 53 } }],
    ['of no version', { apiVersion: '' }],
    ['in another version than it was asked for', { apiVersion: 'v2' }],
    ['metadata alone', { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' }],
  ])('%s', async (_, whole) => {
    const { api, saved, object, carryOut, results } = undoing({ whole });
    expect(await carryOut([itemFor(object)])).toEqual(['failed not-saved']);
    expect([api.writes, saved]).toEqual([[], []]);
    expect(JSON.stringify(results)).toContain('it stays, since the policy says undo: manifest');
  });

  test('an answer that is beyond all bounds', async () => {
    const { api, object, carryOut } = undoing();
    api.fault = (request) =>
      isWholeRead(request) ? new FleetGcError('API_ANSWER_TOO_LARGE', 'too large') : null;
    expect(await carryOut([itemFor(object)])).toEqual(['failed not-saved']);
    expect(api.asked.filter(isWholeRead).map(({ mostAnswerBytes }) => mostAnswerBytes)).toEqual([
      8 * 1024 ** 2,
    ]);
    expect(api.writes).toEqual([]);
  });

  test.each([
    [403, 'failed forbidden'],
    [500, 'failed api-server-error'],
  ])('when it cannot be read whole: %s', async (status, words) => {
    const { api, object, carryOut } = undoing();
    api.fault = (request) =>
      isWholeRead(request) ? { status, body: JSON.stringify(statusBody(status, 'Other')) } : null;
    expect(await carryOut([itemFor(object)], { lifetimeMs: 20_000 })).toEqual([words]);
    expect(api.writes).toEqual([]);
  });

  test('when it is gone by then, or another has its name', async () => {
    for (const again of [false, true]) {
      const { api, object, carryOut } = undoing();
      api.fault = (request) => {
        if (isWholeRead(request)) api.remove(object);
        if (isWholeRead(request) && again) api.put({ ...object, uid: 'new' });
        return null;
      };
      expect(await carryOut([itemFor(object)])).toEqual(['not-found']);
      expect(api.writes).toEqual([]);
    }
  });

  test('when it changed meanwhile it is judged again, and saved as it is then', async () => {
    const { api, saved, object, carryOut } = undoing();
    let reads = 0;
    api.fault = (request) => {
      if (isWholeRead(request) && ++reads === 1) api.touch('x', { labels: { changed: 'yes' } });
      return null;
    };
    expect(await carryOut([itemFor(object)])).toEqual(['removed']);
    expect(manifestOf(saved[0])).toMatchObject({ metadata: { labels: { changed: 'yes' } } });
    expect(saved.map(({ object: { resourceVersion } }) => resourceVersion)).toEqual(
      api.writes.map(({ before }) => before.resourceVersion),
    );
  });

  test('while the event log does not take it, and goes once it does', async () => {
    let refusals = 2;
    const saved: ClusterRemoved[] = [];
    const { api, object, carryOut } = undoing(
      {},
      {
        deps: {
          save: async (removed) => {
            if (refusals-- > 0) throw new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
            saved.push(removed);
          },
        },
      },
    );
    expect(await carryOut([itemFor(object)])).toEqual(['removed']);
    expect([saved.length, api.writes.length]).toEqual([1, 1]);
  });

  test.each([
    ['LOG_UNREACHABLE', 1_000],
    ['LOG_RECORD_TOO_LARGE', 600_000],
    ['LOG_UNAUTHORIZED', 600_000],
  ] as const)('for good, where the event log never takes it: %s', async (code, lifetimeMs) => {
    const refuses = { save: async () => Promise.reject(new FleetGcError(code, 'it does not take it')) };
    const { api, object, carryOut, results } = undoing({}, { deps: refuses });
    expect(await carryOut([itemFor(object)], { lifetimeMs: Math.max(20_000, lifetimeMs) })).toEqual([
      'failed not-saved',
    ]);
    expect(api.writes).toEqual([]);
    expect(JSON.stringify(results)).toContain('it does not take it');
  });

  test('when it took longer than what was proved of its owners holds, it is judged again', async () => {
    const owner = { kind: CONFIG_MAP, name: 'gone', uid: 'gone' };
    const at: { h: Undoing | null } = { h: null };
    const h = undoing(
      {},
      {
        deps: {
          save: async () => {
            at.h?.api.put(owner);
            await at.h?.time.sleep(2_000, new AbortController().signal);
          },
        },
      },
    );
    at.h = h;
    expect(await h.carryOut([itemFor(h.object)])).toEqual(['refused owner-there']);
    expect(h.api.writes).toEqual([]);
  });

  test('[cluster N3] when what was proved before it was saved is too old by then, it is judged again', async () => {
    const at: { h: Undoing | null } = { h: null };
    const save = async ({ object }: ClusterRemoved): Promise<void> => {
      if (object.name !== 'y') return;
      at.h?.api.put({ kind: CONFIG_MAP, name: 'gone', uid: 'gone' });
      await at.h?.time.sleep(1_000, new AbortController().signal);
    };
    const h = undoing({}, { deps: { save } });
    at.h = h;
    const other = h.api.put({ ...h.object, name: 'y', uid: 'y' });
    // It is found then that the owner is absent, and the second object is judged by that a second later.
    expect(await h.carryOut([itemFor(h.object)])).toEqual(['removed']);
    expect(await h.carryOut([itemFor(other)])).toEqual(['refused owner-there']);
  });

  test('when a pause or another policy comes while it is saved', async () => {
    const at: { h: Undoing | null } = { h: null };
    const h = undoing(
      {},
      {
        deps: {
          save: async () => {
            if (at.h !== null) at.h.policy = clusterPolicy({ mode: 'dry-run' });
          },
        },
      },
    );
    at.h = h;
    expect(await h.carryOut([itemFor(h.object)])).toEqual(['refused policy-not-in-force']);
    expect(h.api.writes).toEqual([]);
  });
});

test('what is saved in a state is not saved again when its deletion is tried again', async () => {
  const { api, saved, object, carryOut } = undoing();
  let refusals = 2;
  api.fault = ({ method }) =>
    method === 'DELETE' && refusals-- > 0
      ? { status: 500, body: JSON.stringify(statusBody(500, 'InternalError')) }
      : null;
  expect(await carryOut([itemFor(object)])).toEqual(['removed']);
  expect([saved.length, api.asked.filter(isWholeRead).length]).toEqual([1, 1]);
});

test('what could not be saved does not count among what went in the hour', async () => {
  const limits = { ...clusterPolicy().limits, removalsPerHour: 1 };
  const { api, object, carryOut } = undoing({ whole: { data: { a: 2 ** 60 } } }, { policy: { limits } });
  const other = api.put({ ...object, name: 'y', uid: 'y', whole: { data: {} } });
  expect(await carryOut([itemFor(object)])).toEqual(['failed not-saved']);
  expect(await carryOut([itemFor(other)])).toEqual(['removed']);
});
