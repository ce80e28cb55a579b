import { expect, test } from 'vitest';
import { discover } from '../../../packages/kube-api/discovery.ts';
import { type FakeAnswer, fakeConnection, statusBody } from './support/fake-connection.ts';

const group = (name: string, ...versions: object[]) => ({ metadata: name === '' ? {} : { name }, versions });
const version = (name: string, resources: object[], over: object = {}) => ({
  version: name,
  resources,
  ...over,
});
const resource = (kind: string, over: object = {}) => ({
  resource: `${kind.toLowerCase()}s`,
  responseKind: { group: '', version: 'v1', kind },
  scope: 'Namespaced',
  verbs: ['list', 'watch', 'delete'],
  ...over,
});
const list = (...items: object[]) => ({ kind: 'APIGroupDiscoveryList', items });
const CORE = list(group('', version('v1', [resource('Pod')])));
const APPS = list(
  group('apps', version('v1', [resource('Deployment')]), version('v1beta1', [], { freshness: 'Stale' })),
);

const serving = (core: FakeAnswer, groups: FakeAnswer) =>
  fakeConnection(({ path }) => (path === '/api' ? core : groups));

test('[cluster I1] discovery tells groups, versions in their order, and what is stale', async () => {
  const found = await discover(serving({ body: CORE }, { body: APPS }), null);
  expect(found?.groups).toMatchObject([
    {
      group: '',
      versions: [
        { version: 'v1', isStale: false, resources: [{ kind: 'Pod', resource: 'pods', namespaced: true }] },
      ],
    },
    {
      group: 'apps',
      versions: [
        { version: 'v1', isStale: false },
        { version: 'v1beta1', isStale: true },
      ],
    },
  ]);
});

test('[cluster I2] what did not change is not sent again', async () => {
  const before = await discover(
    serving({ body: CORE, headers: { etag: 'a' } }, { body: APPS, headers: { etag: 'b' } }),
    null,
  );
  const same = serving({ status: 304 }, { status: 304 });
  expect(await discover(same, before)).toBeNull();
  expect(same.asked.map(({ ifNoneMatch }) => ifNoneMatch)).toEqual(['a', 'b']);
  const half = await discover(serving({ status: 304 }, { body: list(), headers: { etag: 'c' } }), before);
  expect(half).toMatchObject({ groups: [{ group: '' }], etags: { core: 'a', groups: 'c' } });
});

test.each<[string, FakeAnswer, RegExp]>([
  ['refused', { status: 403, body: statusBody(403, 'Forbidden') }, /Forbidden/],
  ['in an older form', { body: { kind: 'APIGroupList', groups: [] } }, /Kubernetes 1.30/],
  ['no JSON', { body: 'x' }, /unknown form/],
])('an answer that is %s is no discovery', async (_, answer, message) => {
  await expect(discover(serving({ body: CORE }, answer), null)).rejects.toThrow(message);
});
