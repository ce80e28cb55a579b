import { describe, expect, test } from 'vitest';
import type { InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { gonePod, pod } from '../../../fixtures/inventory.ts';
import { HOUR, MINUTE, NOW } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';
import { dead, decided, KEEP_NONE, removed, rules } from './decided-containers.ts';

describe('the limit per unit', () => {
  const three = [dead('2', 'a', 2), dead('3', 'a', 3), dead('1', 'a', 1)];

  test.each([
    { limit: -1, goes: [] },
    { limit: 0, goes: ['3', '2', '1'] },
    { limit: 1, goes: ['3', '2'] },
    { limit: 2, goes: ['3'] },
    { limit: 3, goes: [] },
    { limit: 4, goes: [] },
  ])('[G7, G13] $limit: the newest stay, the oldest go first', ({ limit, goes }) => {
    expect(removed(three, {}, { maximumDeadContainersPerContainer: limit })).toEqual(goes);
  });

  test('[G5] units are pod UID and name; running containers count nowhere', () => {
    const containers = [
      dead('a-main', 'a', 1),
      dead('a-side', 'a', 2, { name: 'side' }),
      dead('b-main', 'b', 3),
      dead('a-running', 'a', 0, { state: 'running' }),
    ];
    expect(removed(containers)).toEqual([]);
  });

  test('[G5] a pod and a name that only look alike when joined are different units', () => {
    expect(removed([dead('1', 'a', 1, { name: 'b-c' }), dead('2', 'a-b', 2, { name: 'c' })])).toEqual([]);
  });

  test('[G5, G3] a container that is too young does not take a place among the newest', () => {
    const settings = { minimumContainerTTLMs: MINUTE };
    expect(removed([dead('young', 'a', 0.5), dead('old', 'a', 2)], {}, settings)).toEqual([]);
    expect(removed([dead('young', 'a', 1), dead('old', 'a', 2)], {}, settings)).toEqual(['old']);
  });

  test('[G7, K1] holds before the pod sources have delivered', () => {
    expect(removed(three, { allSourcesReady: false })).toEqual(['3', '2']);
  });

  test('[G13] containers of one instant go by id, not by listing order', () => {
    const same = ['c', 'a', 'b'].map((id) => dead(id, 'a', 1));
    expect(removed(same)).toEqual(['a', 'b']);
    expect(removed(same.toReversed())).toEqual(['a', 'b']);
  });

  test('[G17] a finished init container is an ordinary unit', () => {
    expect(
      removed([dead('init-2', 'a', 1, { name: 'init' }), dead('init-1', 'a', 2, { name: 'init' })]),
    ).toEqual(['init-1']);
  });

  test('[G4] age runs from creation, so a container that ran long may go at once', () => {
    expect(removed([dead('a', 'a', 600)], {}, { ...KEEP_NONE, minimumContainerTTLMs: HOUR })).toEqual(['a']);
  });
});

describe('the limit of the node', () => {
  /** Two dead containers in each of so many units; `a1` is the oldest of all, `a2` next, `b1` after it. */
  const pairs = (...uids: string[]) =>
    uids.flatMap((uid, index) => [
      dead(`${uid}1`, uid, 100 - 10 * index),
      dead(`${uid}2`, uid, 99 - 10 * index),
    ]);
  const limited = (maximumDeadContainers: number, perContainer = -1) => ({
    maximumDeadContainers,
    maximumDeadContainersPerContainer: perContainer,
  });

  test.each<{ name: string; containers: InventoryContainer[]; settings: Partial<Policy>; goes: string[] }>([
    { name: '[G8] negative is none', containers: pairs('a', 'b'), settings: limited(-1), goes: [] },
    { name: '[G8] nothing at the limit', containers: pairs('a', 'b'), settings: limited(4), goes: [] },
    {
      name: '[G8] one over: each unit keeps an equal share',
      containers: pairs('a', 'b'),
      settings: limited(3),
      goes: ['a1', 'b1'],
    },
    {
      name: '[G10] the share is not topped up: 10 in 5 units with limit 6 leaves 5',
      containers: pairs('a', 'b', 'c', 'd', 'e'),
      settings: limited(6),
      goes: ['a1', 'b1', 'c1', 'd1', 'e1'],
    },
    {
      name: '[G8, G9] the share is at least one, and then the oldest of all go',
      containers: pairs('a', 'b', 'c'),
      settings: limited(2),
      goes: ['a1', 'b1', 'c1', 'a2'],
    },
    {
      name: '[G12] 0 takes every evictable container, whatever the limit per unit',
      containers: pairs('a', 'b'),
      settings: limited(0, 5),
      goes: ['a1', 'b1', 'a2', 'b2'],
    },
    {
      name: '[G7, G8] what G7 took is not counted',
      containers: pairs('a', 'b'),
      settings: limited(2, 1),
      goes: ['a1', 'b1'],
    },
    {
      name: '[G8] a larger limit gives a larger share: 7 in 2 units with limit 5',
      containers: [...pairs('a'), ...[9, 8, 7, 6, 5].map((minutes) => dead(`b${minutes}`, 'b', minutes))],
      settings: limited(5),
      goes: ['b9', 'b8', 'b7'],
    },
  ])('$name', ({ containers, settings, goes }) => {
    expect(removed(containers, {}, settings)).toEqual(goes);
  });

  test('[G11, G12] after a unit limit of 0 a node limit of 0 finds nothing left to share', () => {
    expect(removed(pairs('a', 'b'), {}, limited(0, 0))).toEqual(['a1', 'a2', 'b1', 'b2']);
  });

  test('[G6, G8] units of gone pods take no share', () => {
    const containers = [...pairs('a', 'b'), dead('b3', 'b', 80)];
    expect(removed(containers, { pods: [gonePod('a'), pod('b')] }, limited(2))).toEqual(['a1', 'a2', 'b1']);
  });

  test('[G9] each object names the rule that took it', () => {
    expect(rules(pairs('a', 'b', 'c'), {}, limited(2))).toEqual([
      'remove G8',
      'remove G9',
      'remove G8',
      'keep G7',
      'remove G8',
      'keep G7',
    ]);
  });
});

describe('what is selected and does not go', () => {
  test('[G14, M33] in backoff counts as done, so it costs no other container its place', () => {
    const failing = dead('oldest', 'a', 3, { backoff: { failures: 2, untilMs: NOW + 1 } });
    const containers = [failing, dead('old', 'a', 2), dead('new', 'a', 1)];
    expect(removed(containers)).toEqual(['old']);
    const settings = { maximumDeadContainersPerContainer: -1, maximumDeadContainers: 2 };
    expect(removed(containers, {}, settings)).toEqual([]);
  });

  test('[M33] the record names the rule that would have taken it', () => {
    const failing = dead('old', 'a', 2, { backoff: { failures: 2, untilMs: NOW + 1 } });
    expect(ofKind(decided([failing, dead('new', 'a', 1)]).verdicts, 'container')[0]).toEqual({
      kind: 'container',
      position: 0,
      action: 'keep',
      rule: 'M33',
      facts: { failures: 2, untilMs: NOW + 1, selectedBy: 'G7' },
    });
  });

  test('[C5] an id that is listed twice: both entries stay, and no other pays for it', () => {
    const containers = [
      dead('twice', 'a', 3),
      dead('twice', 'a', 1, { state: 'running' }),
      dead('old', 'a', 2),
    ];
    const { items, verdicts, notBelieved } = decided(containers);
    expect(items).toEqual([]);
    expect(ofKind(verdicts, 'container').map(({ rule }) => rule)).toEqual(['C5', 'C5', 'C5']);
    expect(notBelieved.map(({ rule }) => rule)).toEqual(['C5']);
  });

  test('[C5, G7, G23] of a pod and name of which one is listed twice nothing goes, since it cannot be counted', () => {
    const given = { trigger: 'container-died' as const, diedContainerIds: ['died'] };
    const settings = { minimumContainerTTLMs: MINUTE, minimumCreatedContainerAgeMs: 0 };
    const containers = [
      dead('newest', 'a', 0.5),
      dead('died', 'a', 2),
      dead('created', 'a', 3, { state: 'created', finishedAtNs: null }),
      dead('other', 'b', 2),
      dead('of-other', 'b', 3),
    ];
    expect(removed(containers, given, settings)).toEqual(['died', 'of-other']);
    expect(removed([dead('newest', 'a', 0.5), ...containers], given, settings)).toEqual(['of-other']);
  });

  test('[C5, G8, G9] while an id is listed twice the limit of the node is not applied', () => {
    const containers = [dead('a', 'a', 3), dead('b', 'b', 2)];
    const settings = { maximumDeadContainers: 1 };
    expect(removed(containers, {}, settings)).toEqual(['a']);
    expect(removed([...containers, dead('twice', 'c', 1), dead('twice', 'c', 1)], {}, settings)).toEqual([]);
  });

  test('[G3] one created in the future makes no other one old, and is told', () => {
    const { items, notBelieved } = decided([dead('future', 'a', -60), dead('old', 'a', 2)]);
    expect(items).toEqual([]);
    expect(notBelieved).toMatchObject([{ rule: 'G3' }]);
  });

  test('[P4] more than 50: the first 50 in order; the rest is named as waiting', () => {
    const containers = Array.from({ length: 60 }, (_, index) => dead(`c${index}`, 'a', 60 - index));
    const { items, verdicts } = decided(containers);
    expect(items.map(({ id }) => id)).toEqual(containers.slice(0, 50).map(({ id }) => id));
    expect(ofKind(verdicts, 'container').filter(({ rule }) => rule === 'P4')).toHaveLength(9);
  });
});
