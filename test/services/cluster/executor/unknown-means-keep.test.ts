import { describe, expect, test } from 'vitest';
import type { ApiAnswer } from '../../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { ClusterCommandResult } from '../../../../schemas/events/cluster-result.ts';
import type { ClusterIndex, ClusterPolicyInForce } from '../../../../services/cluster/executor/ports.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { objectBody, statusBody } from '../../../packages/kube-api/support/fake-connection.ts';
import { type Harness, harness, itemFor } from './support/executor.ts';
import { type FakeApi, kindNamed, type StoredObject } from './support/fake-api.ts';
import { truthOf } from './support/truth.ts';

const SECRET = kindNamed('Secret');
const NAMESPACE = kindNamed('Namespace');
const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' };
const WAITING = { deletionTimestamp: '2026-11-25T00:00:00Z', finalizers: ['foregroundDeletion'] };
const owned = (api: FakeApi, name = 'x'): StoredObject =>
  api.put({ kind: SECRET, name, ownerReferences: [OWNER] });
const status = (code: number, reason: string, details: object = {}): Partial<ApiAnswer> => ({
  status: code,
  body: JSON.stringify(statusBody(code, reason, details)),
});
const isOwnerRead = ({ method, path }: ApiRequest): boolean =>
  method === 'GET' && path.endsWith('/configmaps/gone');

describe('an answer proves an owner absent only if it is about that owner', () => {
  test.each<readonly [string, Partial<ApiAnswer>]>([
    [
      'another resource of its name is not there',
      status(404, 'NotFound', { name: 'gone', kind: 'namespaces' }),
    ],
    ['another group is not there', status(404, 'NotFound', { name: 'gone', group: 'example.com' })],
    [
      'an object of its name in another namespace',
      { body: JSON.stringify(objectBody('gone', { namespace: 'other' })) },
    ],
    ['an object of another kind', { body: JSON.stringify({ ...objectBody('gone'), kind: 'Secret' }) }],
    ['a list', { body: JSON.stringify({ kind: 'PartialObjectMetadataList', items: [], metadata: {} }) }],
    ['a page of a proxy', { body: '<html>gone</html>' }],
    ['a page of a proxy that is not found', { status: 404, body: '<html>gone</html>' }],
    ['a path that is not served', status(404, 'NotFound')],
  ])('[cluster D5, D9] %s', async (_, answer) => {
    const { api, carryOut } = harness();
    api.fault = (request) => (isOwnerRead(request) ? answer : null);
    expect(await carryOut([itemFor(owned(api))])).toEqual(['refused owner-unknown']);
    expect(api.writes).toEqual([]);
  });

  test.each<readonly [string, Partial<ApiAnswer>]>([
    ['as the API server says it', status(404, 'NotFound', { name: 'gone', kind: 'configmaps' })],
    ['as some aggregated servers say it', status(404, 'NotFound', { name: 'gone', kind: 'ConfigMap' })],
    ['another uid', { body: JSON.stringify(objectBody('gone', { uid: 'another' })) }],
    [
      'another uid, as a whole object',
      { body: JSON.stringify({ ...objectBody('gone'), kind: 'ConfigMap' }) },
    ],
  ])('[cluster D5, D9] and then it is absent: %s', async (_, answer) => {
    const { api, carryOut } = harness();
    api.fault = (request) => (isOwnerRead(request) ? answer : null);
    expect(await carryOut([itemFor(owned(api))])).toEqual(['removed']);
  });
});

describe('[cluster S5] beside an agent that does not know of the annotation of a namespace', () => {
  /** The owner graph has not seen what came of namespaces: they may not be listed, or the watch is behind. */
  function beside(): Harness {
    const h: Harness = harness({ index: { current: () => withoutNamespaces(truthOf(h.api)) } });
    return h;
  }
  const withoutNamespaces = (truth: ClusterIndex): ClusterIndex => ({
    object: (uid) => truth.object(uid),
    candidate: (uid) => {
      const known = truth.candidate(uid);
      return known && { ...known, object: { ...known.object, keptBy: null } };
    },
    isGoneWithItsKind: (uid) => truth.isGoneWithItsKind(uid),
    wentBack: truth.wentBack,
    pods: truth.pods,
    expiry: truth.expiry,
  });

  test('what lies in it stays', async () => {
    const { api, carryOut } = beside();
    api.put({ kind: NAMESPACE, name: 'ns', keep: true });
    expect(await carryOut([itemFor(owned(api))])).toEqual(['refused kept-by-policy']);
  });

  test('what lies in a namespace that may not be read stays', async () => {
    const { api, carryOut } = beside();
    api.fault = ({ path }) => (path.endsWith('/namespaces/ns') ? status(403, 'Forbidden') : null);
    expect(await carryOut([itemFor(owned(api))])).toEqual(['refused kept-by-policy']);
    expect(api.writes).toEqual([]);
  });
});

