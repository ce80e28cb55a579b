import { describe, expect, test } from 'vitest';
import type { DiscoveredGroup, DiscoveredResource } from '../../../../packages/kube-api/discovery.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { KindRegistry } from '../../../../services/cluster/agent/kinds.ts';

const ALL = ['create', 'delete', 'get', 'list', 'watch'];
const resource = (kind: string, verbs: readonly string[] = ALL, over: Partial<DiscoveredResource> = {}) => ({
  kind,
  resource: `${kind.toLowerCase()}s`,
  namespaced: true,
  verbs,
  ...over,
});
type Told = ReturnType<typeof resource>;
const group = (
  name: string,
  versions: Readonly<Record<string, readonly Told[]>>,
  stale: readonly string[] = [],
): DiscoveredGroup => ({
  group: name,
  versions: Object.entries(versions).map(([version, resources]) => ({
    version,
    isStale: stale.includes(version),
    resources: resources.map((each) => ({ group: name, version, ...each })),
  })),
});
const CORE = group('', { v1: [resource('Pod'), resource('Event'), resource('Binding', ['create'])] });
const APPS = group('apps', {
  v1: [resource('Deployment')],
  v1beta1: [resource('Deployment'), resource('Old')],
});

function registry(defined: readonly string[] = []) {
  const clock = { nowMs: 0 };
  const kinds = new KindRegistry({
    nowMs: () => clock.nowMs,
    isDefined: ({ kind }) => defined.includes(kind),
  });
  const names = (each: readonly ResourceKind[]): string[] =>
    each.map(({ version, kind }) => `${version}/${kind}`);
  const update = (...groups: DiscoveredGroup[]) => {
    const { added, withdrawn, moved } = kinds.update({ groups });
    return { added: names(added), withdrawn: names(withdrawn), moved: names(moved) };
  };
  const kindOf = (name: string): ResourceKind => {
    const found = kinds.watched.find(({ kind }) => kind === name);
    if (found === undefined) throw new Error(`${name} is not watched`);
    return found;
  };
  return { clock, kinds, update, kindOf, names };
}
const NO_CHANGE = { added: [], withdrawn: [], moved: [] };

test('[cluster I1, N9] the preferred version of each kind is watched that can be listed, watched and deleted', () => {
  const { update } = registry();
  expect(update(CORE, APPS, group('events.k8s.io', { v1: [resource('Event')] }))).toEqual({
    added: ['v1/Pod', 'v1/Deployment', 'v1beta1/Old'],
    withdrawn: [],
    moved: [],
  });
});

test('[cluster I1] a preferred version without the verbs is not replaced by another one', () => {
  const { update } = registry();
  const both = group('x', { v1: [resource('Thing', ['get'])], v1alpha1: [resource('Thing')] });
  expect(update(CORE, both).added).toEqual(['v1/Pod']);
});

test('[cluster I2] an empty answer, or one without the core group, changes nothing', () => {
  const { update } = registry();
  update(CORE, APPS);
  expect([update(), update(APPS), update(group('', { v1: [] }))]).toEqual([NO_CHANGE, NO_CHANGE, NO_CHANGE]);
});

test('[cluster I5] a change of the preferred version is one of the kind', () => {
  const { update } = registry();
  update(CORE, group('x', { v1beta1: [resource('Thing')] }));
  expect(update(CORE, group('x', { v1: [resource('Thing')], v1beta1: [resource('Thing')] }))).toEqual({
    ...NO_CHANGE,
    moved: ['v1/Thing'],
  });
});

describe('[cluster I9] a kind that is not told any more', () => {
  test('is withdrawn', () => {
    const { update } = registry();
    update(CORE, APPS);
    expect(update(CORE).withdrawn).toEqual(['v1/Deployment', 'v1beta1/Old']);
    expect(update(CORE)).toEqual(NO_CHANGE);
  });

  test('stays while objects define it', () => {
    const { update, kinds } = registry(['Deployment']);
    update(CORE, APPS);
    expect(update(CORE).withdrawn).toEqual(['v1beta1/Old']);
    expect(kinds.find('apps/v1', 'Deployment')).toEqual({ state: 'unresolved', because: 'not-served' });
  });

  test('[cluster I3] stays while its group failed, and nothing is concluded from it', () => {
    const { update, kinds } = registry();
    update(CORE, APPS);
    expect(update(CORE, group('apps', { v1: [] }, ['v1']))).toEqual(NO_CHANGE);
    expect(kinds.failedGroups).toEqual(['apps']);
    expect(kinds.find('apps/v1', 'Deployment')).toEqual({ state: 'unresolved', because: 'group-failed' });
  });
});

describe('what a reference can be told of a kind', () => {
  test('[cluster D9, H5] any version that is served, by the list of the preferred one', () => {
    const { update, kinds, kindOf } = registry();
    update(CORE, APPS);
    expect(kinds.find('apps/v1beta1', 'Deployment')).toMatchObject({
      state: 'watched',
      served: { version: 'v1beta1', resource: 'deployments' },
      synced: false,
    });
    kinds.synced(kindOf('Deployment'));
    expect(kinds.find('apps/v1', 'Deployment')).toMatchObject({ synced: true });
    expect(kinds.find('apps/v2', 'Deployment')).toEqual({ state: 'unresolved', because: 'not-served' });
  });

  test('[cluster D9] two resources of one kind are ambiguous', () => {
    const { update, kinds } = registry();
    update(CORE, group('x', { v1: [resource('Thing'), resource('Thing', ALL, { resource: 'others' })] }));
    expect(kinds.find('x/v1', 'Thing')).toEqual({ state: 'unresolved', because: 'ambiguous' });
  });

  test('[cluster I7, I8] one that cannot be listed tells for how long, from its first failure', () => {
    const { clock, update, kinds, kindOf } = registry();
    update(CORE, APPS);
    kinds.synced(kindOf('Deployment'));
    clock.nowMs = 1_000;
    kinds.failed(kindOf('Deployment'), 'forbidden');
    clock.nowMs = 5_000;
    kinds.failed(kindOf('Deployment'), 'forbidden');
    clock.nowMs = 31_000;
    expect(kinds.find('apps/v1', 'Deployment')).toMatchObject({ state: 'unlisted', forMs: 30_000 });
    kinds.synced(kindOf('Deployment'));
    expect(kinds.find('apps/v1', 'Deployment')).toMatchObject({ state: 'watched', synced: true });
  });

  test('[cluster I8] one without lists at all counts from when it was told', () => {
    const { clock, update, kinds } = registry();
    update(CORE);
    clock.nowMs = 40_000;
    expect(kinds.find('v1', 'Binding')).toMatchObject({ state: 'unlisted', forMs: 40_000 });
  });
});

test('[cluster I10] it is settled when each kind was listed whole, or failed to be, and tells which are not synced', () => {
  const { update, kinds, kindOf } = registry();
  update(CORE, APPS);
  kinds.synced(kindOf('Pod'));
  kinds.failed(kindOf('Deployment'), 'forbidden');
  expect([kinds.isSettled, kinds.unsynced.map(({ reason }) => reason)]).toEqual([
    false,
    ['forbidden', 'its first list is not whole yet'],
  ]);
  kinds.synced(kindOf('Old'));
  expect(kinds.isSettled).toBe(true);
});
