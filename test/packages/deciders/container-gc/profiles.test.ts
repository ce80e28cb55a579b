import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import { planPass } from '../../../../packages/deciders/container-gc/rules/plan.ts';
import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, gonePod, inventory, pod, sandbox } from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, MINUTE, NOW, nsAgo } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';

const removed = (given: Partial<CompleteInventory>, settings: Partial<Policy> = {}): string[] =>
  decide(inventory(given), policy(settings)).items.map(({ id, rule }) => `${id} ${rule}`);
const aged = (id: string, minutesOld: number, over: Partial<InventoryContainer> = {}) =>
  container(id, { createdAtNs: nsAgo(minutesOld * MINUTE), ...over });
const two = [aged('old', 20), aged('new', 10)];
const oldSandboxes = [
  sandbox('old', { createdAtNs: nsAgo(2 * HOUR) }),
  sandbox('new', { createdAtNs: nsAgo(HOUR) }),
];
const PROFILES = ['fleetgc', 'kubelet'] as const;

describe('on the same inventory the profiles differ', () => {
  test.each<{
    name: string;
    given: Partial<CompleteInventory>;
    settings?: Partial<Policy>;
    kubelet: string[];
    fleetgc: string[];
  }>([
    {
      name: '[M32, G18] a container that was created and never started',
      given: { containers: [aged('created', 2, { state: 'created' })], pods: [gonePod('pod-1')] },
      kubelet: ['created G6'],
      fleetgc: [],
    },
    {
      name: '[M26, G4] a container that ran long and has just ended',
      given: { containers: [aged('ended', 60, { finishedAtNs: nsAgo(MINUTE) })], pods: [gonePod('pod-1')] },
      settings: { minimumContainerTTLMs: 2 * MINUTE },
      kubelet: ['ended G6'],
      fleetgc: [],
    },
    {
      name: '[M28, G17] the last finished init container of a pod that may restart',
      given: {
        containers: [aged('init', 20), aged('older', 30)],
        pods: [pod('pod-1', { initContainers: ['main'] })],
      },
      settings: { maximumDeadContainersPerContainer: 0 },
      kubelet: ['older G7', 'init G7'],
      fleetgc: ['older G7'],
    },
    {
      name: '[M41, A12] containers without the labels of the kubelet, under the limit of their unit',
      given: { containers: two.map((one) => ({ ...one, pod: null })) },
      kubelet: ['old G7'],
      fleetgc: [],
    },
    {
      name: '[M41, A12, A8] the same, with an answer that the empty UID is gone',
      given: { containers: two.map((one) => ({ ...one, pod: null })), pods: [gonePod('')] },
      kubelet: ['old G6', 'new G6'],
      fleetgc: [],
    },
    {
      name: '[M41, A5] a sandbox of a gone pod, without labels',
      given: { sandboxes: [sandbox('s', { pod: null })], pods: [gonePod('pod-1')] },
      kubelet: ['s H2'],
      fleetgc: [],
    },
    {
      name: '[A8, G6] a pod that is deleted and has ended, but is not gone yet',
      given: { containers: two, pods: [pod('pod-1', { contentRemovable: true, runtimeRemovable: true })] },
      kubelet: ['old G6', 'new G6'],
      fleetgc: ['old G7'],
    },
    {
      name: '[A9, G6] a pod that is evicted, with other containers in their grace period',
      given: { containers: two, pods: [pod('pod-1', { contentRemovable: true })] },
      kubelet: ['old G6', 'new G6'],
      fleetgc: ['old G7'],
    },
    {
      name: '[H4, K1] sandboxes of a gone pod, before every source has delivered',
      given: { sandboxes: oldSandboxes, pods: [gonePod('pod-1')], allSourcesReady: false },
      kubelet: ['old H2', 'new H2'],
      fleetgc: ['old H2'],
    },
    {
      name: '[G23] with no limit per container, after a death',
      given: { containers: two, trigger: 'container-died', diedContainerIds: ['new'] },
      settings: { maximumDeadContainersPerContainer: -1 },
      kubelet: ['old G23'],
      fleetgc: [],
    },
    {
      name: '[H4, H7, M34] a sandbox from the future is the newest of its pod, or not believed',
      given: { sandboxes: [sandbox('now'), sandbox('future', { createdAtNs: nsAgo(-MINUTE) })] },
      kubelet: ['now H2'],
      fleetgc: [],
    },
    {
      name: '[G23] a container from the future, after a death of its pod, which is gone',
      given: {
        containers: [aged('future', -1), aged('died', 1)],
        trigger: 'container-died',
        diedContainerIds: ['died'],
        pods: [gonePod('pod-1')],
      },
      kubelet: ['future G23', 'died G23'],
      fleetgc: ['died G23'],
    },
  ])('$name', ({ given, settings, kubelet, fleetgc }) => {
    expect(removed(given, { ...settings, profile: 'kubelet' })).toEqual(kubelet);
    expect(removed(given, { ...settings, profile: 'fleetgc' })).toEqual(fleetgc);
  });

  test('[M33, G14] of a whole pass: the kubelet tries what failed again; a command of ours leaves it out in both', () => {
    const failing = { ...aged('failing', 20), backoff: { failures: 1, untilMs: NOW + 1 } };
    const given = inventory({ containers: [failing], pods: [gonePod('pod-1')] });
    const planned = (profile: Policy['profile'], isForCommand: boolean) =>
      planPass({
        inventory: given,
        policy: policy({ profile }),
        evictNonDeletedPods: false,
        waits: false,
        isForCommand,
      }).containers.length;
    expect([planned('kubelet', false), planned('fleetgc', false)]).toEqual([1, 0]);
    expect([planned('kubelet', true), planned('fleetgc', true)]).toEqual([0, 0]);
  });
});

