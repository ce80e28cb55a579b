import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import { planPass } from '../../../../packages/deciders/container-gc/rules/plan.ts';
import type { CompleteInventory, InventorySandbox } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, gonePod, inventory, pod, sandbox } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { MINUTE, NOW, nsAgo } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';

const old = (id: string, minutesOld: number, overrides: Partial<InventorySandbox> = {}) =>
  sandbox(id, { createdAtNs: nsAgo(minutesOld * MINUTE), ...overrides });

const decided = (
  sandboxes: readonly InventorySandbox[],
  overrides: Partial<CompleteInventory> = {},
  settings: Partial<Policy> = {},
) => decide(inventory({ sandboxes: [...sandboxes], ...overrides }), policy(settings));

const removed = (...args: Parameters<typeof decided>): string[] => decided(...args).items.map(({ id }) => id);

const rules = (...args: Parameters<typeof decided>): string[] =>
  ofKind(decided(...args).verdicts, 'sandbox').map(({ action, rule }) => `${action} ${rule}`);

describe('a pod that is not gone', () => {
  const three = [old('2', 2), old('3', 3), old('1', 1)];

  test('[H2, H5] keeps its newest sandbox; older inactive ones go, oldest first', () => {
    expect(removed(three)).toEqual(['3', '2']);
    expect(rules(three)).toEqual(['remove H2', 'remove H2', 'keep H2']);
  });

  test('[H2] keeps only the newest also when that one is active', () => {
    expect(removed([old('2', 2), old('ready', 1, { state: 'ready' })])).toEqual(['2']);
  });

  test('[H2, H3] keeps an older one that is ready', () => {
    expect(rules([old('ready', 2, { state: 'ready' }), old('1', 1)])).toEqual(['keep H1', 'keep H2']);
  });

  test('[H4, A8] an unknown pod keeps its newest too, before the pod sources have delivered as after', () => {
    for (const allSourcesReady of [true, false])
      expect(removed(three, { pods: [], allSourcesReady })).toEqual(['3', '2']);
  });

  test('[H7] a lone sandbox stays: it may be just being created', () => {
    expect(removed([old('1', 600)])).toEqual([]);
  });

  test('[H5] sandboxes of one instant go by id, not by listing order', () => {
    const same = [old('c', 1), old('a', 1), old('b', 1)];
    expect(removed(same)).toEqual(['a', 'b']);
    expect(removed(same.toReversed())).toEqual(['a', 'b']);
  });

  test('[H4] there is no minimum age and no count', () => {
    const settings = { minimumContainerTTLMs: 60 * MINUTE, maximumDeadContainersPerContainer: 9 };
    expect(removed([old('2', 0.2), old('1', 0.1)], {}, settings)).toEqual(['2']);
  });

  test('[H2] one created in the future makes no other one old, and is told', () => {
    const { items, notBelieved } = decided([old('future', -60), old('1', 1)]);
    expect(items).toEqual([]);
    expect(notBelieved).toMatchObject([{ rule: 'G3' }]);
  });
});

describe('a pod that is gone', () => {
  const gone = { pods: [gonePod('pod-1')] };

  test('[H2, H5] keeps no inactive sandbox', () => {
    expect(removed([old('1', 1), old('2', 2)], gone)).toEqual(['2', '1']);
  });

  test('[H3, K2] keeps a ready sandbox', () => {
    expect(rules([old('1', 1, { state: 'ready' }), old('2', 2)], gone)).toEqual(['keep H1', 'remove H2']);
  });

  test('[K1] keeps its newest until every pod source has delivered', () => {
    expect(removed([old('1', 1), old('2', 2)], { ...gone, allSourcesReady: false })).toEqual(['2']);
  });

  test('[H7] keeps a sandbox that was created after the inventory was taken', () => {
    expect(rules([old('future', -1), old('1', 0)], gone)).toEqual(['keep H7', 'remove H2']);
  });

  test('[H2] other pods are not touched', () => {
    const other = { podUid: 'pod-2' };
    expect(removed([old('1', 1), old('2', 2, other)], { pods: [gonePod('pod-1'), pod('pod-2')] })).toEqual([
      '1',
    ]);
  });

  test('[G2, H2] a forced pass takes those of pods that have stopped for good', () => {
    const given = inventory({ sandboxes: [old('1', 1)], pods: [pod('pod-1', { runtimeRemovable: true })] });
    const planned = (evictNonDeletedPods: boolean) =>
      planPass({ inventory: given, policy: policy(), evictNonDeletedPods, waits: false, isForCommand: true })
        .sandboxes.length;
    expect([planned(false), planned(true)]).toEqual([0, 1]);
  });
});

