import { expect, test } from 'vitest';
import type { Answer } from '../../../../lab/sim/api-server/answers.ts';
import { SimulatedCluster } from '../../../../lab/sim/api-server/cluster.ts';
import { CONFIG_MAP } from '../../../../lab/sim/api-server/objects.ts';
import { type ApiCall, ApiRequests } from '../../../../lab/sim/api-server/requests.ts';
import { type WatchRequest, watch } from '../../../../lab/sim/api-server/watch.ts';
import { Refused } from './subject.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

/** A cluster with some ConfigMaps, and who answers for it. */
function startCluster(objects = 3) {
  let ids = 0;
  const cluster = new SimulatedCluster({ now: () => 0, newId: () => `uid-${++ids}` });
  for (let number = 0; number < objects; number++)
    cluster.create(CONFIG_MAP, 'default', { metadata: { name: `c-${number}` } }, false);
  const requests = new ApiRequests(cluster);
  const ask = (method: string, path: string, over: Partial<ApiCall> = {}) =>
    requests.answer({
      method,
      url: new URL(path, 'http://x'),
      accept: 'application/json',
      contentType: '',
      ifNoneMatch: null,
      body: '',
      ...over,
    });
  return { cluster, ask };
}

const reasonOf = (answer: Answer | WatchRequest): readonly unknown[] =>
  'status' in answer ? [answer.status, Refused.parse(answer.body).reason] : ['a watch'];

test.each<[string, string, Partial<ApiCall>, readonly unknown[]]>([
  ['GET', `${PATH}?labelSelector=a%3Db`, {}, [400, 'BadRequest']],
  ['GET', `${PATH}?watch=true`, {}, [400, 'BadRequest']],
  ['GET', `${PATH}/c-0?resourceVersion=5`, {}, [400, 'BadRequest']],
  ['GET', `${PATH}/c-0`, { accept: 'application/vnd.kubernetes.protobuf' }, [406, 'NotAcceptable']],
  ['GET', '/api', {}, [406, 'NotAcceptable']],
  ['GET', `${PATH}/c-0/status`, {}, [404, 'NotFound']],
  ['GET', '/api/v1/namespaces/default', { accept: 'text/html' }, [406, 'NotAcceptable']],
  ['PUT', `${PATH}/c-0`, { body: '{}' }, [405, 'MethodNotAllowed']],
  ['DELETE', PATH, {}, [405, 'MethodNotAllowed']],
  ['POST', '/api/v1/configmaps', { body: '{}' }, [405, 'MethodNotAllowed']],
  ['PATCH', `${PATH}/c-0`, { contentType: 'application/apply-patch+yaml' }, [415, 'UnsupportedMediaType']],
  ['POST', PATH, { body: '{' }, [400, 'BadRequest']],
  ['POST', PATH, { body: '{"kind":"Secret","metadata":{"name":"x"}}' }, [400, 'BadRequest']],
  ['POST', PATH, { body: '{"metadata":{"name":"x","namespace":"y"}}' }, [400, 'BadRequest']],
  ['POST', PATH, { body: '{"metadata":{}}' }, [422, 'Invalid']],
  ['DELETE', `${PATH}/c-0`, { body: '{"propagationPolicy":"Sideways"}' }, [400, 'BadRequest']],
])('what is not played is refused, and changes nothing: %s %s %j', (method, path, over, refused) => {
  const { cluster, ask } = startCluster();
  const before = cluster.store.version;
  expect(reasonOf(ask(method, path, over))).toEqual(refused);
  expect(cluster.store.version).toBe(before);
});

test('metadata is told where a table is preferred and JSON would do', () => {
  const { ask } = startCluster();
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io, application/json';
  const answer = ask('GET', `${PATH}/c-0`, { accept });
  expect(answer).toMatchObject({ status: 200, body: { kind: 'ConfigMap' } });
});

test('lists that were begun long ago are continued no more', () => {
  const { ask } = startCluster();
  const next = (query: string): string => {
    const answer = ask('GET', `${PATH}?limit=1${query}`);
    if (!('status' in answer) || answer.status !== 200) return String(reasonOf(answer));
    return JSON.parse(JSON.stringify(answer.body)).metadata.continue;
  };
  const first = next('');
  expect(next(`&continue=${first}`)).toMatch(/^page-/);
  for (let lists = 0; lists < 100; lists++) next('');
  expect(next(`&continue=${first}`)).toBe('410,Expired');
});

/** Lines of a watch that begins at a version and waits for nothing. */
async function watched(cluster: SimulatedCluster, from: number, timeoutMs = 0): Promise<readonly string[]> {
  const lines: string[] = [];
  const request = { kind: CONFIG_MAP, namespace: null, form: 'metadata', from } as const;
  await watch(
    { ...request, hasBookmarks: timeoutMs > 0, timeoutMs },
    { store: cluster.store, write: (line) => lines.push(line), wait: async () => undefined },
    new AbortController().signal,
  );
  return lines.map((line) => {
    const { type, object } = JSON.parse(line);
    if (type === 'BOOKMARK') return `${type} ${object.metadata.resourceVersion}`;
    return type === 'ERROR' ? `${type} ${object.code}` : `${type} ${object.metadata.name}`;
  });
}

test('a watch from a version that is forgotten says so and ends, and one from a known version has all since', async () => {
  const { cluster } = startCluster(1);
  const from = cluster.store.version;
  for (let change = 0; change < 15_000; change++)
    cluster.patch(CONFIG_MAP, { namespace: 'default', name: 'c-0' }, { data: { change } }, false);
  expect(await watched(cluster, 1)).toEqual(['ERROR 410']);
  expect((await watched(cluster, from)).length).toBe(15_000);
  for (let change = 0; change < 10_000; change++)
    cluster.patch(CONFIG_MAP, { namespace: 'default', name: 'c-0' }, { data: { again: change } }, false);
  expect(await watched(cluster, from)).toEqual(['ERROR 410']);
  expect(await watched(cluster, cluster.store.version - 2)).toEqual(['MODIFIED c-0', 'MODIFIED c-0']);
});

test('bookmarks come every minute and before the end, where anything has happened since the beginning', async () => {
  const { cluster } = startCluster();
  const now = cluster.store.version;
  expect(await watched(cluster, now, 130_000)).toEqual([]);
  expect(await watched(cluster, now - 1, 130_000)).toEqual([
    'ADDED c-2',
    ...Array.from({ length: 3 }, () => `BOOKMARK ${now}`),
  ]);
});