describe.each(PROFILES)('in profile %s', (profile) => {
  test('[G6, A8] an unknown pod keeps what a gone one loses', () => {
    const pods = [{ ...gonePod('pod-1'), state: 'unknown' as const }];
    expect(removed({ containers: two, sandboxes: [sandbox('s')], pods }, { profile })).toEqual(['old G7']);
  });

  test('[G6, K1] nothing goes as of a gone pod before every source has delivered', () => {
    const given = { containers: two, pods: [gonePod('pod-1')], allSourcesReady: false };
    expect(removed(given, { profile })).toEqual(['old G7']);
  });

  test.each([
    { signal: 'nodefs.available', containers: ['old G6', 'new G6', 's H2'] },
    { signal: 'imagefs.inodesFree', containers: ['old G7'] },
    { signal: 'imageGC', containers: ['old G7'] },
    { signal: 'imageGCAvailable', containers: ['old G7'] },
    { signal: 'something.new', containers: ['old G7'] },
  ])('[G2, G6, H2, J20] a reclaim for bytes by $signal', ({ signal, containers }) => {
    const cause = { ...reclaim().cause, signal };
    const given = {
      containers: two,
      sandboxes: [sandbox('s')],
      pods: [pod('pod-1', { runtimeRemovable: true })],
      reclaim: reclaim({ step: 'containers', cause }),
    };
    expect(removed(given, { profile })).toEqual(containers);
  });

  test('[G2, A8] what goes of a pod that has only ended does not rest on its being gone', () => {
    const cause = { ...reclaim().cause, signal: 'nodefs.available' };
    const pods = [pod('pod-1', { runtimeRemovable: true })];
    const given = inventory({ containers: two, pods, reclaim: reclaim({ step: 'containers', cause }) });
    const known = { podGone: false };
    expect(decide(given, policy({ profile })).items).toMatchObject([known, known]);
    const gone = { podGone: true };
    expect(decide({ ...given, pods: [gonePod('pod-1')] }, policy({ profile })).items).toMatchObject([
      gone,
      gone,
    ]);
  });

  test('[M11] containers and sandboxes of a kept namespace stay, and hold no place of others', () => {
    const other = aged('other', 30, { pod: { uid: 'pod-2', name: 'b', namespace: 'b' } });
    const given = {
      containers: [...two, other],
      sandboxes: [
        sandbox('s'),
        sandbox('t', { podUid: 'pod-2', pod: { uid: 'pod-2', name: 'b', namespace: 'b' } }),
      ],
      pods: [gonePod('pod-1'), gonePod('pod-2')],
    };
    const keep = keepList({ namespaces: ['default'] });
    expect(removed(given, { profile, keep })).toEqual(['other G6', 't H2']);
    const { verdicts } = decide(inventory(given), policy({ profile, keep }));
    expect(ofKind(verdicts, 'container')[0]).toMatchObject({ rule: 'M11', facts: { namespace: 'default' } });
    expect(ofKind(verdicts, 'sandbox')[0]).toMatchObject({ rule: 'M11' });
  });

  test('[M11] a kept namespace of which the node has nothing is noted', () => {
    const keep = keepList({ namespaces: ['default', 'elsewhere'] });
    const { notes } = decide(inventory({ containers: two }), policy({ profile, keep }));
    expect(notes).toEqual([
      { rule: 'M11', message: 'keep.namespaces: nothing on this node is of the namespace elsewhere' },
    ]);
  });

  test('[M30] two running containers of one unit are noted, and stay', () => {
    const twins = [aged('a', 1, { state: 'running' }), aged('b', 2, { state: 'running' })];
    const given = inventory({ containers: [...twins, aged('c', 3, { state: 'running', name: 'side' })] });
    const { notes, items } = decide(given, policy({ profile }));
    expect(items).toEqual([]);
    expect(notes).toEqual([
      { rule: 'M30', message: '2 containers of default/web/main run at the same time: a, b' },
    ]);
  });
});