test('[cluster D12] a pause between the patch that unblocks an object and its deletion stops the deletion', async () => {
  let inForce: ClusterPolicyInForce = { kind: 'policy', record: clusterPolicyRecord(), approvals: [] };
  const { api, carryOut } = harness({ policy: () => inForce });
  api.put({ kind: kindNamed('ConfigMap'), name: 'gone', ...WAITING });
  const ring = api.put({
    kind: SECRET,
    name: 'x',
    ownerReferences: [{ ...OWNER, blockOwnerDeletion: true }],
  });
  api.onWrite = ({ request }) => {
    if (request.method === 'PATCH') inForce = { kind: 'paused', reason: 'incident' };
  };
  const act = { action: 'delete', propagation: 'Foreground', unblock: true } as const;
  expect(await carryOut([itemFor(ring, act)])).toEqual(['refused paused']);
  expect(api.writes.map(({ request }) => request.method)).toEqual(['PATCH']);
});

test('[cluster S5] a namespace on the keep list stays itself, since all that is in it would go with it', async () => {
  const h = harness();
  h.policy = clusterPolicy({ heldKinds: [], keep: { namespaces: ['ns'], kinds: [] } });
  const owner = { ...OWNER, apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
  const namespace = h.api.put({ kind: NAMESPACE, name: 'ns', ownerReferences: [owner] });
  expect(await h.carryOut([itemFor(namespace)])).toEqual(['refused kept-by-policy']);
});

describe('the limit of removals an hour', () => {
  test('is not used up by an object that the API server again and again fails to delete', async () => {
    const h = harness();
    h.policy = clusterPolicy({ limits: { ...clusterPolicy().limits, removalsPerHour: 2 } });
    const broken = owned(h.api, 'broken');
    h.api.fault = ({ method, path }) =>
      method === 'DELETE' && path.endsWith('/broken') ? status(500, 'InternalError') : null;
    expect(await h.carryOut([itemFor(broken)])).toEqual(['failed api-server-error']);
    expect(await h.carryOut([itemFor(broken)])).toEqual(['failed api-server-error']);
    expect(await h.carryOut([itemFor(owned(h.api, 'y'))])).toEqual(['removed']);
    expect(await h.carryOut([itemFor(owned(h.api, 'z'))])).toEqual(['refused rate-limited']);
  });

  test('counts what may have gone although the answer was lost', async () => {
    const h = harness();
    h.policy = clusterPolicy({ limits: { ...clusterPolicy().limits, removalsPerHour: 1 } });
    h.api.fault = ({ method, path }) => {
      if (method !== 'DELETE' || !path.endsWith('/x')) return null;
      const object = h.api.byUid('x');
      if (object !== undefined) h.api.remove(object);
      return status(504, 'Timeout');
    };
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['not-found']);
    expect(await h.carryOut([itemFor(owned(h.api, 'y'))])).toEqual(['refused rate-limited']);
  });
});

test.each([
  ['GET', '/configmaps/gone'],
  ['DELETE', '/secrets/x'],
])(
  'an API server that says 429 to %s %s and to wait no time is not asked at once again',
  async (method, path) => {
    const { api, give, order, pass } = harness();
    const object = owned(api);
    const isIt = (request: ApiRequest): boolean => request.method === method && request.path.endsWith(path);
    api.fault = (request) =>
      isIt(request) ? { ...status(429, 'TooManyRequests'), headers: { 'retry-after': '0' } } : null;
    give(order([itemFor(object)]));
    await pass(5);
    expect(api.asked.filter(isIt).length).toBeLessThanOrEqual(6);
  },
);

test('the refusal of a command can be read however long the reason of a pause is', async () => {
  const reason = 'x'.repeat(5_000);
  const published: unknown[] = [];
  const { api, give, order, pass } = harness({
    policy: () => ({ kind: 'paused', reason }),
    publish: async (events) => void published.push(...events.map(({ event }) => event)),
  });
  give(order([itemFor(owned(api))]));
  await pass(3);
  expect(published.map((result) => ClusterCommandResult.safeParse(result).data?.result)).toMatchObject([
    { outcome: 'refused', reason: 'paused' },
  ]);
});
