import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ApiAnswer } from '../../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { GoneHow } from '../../../../schemas/events/ownership.ts';
import { approval, approvedOwner } from '../../../fixtures/approval.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { statusBody } from '../../../packages/kube-api/support/fake-connection.ts';
import { runs } from '../../../support/property-runs.ts';
import { type Harness, harness, IDENTITY, itemFor } from './support/executor.ts';
import { DATE_MS, type FakeApi, kindNamed, type StoredObject } from './support/fake-api.ts';
import { truthOf } from './support/truth.ts';

const SECRET = kindNamed('Secret');
const DEFINITION: ServedKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
  namespaced: false,
};
const API_SERVICE: ServedKind = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  kind: 'APIService',
  resource: 'apiservices',
  namespaced: false,
};
const WIDGET: ServedKind = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  resource: 'widgets',
  namespaced: true,
};
const NAME = 'widgets.example.com';
const SERVICE = 'v1.example.com';
const GONE = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'gone', uid: 'gone' };

interface Seen {
  /** How the agent saw the owner go. */
  readonly how?: GoneHow;
  /** Whether it takes the kind as withdrawn. */
  readonly isWithdrawn?: boolean;
  readonly profile?: 'fleetgc' | 'kubernetes';
}

/** An executor beside an agent that saw a Widget go and its kind withdrawn. */
function beside({ how = 'kind-going', isWithdrawn = true, profile = 'kubernetes' }: Seen = {}): Harness {
  const owner: StoredObject = {
    ...{ kind: WIDGET, namespace: 'ns', name: 'gone', uid: 'gone', resourceVersion: '1' },
    ...{ deletionTimestamp: null, finalizers: [], ownerReferences: [], keep: false },
  };
  const ghost = { object: owner, how, orphaned: false };
  const h: Harness = harness({
    index: { current: () => truthOf(h.api, [ghost], false, () => isWithdrawn) },
  });
  h.policy = clusterPolicy({ profile });
  h.api.served = [...h.api.served, DEFINITION, API_SERVICE];
  return h;
}

const owned = ({ api }: Harness): StoredObject =>
  api.put({ kind: SECRET, name: 'x', creationTimestamp: '2026-11-20T10:00:01Z', ownerReferences: [GONE] });
const status = (code: number, reason: string, details: object = {}): Partial<ApiAnswer> => ({
  status: code,
  body: JSON.stringify(statusBody(code, reason, details)),
});
const reads = (part: string) => (request: ApiRequest) =>
  request.method === 'GET' && request.path.includes(part);
const OWNER = reads('/widgets/gone');
const OF_DEFINITION = reads(`/customresourcedefinitions/${NAME}`);
const OF_SERVICE = reads(`/apiservices/${SERVICE}`);
const OF_GROUPS = ({ path }: ApiRequest): boolean => path === '/apis';

describe('an owner whose kind was withdrawn', () => {
  test('[cluster S17] is absent in profile kubernetes: its definition is read last, right before the deed', async () => {
    const h = beside();
    expect(await h.carryOut([itemFor(owned(h))])).toEqual(['removed']);
    const proofs = h.api.asked.filter((each) =>
      [OWNER, OF_DEFINITION, OF_SERVICE, OF_GROUPS].some((is) => is(each)),
    );
    expect(proofs.slice(-1).every(OF_DEFINITION)).toBe(true);
    expect(proofs.some(OWNER) && proofs.some(OF_SERVICE) && proofs.some(OF_GROUPS)).toBe(true);
  });

  test('[cluster S17] also where other kinds of its group have definitions still', async () => {
    const h = beside();
    h.api.served = [...h.api.served, { ...WIDGET, kind: 'Other', resource: 'others' }];
    h.api.put({ kind: API_SERVICE, name: SERVICE, whole: { spec: { version: 'v1', group: 'example.com' } } });
    expect(await h.carryOut([itemFor(owned(h))])).toEqual(['removed']);
  });

  test('[cluster S17] holds what it left in profile fleetgc, and lets it go by an approval of this owner', async () => {
    const h = beside({ profile: 'fleetgc' });
    const object = owned(h);
    expect(await h.carryOut([itemFor(object)])).toEqual(['refused not-approved']);
    const until = { ...IDENTITY, untilMs: DATE_MS + h.time.now().sinceBootMs + 60_000 };
    const approvedFor = (uid: string) =>
      approval(
        approvedOwner(uid, 10, { ownerKind: 'example.com/Widget', namespace: 'ns', name: uid }),
        until,
      );
    h.approvals = [approvedFor('other')];
    expect(await h.carryOut([itemFor(object)])).toEqual(['refused not-approved']);
    h.approvals = [approvedFor('gone')];
    expect(await h.carryOut([itemFor(object)])).toEqual(['removed']);
  });

  test('[cluster S17] keeps what it left where no agent beside the executor saw that', async () => {
    const h = harness();
    h.policy = clusterPolicy({ profile: 'kubernetes' });
    h.api.served = [...h.api.served, DEFINITION, API_SERVICE];
    expect(await h.carryOut([itemFor(owned(h))])).toEqual(['refused owner-unknown']);
  });
});

