import { describe, expect, test } from 'vitest';
import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { OwnerIndex } from '../../../../packages/owner-graph/owner-index.ts';
import { isOfThePast } from '../../../../services/cluster/agent/observed-object.ts';

const NAMESPACE: ResourceKind = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  resource: 'namespaces',
  namespaced: false,
};
const PROJECT: ResourceKind = {
  ...{ group: 'project.openshift.io', version: 'v1', kind: 'Project' },
  ...{ resource: 'projects', namespaced: false },
};
const at = (resourceVersion: string, kind = NAMESPACE): GraphObject => ({
  ...{ kind, resourceVersion, uid: 'u', namespace: '', name: 'n', deletionTimestamp: null },
  ...{ finalizers: [], references: [], keep: false },
});

const NOBODY = new Map<string, unknown>();

function indexOf(...objects: readonly GraphObject[]): OwnerIndex {
  const index = new OwnerIndex();
  for (const object of objects) index.put(object);
  return index;
}

describe('[cluster S3] an object tells of a restore', () => {
  test('when it is in an older state than it was, and in no other', () => {
    const index = indexOf(at('10'));
    expect(['9', '10', '11', ''].map((version) => isOfThePast(at(version), index, NOBODY))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test('when it is back', () => {
    const index = indexOf(at('10'));
    index.remove('u', NAMESPACE, 'watched');
    expect(isOfThePast(at('12'), index, NOBODY)).toBe(true);
    expect(isOfThePast(at('12', PROJECT), index, NOBODY)).toBe(false);
    expect(isOfThePast({ ...at('12'), uid: 'another' }, index, NOBODY)).toBe(false);
  });

  test('not when it only was not told, as of a kind that was not served for a time', () => {
    for (const how of ['relisted', 'mass-relisted', 'kind-going'] as const) {
      const index = indexOf(at('10'));
      index.remove('u', NAMESPACE, how);
      expect(isOfThePast(at('12'), index, NOBODY)).toBe(false);
    }
  });

  test('not when an earlier agent told that it was about to go', () => {
    const index = indexOf(at('10'));
    index.remove('u', NAMESPACE, 'watched');
    expect(isOfThePast(at('12'), index, new Map([['u', null]]))).toBe(false);
  });

  test('not where it is served under two kinds, whose watches do not wait for each other', () => {
    const index = indexOf(at('10'), at('12', PROJECT));
    expect(isOfThePast(at('11'), index, NOBODY)).toBe(false);
    expect(isOfThePast(at('11', PROJECT), index, NOBODY)).toBe(false);
  });

  test('nor under two resources of one kind', () => {
    const other = { ...NAMESPACE, resource: 'others' };
    const index = indexOf(at('10'), at('12', other));
    expect(isOfThePast(at('11'), index, NOBODY)).toBe(false);
  });
});