describe('[M26] the age of an exited container', () => {
  const ended = (over: Partial<InventoryContainer>) =>
    removed(
      { containers: [aged('c', 60, over)], pods: [gonePod('pod-1')] },
      { minimumContainerTTLMs: 5 * MINUTE },
    );

  test.each<{ name: string; over: Partial<InventoryContainer>; goes: boolean }>([
    {
      name: 'counts from its exit: just long enough ago',
      over: { finishedAtNs: nsAgo(5 * MINUTE) },
      goes: true,
    },
    {
      name: 'counts from its exit: a nanosecond short',
      over: { finishedAtNs: nsAgo(5 * MINUTE, 1n) },
      goes: false,
    },
    { name: 'counts from creation where the exit is not told', over: { finishedAtNs: null }, goes: true },
    {
      name: 'counts from creation where the exit is before it',
      over: { finishedAtNs: nsAgo(2 * HOUR) },
      goes: true,
    },
    {
      name: 'has not begun where the exit is in the future',
      over: { finishedAtNs: nsAgo(-MINUTE) },
      goes: false,
    },
    {
      name: 'counts from creation in any other state',
      over: { state: 'unknown', finishedAtNs: nsAgo(MINUTE) },
      goes: true,
    },
  ])('$name', ({ over, goes }) => {
    expect(ended(over)).toEqual(goes ? ['c G6'] : []);
  });
});

describe('[M27] a maximum age of dead containers', () => {
  const settings = { maximumDeadContainerAgeMs: HOUR };
  const ended = (agoMs: number, extraNs = 0n) => aged('c', 600, { finishedAtNs: nsAgo(agoMs, extraNs) });

  test.each<{ name: string; containers: InventoryContainer[]; goes: string[] }>([
    {
      name: 'takes what ended longer ago, though the limit would keep it',
      containers: [ended(HOUR, -1n)],
      goes: ['c M27'],
    },
    { name: 'takes nothing of exactly that age', containers: [ended(HOUR)], goes: [] },
    { name: 'takes nothing that does not say when it ended', containers: [aged('c', 600)], goes: [] },
  ])('$name', ({ containers, goes }) => {
    expect(removed({ containers }, settings)).toEqual(goes);
  });

  test('is off by default', () => {
    expect(removed({ containers: [ended(100 * HOUR)] })).toEqual([]);
  });

  test('spares the last finished init container (M28)', () => {
    const pods = [pod('pod-1', { initContainers: ['main'] })];
    expect(removed({ containers: [ended(2 * HOUR)], pods }, settings)).toEqual([]);
  });
});

describe('[M28] the newest finished container of an init container', () => {
  const settings = { maximumDeadContainers: 0 };
  const inits = [aged('older', 30), aged('newest', 20)];
  const restarting = pod('pod-1', { initContainers: ['main'] });

  test.each<{ name: string; pods: CompleteInventory['pods']; goes: string[] }>([
    { name: 'stays while its pod may restart', pods: [restarting], goes: ['older G7'] },
    {
      name: 'goes with a pod that is gone',
      pods: [{ ...gonePod('pod-1'), initContainers: ['main'] }],
      goes: ['older G6', 'newest G6'],
    },
    {
      name: 'goes when its pod has ended for good',
      pods: [{ ...restarting, runtimeRemovable: true }],
      goes: ['older G7', 'newest G9'],
    },
    {
      name: 'goes when it is no init container',
      pods: [pod('pod-1', { initContainers: ['prepare'] })],
      goes: ['older G7', 'newest G9'],
    },
  ])('$name', ({ pods, goes }) => {
    expect(removed({ containers: inits, pods }, settings)).toEqual(goes);
  });

  test('is the newest that has finished, not a newer one that was only created', () => {
    const created = aged('created', 10, { state: 'created' });
    const given = { containers: [...inits, created], pods: [restarting] };
    expect(removed(given, settings)).toEqual(['older G7', 'created G9']);
  });
});
