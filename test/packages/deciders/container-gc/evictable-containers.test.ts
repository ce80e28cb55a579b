import { describe, expect, test } from 'vitest';
import { planPass } from '../../../../packages/deciders/container-gc/rules/plan.ts';
import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, gonePod, inventory, pod } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { HOUR, MINUTE, NOW, nsAgo } from '../../../fixtures/time.ts';
import { dead, KEEP_NONE, removed, rules } from './decided-containers.ts';

describe('a container is evictable', () => {
  test.each<{
    name: string;
    given: Partial<InventoryContainer>;
    settings?: Partial<Policy>;
    goes: boolean;
    rule: string;
  }>([
    { name: '[G3] exited', given: { state: 'exited' }, goes: true, rule: 'G7' },
    { name: '[G3, G15] in unknown state', given: { state: 'unknown' }, goes: true, rule: 'G7' },
    { name: '[G3, G18] created', given: { state: 'created' }, goes: true, rule: 'G7' },
    { name: '[G3, K2] not while it runs', given: { state: 'running' }, goes: false, rule: 'G3' },
    {
      name: '[G3] at exactly the minimum age',
      given: { createdAtNs: nsAgo(MINUTE) },
      settings: { minimumContainerTTLMs: MINUTE },
      goes: true,
      rule: 'G7',
    },
    {
      name: '[G3] not one nanosecond younger than the minimum age',
      given: { createdAtNs: nsAgo(MINUTE, 1n) },
      settings: { minimumContainerTTLMs: MINUTE },
      goes: false,
      rule: 'G3',
    },
    {
      name: '[G3] at the very time of the inventory',
      given: { createdAtNs: nsAgo(0) },
      goes: true,
      rule: 'G7',
    },
    {
      name: '[G3] not when created after the inventory was taken',
      given: { createdAtNs: nsAgo(-1) },
      goes: false,
      rule: 'G3',
    },
    {
      name: '[M32] created, at exactly the minimum age of its own',
      given: { state: 'created', createdAtNs: nsAgo(5 * MINUTE) },
      goes: true,
      rule: 'G7',
    },
    {
      name: '[M32, K6] not created and one nanosecond younger than that',
      given: { state: 'created', createdAtNs: nsAgo(5 * MINUTE, 1n) },
      goes: false,
      rule: 'M32',
    },
    {
      name: '[G3, M32] not created and old enough for M32 only',
      given: { state: 'created', createdAtNs: nsAgo(10 * MINUTE) },
      settings: { minimumContainerTTLMs: HOUR },
      goes: false,
      rule: 'G3',
    },
    {
      name: '[M32] exited and as young as that',
      given: { state: 'exited', createdAtNs: nsAgo(1) },
      goes: true,
      rule: 'G7',
    },
    { name: '[A12, M41] not without the kubelet labels', given: { pod: null }, goes: false, rule: 'M41' },
    {
      name: '[A12, M41] not with an empty pod UID',
      given: { pod: { uid: '', name: 'web', namespace: 'default' } },
      goes: false,
      rule: 'M41',
    },
    { name: '[M41] not without a name', given: { name: '' }, goes: false, rule: 'M41' },
    {
      name: '[M33] not in backoff',
      given: { backoff: { failures: 1, untilMs: NOW + 1 } },
      goes: false,
      rule: 'M33',
    },
    {
      name: '[M33] when the backoff is over',
      given: { backoff: { failures: 1, untilMs: NOW } },
      goes: true,
      rule: 'G7',
    },
    {
      name: '[G20] not with a relative log path',
      given: { logPath: 'main/0.log' },
      goes: false,
      rule: 'G20',
    },
    { name: '[G20] not with an empty log path', given: { logPath: '' }, goes: false, rule: 'G20' },
    {
      name: '[G20] not with glob characters in its log path',
      given: { logPath: '/var/log/pods/[a]/0.log' },
      goes: false,
      rule: 'G20',
    },
    {
      name: '[G20] not with a log path that climbs',
      given: { logPath: '/var/log/pods/../0.log' },
      goes: false,
      rule: 'G20',
    },
    {
      name: '[G20] with a log path that the executor has yet to ask for',
      given: { logPath: null },
      goes: true,
      rule: 'G7',
    },
  ])('$name', ({ given, settings = {}, goes, rule }) => {
    const args = [[container('a', given)], {}, { ...KEEP_NONE, ...settings }] as const;
    expect(removed(...args)).toEqual(goes ? ['a'] : []);
    expect(rules(...args)).toEqual([`${goes ? 'remove' : 'keep'} ${rule}`]);
  });
});

describe('containers of a pod that is gone', () => {
  const two = [dead('new', 'a', 1), dead('old', 'a', 2)];

  test('[G6, G16] all go, oldest first', () => {
    expect(removed(two, { pods: [gonePod('a')] })).toEqual(['old', 'new']);
    expect(rules(two, { pods: [gonePod('a')] })).toEqual(['remove G6', 'remove G6']);
  });

  test.each<{ name: string; facts: Partial<CompleteInventory> }>([
    {
      name: '[G6, K1, A7] before every pod source has delivered',
      facts: { pods: [gonePod('a')], allSourcesReady: false },
    },
    { name: '[A8] of a pod that is not listed', facts: { pods: [] } },
    {
      name: '[A8] of a pod that is unknown, whatever else is said of it',
      facts: { pods: [{ ...gonePod('a'), state: 'unknown' }] },
    },
    { name: '[A8] of a pod that is known', facts: { pods: [{ ...gonePod('a'), state: 'known' }] } },
    {
      name: '[A8] of a pod whose content is not removable',
      facts: { pods: [{ ...gonePod('a'), contentRemovable: false }] },
    },
    { name: '[A8] of a pod that is listed twice', facts: { pods: [gonePod('a'), gonePod('a')] } },
  ])('keep their newest all the same: $name', ({ facts }) => {
    expect(removed(two, facts)).toEqual(['old']);
  });

  test('[G6, G3] still have to be old enough', () => {
    const settings = { minimumContainerTTLMs: 2 * MINUTE };
    expect(removed(two, { pods: [gonePod('a')] }, settings)).toEqual(['old']);
  });

  test('[G6] containers of other pods are not touched', () => {
    expect(removed([dead('a', 'a', 1), dead('b', 'b', 2)], { pods: [gonePod('a'), pod('b')] })).toEqual([
      'a',
    ]);
  });

  test('[G2, G6, J20] a forced pass takes pods that have stopped for good, and obeys all else', () => {
    const stopped = pod('a', { runtimeRemovable: true });
    const pass = (overrides: Partial<CompleteInventory>, evictNonDeletedPods: boolean) =>
      planPass({
        inventory: inventory({ containers: two, pods: [stopped], ...overrides }),
        policy: policy(),
        evictNonDeletedPods,
        waits: false,
        isForCommand: true,
      }).containers.map(({ item, rule }) => `${item.id} ${rule}`);
    expect(pass({}, false)).toEqual(['old G7']);
    expect(pass({}, true)).toEqual(['old G6', 'new G6']);
    expect(pass({ allSourcesReady: false }, true)).toEqual(['old G7']);
    expect(pass({ pods: [{ ...stopped, state: 'unknown' }] }, true)).toEqual(['old G7']);
    expect(pass({ pods: [pod('a')] }, true)).toEqual(['old G7']);
  });
});
