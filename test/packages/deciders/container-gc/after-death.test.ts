import { describe, expect, test } from 'vitest';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { gonePod, pod } from '../../../fixtures/inventory.ts';
import { HOUR } from '../../../fixtures/time.ts';
import { dead, decided, removed, rules } from './decided-containers.ts';

describe('right after a container died', () => {
  const died = (...ids: string[]): Partial<CompleteInventory> => ({
    trigger: 'container-died',
    diedContainerIds: ids,
  });
  /** A pass that takes nothing, so that only G23 does. */
  const NO_PASS = { minimumContainerTTLMs: 24 * HOUR };
  const three = [dead('3', 'a', 3), dead('2', 'a', 2), dead('1', 'a', 1)];

  test.each([
    { limit: -1, goes: [] },
    { limit: 0, goes: ['2', '3'] },
    { limit: 1, goes: ['2', '3'] },
    { limit: 2, goes: ['3'] },
    { limit: 3, goes: [] },
  ])(
    '[G23, G24] limit $limit: the newest stay, at least one and all where there is no limit; newest of the rest first',
    ({ limit, goes }) => {
      const settings = { ...NO_PASS, maximumDeadContainersPerContainer: limit };
      expect(removed(three, died('1'), settings)).toEqual(goes);
    },
  );

  test('[G23] the age is not asked', () => {
    expect(rules(three, died('1'), NO_PASS)).toEqual(['remove G23', 'remove G23', 'keep G3']);
  });

  test('[G23] only exited containers of the same pod and name count or go', () => {
    const containers = [
      ...three.slice(1),
      dead('created', 'a', 9, { state: 'created' }),
      dead('unknown', 'a', 9, { state: 'unknown' }),
      dead('other-name', 'a', 9, { name: 'side' }),
      dead('other-name-2', 'a', 8, { name: 'side' }),
      dead('other-pod', 'b', 9),
      dead('other-pod-2', 'b', 8),
    ];
    expect(removed(containers, died('1'), NO_PASS)).toEqual(['2']);
  });

  test('[G23] all exited containers of a gone pod go, of every name', () => {
    const containers = [...three.slice(1), dead('side', 'a', 5, { name: 'side' })];
    expect(removed(containers, { ...died('1'), pods: [gonePod('a')] }, NO_PASS)).toEqual(['1', '2', 'side']);
    const unready = { ...died('1'), pods: [gonePod('a')], allSourcesReady: false };
    expect(removed(containers, unready, NO_PASS)).toEqual(['2']);
  });

  test('[G25] an id that is not listed selects nothing, and is told', () => {
    const { items, notBelieved } = decided(three, died('elsewhere'), NO_PASS);
    expect(items).toEqual([]);
    expect(notBelieved).toMatchObject([{ rule: 'G25' }]);
  });

  test('[G23, M41] a container that is not ours selects nothing', () => {
    const foreign = three.map((one) => ({ ...one, pod: null }));
    expect(removed(foreign, died('1'), NO_PASS)).toEqual([]);
  });

  test('[G23] what a death takes goes before the pass, and is not counted in it', () => {
    const containers = [...three, dead('b1', 'b', 9), dead('b2', 'b', 8)];
    const { items } = decided(containers, died('1'));
    expect(items.map(({ id, rule }) => `${id} ${rule}`)).toEqual(['2 G23', '3 G23', 'b1 G7']);
  });

  test('[A8, K3] a command says of each object whether it goes because its pod is gone', () => {
    const containers = [
      dead('g', 'gone', 9),
      dead('g-died', 'gone', 8),
      dead('a1', 'a', 9),
      dead('a2', 'a', 8),
    ];
    const pods = [gonePod('gone'), pod('a')];
    const podGone = (overrides: Partial<CompleteInventory> = {}) =>
      decided(containers, { pods, ...overrides }).items.map((item) => [
        item.id,
        item.rule,
        'podGone' in item && item.podGone,
      ]);
    expect(podGone()).toEqual([
      ['g', 'G6', true],
      ['g-died', 'G6', true],
      ['a1', 'G7', false],
    ]);
    expect(podGone(died('g-died'))).toEqual([
      ['g-died', 'G23', true],
      ['g', 'G23', true],
      ['a1', 'G7', false],
    ]);
  });

  test('[G23] ids count only when a death is the trigger', () => {
    expect(removed(three, { ...died('1'), trigger: 'interval' }, NO_PASS)).toEqual([]);
  });
});