describe('a sandbox with containers', () => {
  const gone = { pods: [gonePod('pod-1')] };

  test.each(['created', 'running', 'exited', 'unknown'] as const)(
    '[H1] is active while a container that stays names it, here a %s one',
    (state) => {
      const young = container('c', { sandboxId: '1', state, createdAtNs: nsAgo(0) });
      const settings = { minimumContainerTTLMs: 1 };
      expect(rules([old('1', 1)], { ...gone, containers: [young] }, settings)).toEqual(['keep H1']);
    },
  );

  test('[H1, M41] is active while a container that is not ours names it', () => {
    const containers = [container('c', { sandboxId: '1', pod: null })];
    expect(rules([old('1', 1)], { ...gone, containers })).toEqual(['keep H1']);
  });

  test('[H1] goes after them when they all go in the same command', () => {
    const containers = [container('c1', { sandboxId: '1' }), container('c2', { sandboxId: '1' })];
    const { items } = decided([old('1', 1)], { ...gone, containers });
    expect(items).toEqual([
      { kind: 'container', id: 'c1', rule: 'G6', podGone: true },
      { kind: 'container', id: 'c2', rule: 'G6', podGone: true },
      { kind: 'sandbox', id: '1', rule: 'H2', podGone: true },
    ]);
  });

  test('[H1, M33] stays when one of them is in backoff', () => {
    const backoff = { failures: 1, untilMs: NOW + 1 };
    const containers = [container('c1', { sandboxId: '1' }), container('c2', { sandboxId: '1', backoff })];
    expect(removed([old('1', 1)], { ...gone, containers })).toEqual(['c1']);
  });

  test('[H1, P4] stays when one of them does not fit into the command', () => {
    const containers = Array.from({ length: 51 }, (_, index) =>
      container(`c${index}`, {
        sandboxId: index < 25 ? 'early' : 'late',
        createdAtNs: nsAgo((100 - index) * MINUTE),
      }),
    );
    const sandboxes = [old('early', 1), old('late', 1)];
    expect(rules(sandboxes, { ...gone, containers })).toEqual(['keep P4', 'keep H1']);
    expect(rules(sandboxes, { ...gone, containers: containers.slice(0, 49) })).toEqual([
      'remove H2',
      'keep P4',
    ]);
    expect(rules(sandboxes, { ...gone, containers: containers.slice(0, 48) })).toEqual([
      'remove H2',
      'remove H2',
    ]);
  });
});

describe('a sandbox is kept', () => {
  test.each<{ name: string; given: Partial<InventorySandbox>; rule: string }>([
    { name: '[A12, M41] without the kubelet labels', given: { pod: null }, rule: 'M41' },
    { name: '[A12, M41] with an empty pod UID', given: { podUid: '' }, rule: 'M41' },
    {
      name: '[A5, M41] when labels and metadata name different pods',
      given: { pod: { uid: 'pod-2', name: 'web', namespace: 'default' } },
      rule: 'M41',
    },
    { name: '[M33] in backoff', given: { backoff: { failures: 1, untilMs: NOW + 1 } }, rule: 'M33' },
  ])('$name', ({ given, rule }) => {
    const pods = [gonePod('pod-1'), gonePod('pod-2')];
    expect(rules([sandbox('1', given)], { pods })).toEqual([`keep ${rule}`]);
  });

  test('[C5] that is listed twice', () => {
    const twice = [old('1', 1), old('1', 2)];
    const { verdicts, notBelieved } = decided(twice, { pods: [gonePod('pod-1')] });
    expect(ofKind(verdicts, 'sandbox').map(({ rule }) => rule)).toEqual(['C5', 'C5']);
    expect(notBelieved).toMatchObject([{ rule: 'C5' }]);
  });
});
