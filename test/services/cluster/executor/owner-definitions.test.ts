import { describe, expect, test } from 'vitest';
import type { ApiAnswer } from '../../../../packages/kube-api/connection.ts';
import { isBuiltIn } from '../../../../packages/kube-api/resources.ts';
import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { FOREGROUND, type ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { ExecutorHold } from '../../../../schemas/events/cluster-result.ts';
import { approval, approvedOwner } from '../../../fixtures/approval.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { statusBody } from '../../../packages/kube-api/support/fake-connection.ts';
import { type Harness, harness, IDENTITY, itemFor } from './support/executor.ts';
import { DATE_MS, type FakeApi, kindNamed, type StoredObject } from './support/fake-api.ts';
import { type Ghost, truthOf } from './support/truth.ts';

const SECRET = kindNamed('Secret');
const DEFINITION: ServedKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
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
const EARLIER = '2026-11-20T10:00:00Z';
const THEN = '2026-11-20T10:00:01Z';
const LATER = '2026-11-20T10:00:02Z';
const DELETING = { deletionTimestamp: '2026-11-25T00:00:00Z', finalizers: ['cleanup'] };

const widgetNamed = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Widget', name, uid: name });
/** Of a Widget that is not there. */
const owned = (api: FakeApi, name = 'x', over: Partial<StoredObject> = {}): StoredObject =>
  api.put({
    kind: SECRET,
    name,
    creationTimestamp: THEN,
    ownerReferences: [widgetNamed('gone')],
    ...over,
  });
const define = (api: FakeApi, over: Partial<StoredObject> = {}): StoredObject =>
  api.put({ kind: DEFINITION, name: NAME, creationTimestamp: EARLIER, ...over });

const GHOST: Ghost = {
  object: {
    kind: WIDGET,
    namespace: 'ns',
    name: 'gone',
    uid: 'gone',
    resourceVersion: '1',
    deletionTimestamp: null,
    finalizers: [],
    ownerReferences: [],
    keep: false,
  },
  how: 'watched',
  orphaned: false,
};

/** An API server that serves Widgets by a definition; beside an agent that saw a Widget go, or apart from it. */
function withWidgets(isBeside: boolean): Harness {
  const h: Harness = harness(isBeside ? { index: { current: () => truthOf(h.api, [GHOST]) } } : {});
  h.api.served = [...h.api.served, DEFINITION, WIDGET];
  return h;
}

const until = (h: Harness) => ({ ...IDENTITY, untilMs: DATE_MS + h.time.now().sinceBootMs + 60_000 });
const isOfDefinition = ({ method, path }: ApiRequest): boolean =>
  method === 'GET' && path.endsWith(`/customresourcedefinitions/${NAME}`);
const refusal = (code: number, reason: string): Partial<ApiAnswer> => ({
  status: code,
  body: JSON.stringify(statusBody(code, reason, {})),
});
const reads = (api: FakeApi, part: string): number =>
  api.asked.filter(({ method, path }) => method === 'GET' && path.includes(part)).length;

function holdOf({ results }: Harness): ExecutorHold | undefined {
  const [told] = results.flatMap((each) => ('objects' in each ? each.objects : [])).slice(-1);
  return told?.result.outcome === 'refused' ? told.result.hold : undefined;
}

describe.each([
  ['beside an agent', true],
  ['apart from it', false],
] as const)('an owner that is not there proves nothing once its definition went, %s', (_, isBeside) => {
  test('[cluster S3] while the definition is being deleted its dependent is held', async () => {
    const h = withWidgets(isBeside);
    define(h.api, DELETING);
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['refused not-approved']);
    expect(h.api.writes).toEqual([]);
    expect(holdOf(h)).toMatchObject({
      rule: 'S3',
      facts: { ownerUid: 'gone', ownerKind: 'example.com/Widget', why: expect.stringContaining(NAME) },
    });
  });

  test('[cluster S3] under a definition that is younger than its dependent that is held', async () => {
    const h = withWidgets(isBeside);
    define(h.api, { creationTimestamp: LATER });
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['refused not-approved']);
    expect(holdOf(h)?.facts.why).toMatch(/10:00:02.* is not older than the object .*10:00:01/);
  });

  test.each([
    ['the definition', { creationTimestamp: undefined }, THEN],
    ['the dependent', {}, undefined],
  ])('[cluster S3] and where %s does not say when it was made', async (__, definition, creationTimestamp) => {
    const h = withWidgets(isBeside);
    h.api.put({
      kind: DEFINITION,
      name: NAME,
      ...('creationTimestamp' in definition ? {} : { creationTimestamp: EARLIER }),
    });
    const object = h.api.put({
      kind: SECRET,
      name: 'x',
      ownerReferences: [widgetNamed('gone')],
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    });
    expect(await h.carryOut([itemFor(object)])).toEqual(['refused not-approved']);
  });

  test('[cluster S3] under one that is older it goes, and within one second nobody can tell', async () => {
    const outcome = async (creationTimestamp: string): Promise<readonly string[]> => {
      const h = withWidgets(isBeside);
      define(h.api, { creationTimestamp });
      return h.carryOut([itemFor(owned(h.api))]);
    };
    expect(await outcome(EARLIER)).toEqual(['removed']);
    expect(await outcome(THEN)).toEqual(['refused not-approved']);
  });

  test('[cluster S3, S7] an approval of its cascade lets it go, and one of another does not', async () => {
    const h = withWidgets(isBeside);
    define(h.api, DELETING);
    const item = itemFor(owned(h.api));
    h.approvals = [approval(approvedOwner('other', 9), until(h))];
    expect(await h.carryOut([item])).toEqual(['refused not-approved']);
    const shown = { ownerKind: 'example.com/Widget', name: 'gone' };
    const others = [
      { name: 'payments-db' },
      { namespace: 'shop' },
      { namespace: '' },
      { ownerKind: 'Secret' },
    ];
    for (const other of others) {
      h.approvals = [approval(approvedOwner('gone', 9, { ...shown, ...other }), until(h))];
      expect(await h.carryOut([item])).toEqual(['refused not-approved']);
    }
    h.approvals = [approval(approvedOwner('gone', 9, shown), until(h))];
    expect(await h.carryOut([item])).toEqual(['removed']);
    const owners = { kind: 'owner-kind', ownerKind: 'example.com/Widget', objects: 9 } as const;
    const named = { uid: 'gone', namespace: 'ns', name: 'gone' };
    h.approvals = [approval({ ...owners, owners: [{ ...named, name: 'other' }] }, until(h))];
    expect(await h.carryOut([itemFor(owned(h.api, 'y'))])).toEqual(['refused not-approved']);
    h.approvals = [approval({ ...owners, owners: [named] }, until(h))];
    expect(await h.carryOut([itemFor(owned(h.api, 'y'))])).toEqual(['removed']);
  });

  test('[cluster S3] beside an owner that is there it keeps the reference too', async () => {
    const h = withWidgets(isBeside);
    define(h.api, DELETING);
    h.api.put({ kind: SECRET, name: 'there' });
    const there = { apiVersion: 'v1', kind: 'Secret', name: 'there', uid: 'there' };
    const object = owned(h.api, 'x', { ownerReferences: [widgetNamed('gone'), there] });

    expect(await h.carryOut([itemFor(object, { action: 'drop-references', ownerUids: ['gone'] })])).toEqual([
      'refused not-approved',
    ]);
  });

  test('[cluster S3] in profile kubernetes nobody asks for a definition', async () => {
    const h = withWidgets(isBeside);
    h.policy = clusterPolicy({ profile: 'kubernetes' });
    define(h.api, DELETING);
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['removed']);
    expect(reads(h.api, '/customresourcedefinitions/')).toBe(0);
  });

  test('[cluster S3] a definition that was read before the owner was found absent does not count', async () => {
    const h = withWidgets(isBeside);
    define(h.api);
    expect(await h.carryOut([itemFor(owned(h.api, 'before'))])).toEqual(['removed']);
    const other = owned(h.api, 'x', { ownerReferences: [widgetNamed('gone too')] });
    h.api.touch(NAME, DELETING);
    expect(await h.carryOut([itemFor(other)])).toEqual(['refused not-approved']);
  });

  test('[cluster S3] one that goes between both reads is no kind without a definition', async () => {
    const h = withWidgets(isBeside);
    define(h.api, DELETING);
    h.api.fault = (request) => {
      const definition = h.api.byUid(NAME);
      if (!isOfDefinition(request) || definition === undefined) return null;
      h.api.remove(definition);
      h.api.served = h.api.served.filter((each) => each !== WIDGET);
      return null;
    };
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual([
      expect.stringMatching(/^refused (owner-unknown|kept-by-own-judgement|changed)$/),
    ]);
    expect(h.api.writes).toEqual([]);
  });

  test('[cluster S3] nor is one that is made anew in that time', async () => {
    const h = withWidgets(isBeside);
    h.api.fault = (request) => {
      if (isOfDefinition(request) && reads(h.api, NAME) === 2) define(h.api, { creationTimestamp: LATER });
      return null;
    };
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['refused not-approved']);
  });

  test('[cluster S3] of an aggregated kind there is none, which is known after a few seconds', async () => {
    const h = withWidgets(isBeside);
    const sinceMs = h.time.now().sinceBootMs;
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['removed']);
    expect(h.time.now().sinceBootMs - sinceMs).toBeGreaterThanOrEqual(5_000);
    const before = h.api.asked.length;
    expect(await h.carryOut([itemFor(owned(h.api, 'y'))])).toEqual(['removed']);
    expect(h.api.asked.length - before).toBeLessThanOrEqual(6);
  });

  test.each([500, 503, 429, 401])('[cluster S3] what cannot be read now (%d) is read later', async (code) => {
    const h = withWidgets(isBeside);
    define(h.api);
    h.api.fault = (request) =>
      isOfDefinition(request) && reads(h.api, NAME) < 4 ? refusal(code, 'Other') : null;
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['removed']);
    expect(reads(h.api, NAME)).toBe(4);
  });

  test('[cluster S3] one that may not be read keeps the object, and the result names the right', async () => {
    const h = withWidgets(isBeside);
    define(h.api);
    const message =
      'customresourcedefinitions.apiextensions.k8s.io "widgets.example.com" is forbidden: User "u" cannot get resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope';
    h.api.fault = (request) =>
      isOfDefinition(request)
        ? { status: 403, body: JSON.stringify({ ...statusBody(403, 'Forbidden', {}), message }) }
        : null;
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['failed forbidden']);
    expect(JSON.stringify(h.results[0])).toContain(
      '{\\\\\\"apiGroups\\\\\\":[\\\\\\"apiextensions.k8s.io\\\\\\"]'.replaceAll('\\\\\\', '\\'),
    );
    expect(h.api.writes).toEqual([]);
  });

  test('[cluster S3] any other answer keeps it', async () => {
    const h = withWidgets(isBeside);
    h.api.fault = (request) => (isOfDefinition(request) ? { status: 404, body: '404 page not found' } : null);
    expect(await h.carryOut([itemFor(owned(h.api))])).toEqual(['refused owner-unknown']);
  });

  test('[cluster S3] owners of kinds that the API server serves itself cost no request more', async () => {
    const h = withWidgets(isBeside);
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'a' };
    const object = h.api.put({ kind: SECRET, name: 'x', ownerReferences: [reference] });
    expect(await h.carryOut([itemFor(object)])).toEqual(['removed']);
    expect(reads(h.api, 'customresourcedefinitions')).toBe(0);
    expect(reads(h.api, '/secrets/x')).toBeLessThanOrEqual(1);
  });

  test('[cluster S3] many dependents of one owner share one read of its definition', async () => {
    const h = withWidgets(isBeside);
    define(h.api);
    const items = Array.from({ length: 40 }, (__, at) => itemFor(owned(h.api, `s${at}`)));
    expect(new Set(await h.carryOut(items))).toEqual(new Set(['removed']));
    expect(reads(h.api, NAME)).toBeLessThanOrEqual(3);
  });

  test('[cluster S3] what is being deleted is finished without it', async () => {
    const h = withWidgets(isBeside);
    define(h.api, DELETING);
    const object = owned(h.api, 'x', { deletionTimestamp: '2026-11-25T00:00:00Z', finalizers: [FOREGROUND] });
    const finish = { action: 'finish', finalizer: FOREGROUND } as const;
    expect(await h.carryOut([{ ...itemFor(object, finish), rule: 'D17' }])).toEqual(['patched']);
    expect(reads(h.api, NAME)).toBe(0);
  });
});

test('[cluster S3] dependents of many owners share reads of the definition too', async () => {
  const h = withWidgets(false);
  define(h.api);
  const items = Array.from({ length: 60 }, (__, at) =>
    itemFor(owned(h.api, `s${at}`, { ownerReferences: [widgetNamed(`w${at}`)] })),
  );
  expect(new Set(await h.carryOut(items))).toEqual(new Set(['removed']));
  expect(reads(h.api, NAME)).toBeLessThanOrEqual(30);
});

test.each([
  ['', 'secrets', true],
  ['apps', 'deployments', true],
  ['rbac.authorization.k8s.io', 'clusterroles', true],
  ['rbac.authorization.k8s.io', 'others', false],
  ['example.com', 'clusterroles', false],
])('[cluster S3] no definition can be that of %s/%s: %s', (group, resource, expected) => {
  expect(isBuiltIn({ group, resource })).toBe(expected);
});
