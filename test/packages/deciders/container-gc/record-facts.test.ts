import { expect, test } from 'vitest';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import {
  container,
  gonePod,
  logSymlink,
  podLogDirectory,
  sandbox,
  uid,
} from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { HOUR, MINUTE, nsAgo } from '../../../fixtures/time.ts';
import { dead, decided } from './decided-containers.ts';

interface Case {
  readonly name: string;
  readonly containers?: Parameters<typeof decided>[0];
  readonly given?: Partial<CompleteInventory>;
  readonly settings?: Partial<Policy>;
  readonly told: readonly string[];
}

const UID = uid(1);
const directory = podLogDirectory(`default_web_${UID}`);
const unlimited = {
  maximumDeadContainersPerContainer: -1,
  maximumDeadContainers: -1,
  maximumDeadContainerAgeMs: null,
};

test.each<Case>([
  {
    name: '[M27] too old',
    containers: [dead('a', 'p', 90, { state: 'exited', finishedAtNs: dead('a', 'p', 90).createdAtNs })],
    settings: { ...unlimited, maximumDeadContainerAgeMs: HOUR },
    told: ['container remove M27 {"maximumAgeMs":3600000}'],
  },
  {
    name: '[G7] beyond and within the limit of its unit',
    containers: [dead('a', 'p', 90), dead('b', 'p', 80)],
    settings: { ...unlimited, maximumDeadContainersPerContainer: 1 },
    told: ['container remove G7 {"limit":1}', 'container keep G7 {"limit":1}'],
  },
  {
    name: '[G9] beyond the limit of the node, and not where it is just reached',
    containers: [dead('a', 'p', 90), dead('b', 'q', 80)],
    settings: { ...unlimited, maximumDeadContainers: 1 },
    told: ['container remove G9 {"limit":1,"left":2}', 'container keep G7 {"limit":-1}'],
  },
  {
    name: '[G23] right after a death',
    containers: [dead('a', 'p', 90), dead('b', 'p', 80)],
    given: { trigger: 'container-died', diedContainerIds: ['b'] },
    settings: { ...unlimited, maximumDeadContainersPerContainer: 1, minimumContainerTTLMs: 200 * MINUTE },
    told: [
      'container remove G23 {"keep":1}',
      'container keep G3 {"state":"exited","ageMs":4800000,"minimumAgeMs":12000000}',
    ],
  },
  {
    name: '[I3] of a pod that is gone, whose directory goes',
    given: { podLogDirectories: [directory], pods: [gonePod(UID)] },
    told: ['pod-log-directory remove I3 {"podIsRemovable":true}'],
  },
  {
    name: '[I3] of a pod of which nobody knows',
    given: { podLogDirectories: [directory], pods: [] },
    told: ['pod-log-directory keep I3 {"podIsRemovable":false}'],
  },
  {
    name: '[K2] of a pod that is gone and runs',
    containers: [container('a', { state: 'running', pod: { uid: UID, name: 'web', namespace: 'default' } })],
    given: { podLogDirectories: [directory], pods: [gonePod(UID)] },
    told: ['container keep G3 {"state":"running"}', 'pod-log-directory keep K2 {"podIsActive":true}'],
  },
  {
    name: '[I2] whose name says another pod',
    given: { podLogDirectories: [{ ...directory, podUid: uid(2) }] },
    told: [`pod-log-directory keep I2 {"podUid":"${uid(2)}"}`],
  },
  {
    name: '[M41] that is of no pod of the kubelet',
    given: { podLogDirectories: [podLogDirectory('a_b_c')] },
    told: ['pod-log-directory keep M41 {"podUid":"c"}'],
  },
  {
    name: '[M11] of a namespace that is kept',
    given: { podLogDirectories: [directory], pods: [gonePod(UID)] },
    settings: { keep: { ...policy().keep, namespaces: ['default'] } },
    told: ['pod-log-directory keep M11 {"namespace":"default","selectedBy":"I3"}'],
  },
  {
    name: '[C5] listed twice',
    given: { podLogDirectories: [directory, directory], pods: [gonePod(UID)] },
    told: [1, 2].map(() => 'pod-log-directory keep C5 {"listedTwice":true}'),
  },
  {
    name: '[I1] where the logs could not be read',
    given: { podLogDirectories: null, logSymlinks: [logSymlink('web_default_main-abc.log')] },
    told: ['log-symlink keep I1 {"podLogsRead":false}'],
  },
  {
    name: '[C5] a sandbox that is listed twice',
    given: { sandboxes: [sandbox('s'), sandbox('s')] },
    told: [1, 2].map(() => 'sandbox keep C5 {"listedTwice":true}'),
  },
  {
    name: '[M41] a sandbox of no pod',
    given: { sandboxes: [sandbox('s', { pod: null })] },
    told: ['sandbox keep M41 {"kubeletLabels":false}'],
  },
  {
    name: '[H1] a sandbox that is ready',
    given: { sandboxes: [sandbox('s', { state: 'ready' })] },
    told: ['sandbox keep H1 {"state":"ready"}'],
  },
  {
    name: '[H7] a sandbox from the future',
    given: { sandboxes: [sandbox('s', { createdAtNs: nsAgo(-MINUTE) })] },
    told: ['sandbox keep H7 {"createdAfterInventory":true}'],
  },
  {
    name: '[H2] the newest and an older sandbox of a pod',
    given: {
      sandboxes: [sandbox('s', { createdAtNs: nsAgo(2 * HOUR) }), sandbox('t', { createdAtNs: nsAgo(HOUR) })],
    },
    told: ['sandbox remove H2 {"podIsRemovable":false}', 'sandbox keep H2 {"newestOfItsPod":true}'],
  },
])('the record says what is known of what is $name', ({ containers = [], given, settings, told }) => {
  const { verdicts } = decided(containers, given, settings);
  expect(
    verdicts.map(({ kind, action, rule, facts }) => `${kind} ${action} ${rule} ${JSON.stringify(facts)}`),
  ).toEqual(told);
});