function serve(api: FakeApi, served: FakeApi['served']): void {
  api.served = served;
}

const NOT_SURE: readonly (readonly [string, (h: Harness) => void])[] = [
  ['the definition is there again', ({ api }) => void api.put({ kind: DEFINITION, name: NAME })],
  [
    'the definition is there, and is being deleted',
    ({ api }) =>
      void api.put({
        ...{ kind: DEFINITION, name: NAME, finalizers: ['cleanup'] },
        deletionTimestamp: '2026-11-25T00:00:00Z',
      }),
  ],
  [
    'an aggregated API stands for its version',
    ({ api }) =>
      void api.put({
        ...{ kind: API_SERVICE, name: SERVICE },
        whole: { spec: { service: { name: 'widgets', namespace: 'ns' } } },
      }),
  ],
  [
    'what stands for its version says nothing',
    ({ api }) => void api.put({ kind: API_SERVICE, name: SERVICE }),
  ],
  [
    'another kind is served in its place',
    ({ api }) => serve(api, [...api.served, { ...WIDGET, kind: 'WidgetToo' }]),
  ],
  [
    'definitions are not served',
    ({ api }) =>
      serve(
        api,
        api.served.filter((each) => each !== DEFINITION),
      ),
  ],
  [
    'services are not served',
    ({ api }) =>
      serve(
        api,
        api.served.filter((each) => each !== API_SERVICE),
      ),
  ],
];

test.each(NOT_SURE)('[cluster S17] unknown means keep: %s', async (_, prepare) => {
  const h = beside();
  prepare(h);
  const [outcome] = await h.carryOut([itemFor(owned(h))]);
  expect(outcome).toBe('refused owner-unknown');
  expect(h.api.writes).toEqual([]);
});

test.each<readonly [string, Seen]>([
  ['did not see the owner go', { how: 'mass-relisted' }],
  ['saw the owner go before, and no definition', { how: 'watched' }],
  ['does not take the kind as withdrawn', { isWithdrawn: false }],
])('[cluster S17] unknown means keep: the agent %s', async (_, seen) => {
  const h = beside(seen);
  expect(await h.carryOut([itemFor(owned(h))])).toEqual([expect.stringMatching(/^refused/)]);
  expect(h.api.writes).toEqual([]);
});

test('[cluster S17] unknown means keep: the definition is made anew while the owner is read', async () => {
  const h = beside();
  h.api.fault = (request) => {
    if (OWNER(request)) h.api.put({ kind: DEFINITION, name: NAME });
    return null;
  };
  expect(await h.carryOut([itemFor(owned(h))])).toEqual(['refused owner-unknown']);
  expect(h.api.writes).toEqual([]);
});

/** Whole but for a group of which the API server tells what it knew before. */
const stale = (isStale: boolean): Partial<ApiAnswer> => ({
  body: JSON.stringify({
    kind: 'APIGroupDiscoveryList',
    items: [DEFINITION, API_SERVICE, { ...WIDGET, group: 'metrics.example.com', resource: 'loads' }].map(
      ({ group, version, kind, resource }) => ({
        metadata: { name: group },
        versions: [
          {
            version,
            freshness: isStale && group.startsWith('metrics') ? 'Stale' : 'Current',
            resources: [{ resource, responseKind: { group, version, kind }, scope: 'Cluster' }],
          },
        ],
      }),
    ),
  }),
});

test('[cluster S17] unknown means keep: a group of aggregated APIs does not tell what it serves', async () => {
  for (const isStale of [true, false]) {
    const h = beside();
    h.api.fault = (request) => (OF_GROUPS(request) ? stale(isStale) : null);
    expect(await h.carryOut([itemFor(owned(h))])).toEqual([isStale ? 'refused owner-unknown' : 'removed']);
  }
});

test('[cluster S17] no outage, partial answer or missing right makes an owner absent', async () => {
  const where = fc.constantFrom(OWNER, OF_DEFINITION, OF_SERVICE, OF_GROUPS);
  const what = fc.constantFrom<Partial<ApiAnswer> | Error>(
    status(403, 'Forbidden'),
    status(401, 'Unauthorized'),
    status(429, 'TooManyRequests'),
    status(500, 'InternalError'),
    status(503, 'ServiceUnavailable'),
    { status: 503, body: '<html>no upstream</html>' },
    { status: 200, body: '' },
    { status: 200, body: '{}' },
    status(404, 'NotFound', { name: 'another' }),
    new FleetGcError('API_UNREACHABLE', 'no answer came'),
    stale(true),
  );
  await fc.assert(
    fc.asyncProperty(where, what, async (isOne, answer) => {
      const h = beside();
      h.api.fault = (request) => (isOne(request) ? answer : null);
      const command = h.order([itemFor(owned(h))], { lifetimeMs: 20_000 });
      h.give(command);
      await h.done(command);
      expect(h.api.writes).toEqual([]);
      await h.stop();
    }),
    runs(40),
  );
});
