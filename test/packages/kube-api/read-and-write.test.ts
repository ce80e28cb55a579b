import { describe, expect, test } from 'vitest';
import { METADATA_FORM } from '../../../packages/kube-api/metadata.ts';
import { readObject } from '../../../packages/kube-api/read.ts';
import { collectionPath, objectPath } from '../../../packages/kube-api/resources.ts';
import { retryAfterMs } from '../../../packages/kube-api/status.ts';
import { deleteObject, patchMetadata } from '../../../packages/kube-api/write.ts';
import {
  CONFIG_MAPS,
  type FakeAnswer,
  fakeConnection,
  objectBody,
  statusBody,
} from './support/fake-connection.ts';

const NAMED = { namespace: 'ns', name: 'a' };
const read = async (answer: FakeAnswer): Promise<string> =>
  (
    await readObject(
      fakeConnection(() => answer),
      CONFIG_MAPS,
      NAMED,
      METADATA_FORM,
    )
  ).kind;

describe('[cluster D4, D9] an object is', () => {
  test('found where the answer is that object', async () => {
    expect(await read({ body: objectBody('a') })).toBe('found');
    expect(await read({ body: objectBody('b') })).toBe('unknown');
    expect(await read({ body: 'no JSON' })).toBe('unknown');
  });

  test.each<[string, FakeAnswer, string]>([
    [
      'names it',
      { status: 404, body: statusBody(404, 'NotFound', { name: 'a', kind: 'configmaps' }) },
      'absent',
    ],
    ['names another', { status: 404, body: statusBody(404, 'NotFound', { name: 'b' }) }, 'unknown'],
    [
      'is that of a path that is not served',
      { status: 404, body: statusBody(404, 'NotFound', {}) },
      'unknown',
    ],
    ['has no details', { status: 404, body: statusBody(404, 'NotFound', undefined) }, 'unknown'],
    ['is the page of a proxy', { status: 404, body: '404 page not found' }, 'unknown'],
    ['has another reason', { status: 404, body: statusBody(404, 'Expired', { name: 'a' }) }, 'unknown'],
  ])('absent only by a 404 that names it: one that %s', async (_, answer, kind) => {
    expect(await read(answer)).toBe(kind);
  });

  test.each([401, 403, 429, 500, 503])('unknown after status %i', async (status) => {
    expect(await read({ status, body: statusBody(status, 'NotFound', { name: 'a' }) })).toBe('unknown');
  });
});

describe('paths', () => {
  test('lead to the object and nowhere else', () => {
    const apps = { group: 'apps', version: 'v1', resource: 'deployments', namespaced: true };
    expect(objectPath(apps, { namespace: 'n', name: 'a/../b?c' })).toBe(
      '/apis/apps/v1/namespaces/n/deployments/a%2F..%2Fb%3Fc',
    );
    expect(objectPath({ ...apps, namespaced: false }, { namespace: '', name: 'a' }, 'status')).toBe(
      '/apis/apps/v1/deployments/a/status',
    );
    expect(collectionPath(CONFIG_MAPS, {})).toBe('/api/v1/configmaps');
  });

  test.each(['', '.', '..'])('no object is called "%s"', (name) => {
    expect(() => objectPath(CONFIG_MAPS, { namespace: 'n', name })).toThrow(RangeError);
    expect(() => objectPath(CONFIG_MAPS, { namespace: name, name: 'n' })).toThrow(RangeError);
  });
});

describe('writes', () => {
  const judged = { uid: 'u', resourceVersion: '7' };
  const target = { resource: CONFIG_MAPS, named: NAMED, judged, rehearse: false };
  const reference = {
    apiVersion: 'v1',
    kind: 'X',
    name: 'o',
    uid: 'o',
    controller: null,
    blockOwnerDeletion: true,
  };

  test('[cluster D15] a deletion holds for the state that was judged alone', async () => {
    const connection = fakeConnection(() => ({}));
    await deleteObject(connection, target, 'Background');
    await deleteObject(connection, { ...target, rehearse: true }, 'Foreground');
    expect(connection.asked).toMatchObject([
      { method: 'DELETE', path: '/api/v1/namespaces/ns/configmaps/a' },
      { method: 'DELETE' },
    ]);
    const options = connection.asked.map(({ body = '' }) => JSON.parse(body));
    expect(options).toEqual([
      { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: judged, propagationPolicy: 'Background' },
      {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        preconditions: judged,
        propagationPolicy: 'Foreground',
        dryRun: ['All'],
      },
    ]);
  });

  test('[cluster D11, D18, D19] a patch writes whole lists on the state that was judged alone', async () => {
    const connection = fakeConnection(() => ({}));
    await patchMetadata(connection, target, { ownerReferences: [reference], finalizers: [] });
    await patchMetadata(connection, { ...target, rehearse: true }, { ownerReferences: [] });
    const [first, second] = connection.asked;
    expect(JSON.parse(first?.body ?? '')).toEqual({
      metadata: {
        ...judged,
        ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'o', uid: 'o', blockOwnerDeletion: true }],
        finalizers: [],
      },
    });
    expect(first).toMatchObject({ method: 'PATCH', contentType: 'application/merge-patch+json' });
    expect(second?.path).toBe('/api/v1/namespaces/ns/configmaps/a?dryRun=All');
  });

  test('[cluster D11] what is false and what is not there stay as they are', async () => {
    const connection = fakeConnection(() => ({}));
    const written = { apiVersion: 'v1', kind: 'X', name: 'o', uid: 'o' };
    const said = { ...written, controller: false, blockOwnerDeletion: false };
    const unsaid = { ...written, controller: null, blockOwnerDeletion: null };
    await patchMetadata(connection, target, { ownerReferences: [said, unsaid] });
    expect(JSON.parse(connection.asked[0]?.body ?? '').metadata.ownerReferences).toEqual([said, written]);
  });

  test('what was not read whole is not written', async () => {
    const unreadable = { ...reference, apiVersion: 'unreadable.fleetgc.io/v1' };
    const connection = fakeConnection(() => ({}));
    await expect(patchMetadata(connection, target, { ownerReferences: [unreadable] })).rejects.toThrow(
      RangeError,
    );
    await expect(
      patchMetadata(connection, target, { finalizers: ['unreadable.fleetgc.io/v1'] }),
    ).rejects.toThrow(RangeError);
    expect(connection.asked).toEqual([]);
  });
});

test('[cluster F4] the server says when to come back, and nobody waits for an hour', () => {
  const after = (headers: Record<string, string>, body = ''): number | null =>
    retryAfterMs({ headers, body });
  expect([after({ 'retry-after': '3' }), after({}), after({ 'retry-after': '86400' })]).toEqual([
    3_000,
    null,
    600_000,
  ]);
  expect(after({}, JSON.stringify(statusBody(429, 'TooManyRequests', { retryAfterSeconds: 7 })))).toBe(7_000);
});
