import { describe, expect, test } from 'vitest';
import type { CompleteInventory, InventoryContainer } from '../../schemas/inventory.ts';
import type { Policy } from '../../schemas/policy.ts';
import { decide } from '../../services/container-gc/decide.ts';
import { planPass } from '../../services/container-gc/rules/plan.ts';
import { container, gonePod, inventory, pod } from '../fixtures/inventory.ts';
import { policy } from '../fixtures/policy.ts';
import { HOUR, MINUTE, NOW, nsAgo } from '../fixtures/time.ts';

/** A dead container of that unit, so many minutes old. */
const dead = (id: string, uid: string, minutesOld: number, overrides: Partial<InventoryContainer> = {}) =>
  container(id, {
    pod: { uid, name: uid, namespace: 'default' },
    createdAtNs: nsAgo(minutesOld * MINUTE),
    ...overrides,
  });

const decided = (
  containers: readonly InventoryContainer[],
  overrides: Partial<CompleteInventory> = {},
  settings: Partial<Policy> = {},
) =>
  decide(
    inventory({ containers: [...containers], pods: podsOf(containers), ...overrides }),
    policy(settings),
  );

/** All known, and running without init containers. */
const podsOf = (containers: readonly InventoryContainer[]): CompleteInventory['pods'] =>
  [...new Set(containers.flatMap((one) => one.pod?.uid ?? []))].map((uid) => pod(uid));

const removed = (...args: Parameters<typeof decided>): string[] => decided(...args).items.map(({ id }) => id);

const rules = (...args: Parameters<typeof decided>): string[] =>
  decided(...args).verdicts.containers.map(({ action, rule }) => `${action} ${rule}`);

/** No container is protected by being the newest of its unit. */
const KEEP_NONE = { maximumDeadContainersPerContainer: 0 } as const;

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
      name: '[M33] not in back-off',
      given: { backoff: { failures: 1, untilMs: NOW + 1 } },
      goes: false,
      rule: 'M33',
    },
    {
      name: '[M33] when the back-off is over',
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
  test('[G14, M33] in back-off counts as done, so it costs no other container its place', () => {
    const failing = dead('oldest', 'a', 3, { backoff: { failures: 2, untilMs: NOW + 1 } });
    const containers = [failing, dead('old', 'a', 2), dead('new', 'a', 1)];
    expect(removed(containers)).toEqual(['old']);
    const settings = { maximumDeadContainersPerContainer: -1, maximumDeadContainers: 2 };
    expect(removed(containers, {}, settings)).toEqual([]);
  });

  test('[M33] the record names the rule that would have taken it', () => {
    const failing = dead('old', 'a', 2, { backoff: { failures: 2, untilMs: NOW + 1 } });
    expect(decided([failing, dead('new', 'a', 1)]).verdicts.containers[0]).toEqual({
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
    expect(verdicts.containers.map(({ rule }) => rule)).toEqual(['C5', 'C5', 'G7']);
    expect(notBelieved.map(({ rule }) => rule)).toEqual(['C5']);
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
    expect(verdicts.containers.filter(({ rule }) => rule === 'P4')).toHaveLength(9);
  });
});

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
