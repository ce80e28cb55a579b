import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMetadata } from '../../../packages/kube-api/metadata.ts';
import { runs } from '../../support/property-runs.ts';
import { objectBody } from './support/fake-connection.ts';

const reference = (over: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'o',
  uid: 'uid-o',
  ...over,
});

test('[cluster A1, A2] of an object its metadata is read, and nothing else', () => {
  const body = {
    ...objectBody('a', {
      deletionTimestamp: '2026-11-01T00:00:00Z',
      finalizers: ['orphan'],
      ownerReferences: [
        reference({ blockOwnerDeletion: true }),
        reference({ controller: true, uid: 'other' }),
      ],
      annotations: { 'fleetgc.io/keep': '', other: 'x' },
      managedFields: [{}],
    }),
    data: { secret: 'x' },
  };
  expect(readMetadata(body)).toEqual({
    namespace: 'ns',
    name: 'a',
    uid: 'uid-a',
    resourceVersion: '7',
    deletionTimestamp: '2026-11-01T00:00:00Z',
    finalizers: ['orphan'],
    ownerReferences: [
      { ...reference(), controller: null, blockOwnerDeletion: true },
      { ...reference(), uid: 'other', controller: true, blockOwnerDeletion: null },
    ],
    keep: true,
  });
});

test('a cluster-scoped object has no namespace, and what is missing is empty', () => {
  const body = { metadata: { name: 'a', uid: 'u', resourceVersion: '1' } };
  expect(readMetadata(body)).toMatchObject({
    namespace: '',
    finalizers: [],
    ownerReferences: [],
    keep: false,
  });
});

test.each([
  ['no name', { name: undefined }],
  ['no uid', { uid: '' }],
  ['a uid that is too long', { uid: 'u'.repeat(129) }],
  ['half a character in its name', { name: '\ud800' }],
  ['a reference without a uid', { ownerReferences: [reference({ uid: undefined })] }],
])('%s: it is no object', (_, over) => {
  expect(readMetadata(objectBody('a', over))).toBeNull();
});

describe('what is beyond all bounds leaves an object from which nothing can be concluded', () => {
  const referencesOf = (...ownerReferences: object[]) =>
    readMetadata(objectBody('a', { ownerReferences }))?.ownerReferences ?? [];

  test('a text of a reference', () => {
    expect(referencesOf(reference({ name: 'x'.repeat(321) }), reference())).toMatchObject([
      { apiVersion: 'unreadable.fleetgc.io/v1', uid: 'uid-o' },
      { apiVersion: 'v1', name: 'o' },
    ]);
  });

  test('the number of references', () => {
    const all = referencesOf(...Array.from({ length: 201 }, (_, n) => reference({ uid: `u${n}` })));
    expect([all.length, all[200]?.apiVersion]).toEqual([201, 'unreadable.fleetgc.io/v1']);
  });

  test('the number of finalizers', () => {
    const finalizers = Array.from({ length: 101 }, (_, n) => `f${n}`);
    expect(readMetadata(objectBody('a', { finalizers }))?.finalizers.slice(99)).toEqual([
      'f99',
      'unreadable.fleetgc.io/v1',
    ]);
  });
});

test('whatever a server writes, reading it throws nothing, and what is read has its bounds', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (value, over) => {
      for (const body of [value, objectBody('a', typeof over === 'object' ? { ...over } : {})]) {
        const read = readMetadata(body);
        if (read !== null) expect(read.name.length).toBeLessThanOrEqual(320);
      }
    }),
    runs(2_000),
  );
});
