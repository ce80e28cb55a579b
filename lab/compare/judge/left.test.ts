import { describe, expect, test } from 'vitest';
import { leftToDo } from './left.ts';
import { nameOf, type ObjectState, type StatedReference } from './state.ts';

const to = (id: number, over: Partial<StatedReference> = {}): StatedReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: nameOf(id),
  uidOf: id,
  controller: null,
  blockOwnerDeletion: null,
  ...over,
});
const object = (id: number, over: Partial<ObjectState> = {}): ObjectState => ({
  id,
  kind: 'configMap',
  place: 'home',
  isDeleting: false,
  finalizers: [],
  references: [],
  ...over,
});
const deleting = (id: number, finalizer: string): ObjectState =>
  object(id, { isDeleting: true, finalizers: [finalizer] });
const left = (...objects: readonly ObjectState[]): readonly string[] =>
  leftToDo(new Map(objects.map((each) => [each.id, each]))).map(({ id, what }) => `${id} ${what}`);

describe('nothing is left to do', () => {
  test.each([
    ['of an object without owners', [object(1)]],
    ['of one whose owner is there', [object(1), object(2, { references: [to(1)] })]],
    ['of one that is being deleted for others', [object(1), deleting(2, 'compare.fleetgc.io/held')]],
    [
      'of an owner that a dependent blocks',
      [
        deleting(1, 'foregroundDeletion'),
        { ...deleting(2, 'x'), references: [to(1, { blockOwnerDeletion: true })] },
      ],
    ],
    [
      'where a kind is not served',
      [
        object(2, {
          references: [to(1), to(1, { apiVersion: 'unknown.compare.fleetgc.io/v1', kind: 'Ghost' })],
        }),
      ],
    ],
    [
      'of a cluster-scoped object that names a namespaced owner',
      [object(2, { kind: 'gadget', place: null, references: [to(1)] })],
    ],
  ])('%s', (_, objects) => {
    expect(left(...objects)).toEqual([]);
  });
});

describe('something is left to do', () => {
  const GOES = '2 is deleted (cluster D13, D14)';
  test.each([
    ['its owner is gone', [object(2, { references: [to(1)] })], GOES],
    ['its owner has another uid', [object(1), object(2, { references: [to(1, { uidOf: null })] })], GOES],
    ['its owner has another name', [object(1), object(2, { references: [to(1, { name: 'nobody' })] })], GOES],
    [
      'its owner is of another kind',
      [object(1), object(2, { references: [to(1, { kind: 'Secret' })] })],
      GOES,
    ],
    ['its owner lies elsewhere', [object(1, { place: 'away' }), object(2, { references: [to(1)] })], GOES],
    [
      'its owner waits for it',
      [deleting(1, 'foregroundDeletion'), object(2, { references: [to(1, { blockOwnerDeletion: true })] })],
      GOES,
    ],
    [
      'one of its owners is gone',
      [object(3), object(2, { references: [to(1), to(3)] })],
      '2 loses references (cluster D11)',
    ],
    ['nobody blocks it', [deleting(1, 'foregroundDeletion')], '1 nobody blocks it (cluster D17)'],
    ['it orphans', [deleting(1, 'orphan')], '1 lets its dependents go (cluster E1, E3)'],
  ])('where %s', (_, objects, what) => {
    expect(left(...objects)).toEqual([what]);
  });
});