test('[M11] of the namespaces on the keep list, those are told that nothing is of', () => {
  const namespaces = ['default', 'boxes', 'dirs', 'links', 'none'];
  const { notes } = decided(
    [dead('a', 'p', 90)],
    {
      sandboxes: [sandbox('s', { pod: { uid: 'pod-1', name: 'web', namespace: 'boxes' } })],
      podLogDirectories: [podLogDirectory(`dirs_web_${UID}`)],
      logSymlinks: [logSymlink('web_links_main-abc.log')],
    },
    { keep: { ...policy().keep, namespaces } },
  );
  expect(notes?.map(({ rule, message }) => `${rule} ${message}`)).toEqual([
    'M11 keep.namespaces: nothing on this node is of the namespace none',
  ]);
});

test.each([
  { name: 'of a pod without a namespace', namespace: '', goes: false },
  { name: 'of another namespace', namespace: 'other', goes: true },
])('[M11] beside a keep list, a container $name', ({ namespace, goes }) => {
  const one = dead('a', 'p', 90, { pod: { uid: 'p', name: 'p', namespace } });
  const settings = {
    ...unlimited,
    maximumDeadContainersPerContainer: 0,
    keep: { ...policy().keep, namespaces: ['default'] },
  };
  expect(decided([one], {}, settings).items).toHaveLength(goes ? 1 : 0);
});

test('[G23] after a death each unit keeps its newest, and what is of no pod is of no unit', () => {
  const of = (id: string, uidOfPod: string, minutes: number) => dead(id, uidOfPod, minutes);
  const containers = [of('a', 'p', 90), of('b', 'p', 80), of('c', 'q', 70), of('d', 'q', 60)];
  const settings = {
    ...unlimited,
    maximumDeadContainersPerContainer: 1,
    minimumContainerTTLMs: 200 * MINUTE,
  };
  const died = { trigger: 'container-died', diedContainerIds: ['b', 'd', 'f'] } as const;
  const goes = (profile: Policy['profile'], more: typeof containers = []) =>
    decided(
      [...containers, ...more],
      { ...died, diedContainerIds: [...died.diedContainerIds] },
      { ...settings, profile },
    ).items.map(({ id }) => id);
  expect(goes('fleetgc')).toEqual(['c', 'a']);
  const ofNone = [of('e', '', 50), of('f', '', 40)].map((each) => ({ ...each, pod: null }));
  expect(goes('kubelet', ofNone)).toEqual(['c', 'a']);
});
