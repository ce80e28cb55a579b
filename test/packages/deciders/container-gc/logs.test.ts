import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import type { CompleteInventory, InventoryPod } from '../../../../schemas/events/inventory.ts';
import type { InventoryLogSymlink } from '../../../../schemas/events/pod-log-entries.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import {
  container,
  gonePod,
  inventory,
  logSymlink,
  pod,
  podLogDirectory,
  sandbox,
  uid,
} from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { NOW } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';

type Profile = Policy['profile'];

const decided = (given: Partial<CompleteInventory>, settings: Partial<Policy> = {}) =>
  decide(inventory(given), policy(settings));
const removed = (...args: Parameters<typeof decided>): string[] =>
  decided(...args)
    .items.filter(({ kind }) => kind === 'pod-log-directory' || kind === 'log-symlink')
    .map(({ id }) => id);
const directoryRules = (...args: Parameters<typeof decided>): string[] =>
  ofKind(decided(...args).verdicts, 'pod-log-directory').map(({ action, rule }) => `${action} ${rule}`);
const linkRules = (...args: Parameters<typeof decided>): string[] =>
  ofKind(decided(...args).verdicts, 'log-symlink').map(({ action, rule }) => `${action} ${rule}`);

const UID = uid(1);
const NAME = `default_web_${UID}`;
const GONE = { podLogDirectories: [podLogDirectory(NAME)], pods: [gonePod(UID)] };
const ofPod = { pod: { uid: UID, name: 'web', namespace: 'default' } };
const PROFILES: readonly Profile[] = ['fleetgc', 'kubelet'];

describe.each(PROFILES)('in profile %s the log directory of a pod', (profile) => {
  test('[I3] goes when the content of the pod is removable', () => {
    expect(removed(GONE, { profile })).toEqual([NAME]);
    expect(directoryRules(GONE, { profile })).toEqual(['remove I3']);
  });

  test.each([
    { name: '[I1, A7, K1] before every source has delivered', given: { allSourcesReady: false } },
    { name: '[I3, A8] of a pod that is known', given: { pods: [pod(UID)] } },
    {
      name: '[I3, A8] of a pod that has ended and is there',
      given: { pods: [pod(UID, { runtimeRemovable: true })] },
    },
    { name: '[I3, A8] of a pod that nobody told of', given: { pods: [] } },
    { name: '[I3, A8] of a pod told twice', given: { pods: [gonePod(UID), gonePod(UID)] } },
    {
      name: '[I3, A8] of a pod that is unknown',
      given: { pods: [{ ...gonePod(UID), state: 'unknown' as const }] },
    },
  ])('$name stays', ({ given }) => {
    expect(removed({ ...GONE, ...given }, { profile })).toEqual([]);
  });

  test('[I3] of a pod that has ended and is there stays also when eviction forces the pass', () => {
    const cause = { ...reclaim().cause, signal: 'nodefs.available' };
    const forced = {
      reclaim: reclaim({ step: 'containers', cause }),
      pods: [pod(UID, { runtimeRemovable: true })],
    };
    expect(removed({ ...GONE, ...forced }, { profile })).toEqual([]);
  });

  test('[I2] whose UID does not belong to its name stays, and so does one without', () => {
    const odd = [{ ...podLogDirectory(NAME), podUid: uid(2) }, podLogDirectory('default_web_')];
    const pods = [gonePod(UID), gonePod(uid(2)), gonePod('')];
    expect(removed({ podLogDirectories: odd, pods }, { profile })).toEqual([]);
    expect(directoryRules({ podLogDirectories: odd, pods }, { profile })).toEqual(['keep I2', 'keep I2']);
  });

  test('[I3] goes in the order of the listing, though containers and sandboxes of it still exist', () => {
    const names = [`a_a_${UID}`, `b_b_${uid(2)}`, `c_c_${uid(3)}`];
    const given = {
      podLogDirectories: names.map(podLogDirectory),
      pods: [gonePod(uid(3)), gonePod(UID)],
      containers: [container('c', { ...ofPod, logPath: '' })],
      sandboxes: [sandbox('s', { podUid: UID })],
    };
    expect(removed(given, { profile })).toEqual([names[0], names[2]]);
  });

  test('[I1] without a directory that can be read nothing goes, and containers go all the same (G1)', () => {
    const given = { ...GONE, podLogDirectories: null, containers: [container('c', ofPod)] };
    expect(removed(given, { profile })).toEqual([]);
    expect(decided(given, { profile }).items.map(({ id }) => id)).toEqual(['c']);
  });

  test('[M11] of a namespace that is kept stays, and one that does not say its namespace', () => {
    const given = {
      podLogDirectories: [podLogDirectory(NAME), podLogDirectory(UID), podLogDirectory(`x_y_${UID}`)],
      pods: [gonePod(UID)],
    };
    const keep = keepList({ namespaces: ['default'] });
    expect(directoryRules(given, { profile, keep })).toEqual(['keep M11', 'keep M11', 'remove I3']);
  });

  test('[M33] that lately failed waits, and costs no other its place in the command', () => {
    const failing = { ...podLogDirectory(`a_a_${UID}`), backoff: { failures: 1, untilMs: NOW + 1 } };
    const given = { ...GONE, podLogDirectories: [failing, podLogDirectory(NAME)] };
    expect(directoryRules(given, { profile })).toEqual(['keep M33', 'remove I3']);
  });

  test('[P4] a command holds 50, and the rest waits; [P7] at its images a reclaim lets all wait', () => {
    const many = Array.from({ length: 60 }, (_, n) => podLogDirectory(`a_${100 + n}_${UID}`));
    expect(removed({ ...GONE, podLogDirectories: many }, { profile })).toHaveLength(50);
    expect(directoryRules({ ...GONE, podLogDirectories: many }, { profile }).at(-1)).toBe('keep P4');
    expect(directoryRules({ ...GONE, reclaim: reclaim() }, { profile })).toEqual(['keep P7']);
  });
});

test.each<{ name: string; profile: Profile; pods: InventoryPod[]; podGone: boolean }>([
  { name: 'gone', profile: 'fleetgc', pods: [gonePod(UID)], podGone: true },
  { name: 'gone', profile: 'kubelet', pods: [gonePod(UID)], podGone: true },
  {
    name: 'known, deleted and has ended',
    profile: 'kubelet',
    pods: [pod(UID, { contentRemovable: true, runtimeRemovable: true })],
    podGone: false,
  },
])(
  '[I3, A8, K3] the command says of the logs of a pod that is $name ($profile) whether it counted as gone: $podGone',
  ({ profile, pods, podGone }) => {
    expect(decided({ ...GONE, pods }, { profile }).items).toMatchObject([{ id: NAME, podGone }]);
  },
);

describe('the profiles differ', () => {
  test.each<{ name: string; given: Partial<CompleteInventory>; kubelet: string[]; fleetgc: string[] }>([
    ...['lost+found', 'backup_of_logs', `_web_${UID}`, `default__${UID}`, `web_${UID}`, `a_b_c_${UID}`].map(
      (name) => ({
        name: `[I2, M41] no pod's: ${name}`,
        given: { podLogDirectories: [podLogDirectory(name)], pods: [gonePod(podLogDirectory(name).podUid)] },
        kubelet: ['remove I3'],
        fleetgc: ['keep M41'],
      }),
    ),
    ...[UID, UID.replaceAll('-', ''), `default_web_${UID.replaceAll('-', '')}`].map((name) => ({
      name: `[I2] a pod's: ${name}`,
      given: { podLogDirectories: [podLogDirectory(name)], pods: [gonePod(podLogDirectory(name).podUid)] },
      kubelet: ['remove I3'],
      fleetgc: ['remove I3'],
    })),
    {
      name: '[A8, I3] a pod that is deleted and has ended, but is not gone yet',
      given: { ...GONE, pods: [pod(UID, { contentRemovable: true, runtimeRemovable: true })] },
      kubelet: ['remove I3'],
      fleetgc: ['keep I3'],
    },
    {
      name: '[A9, I3] a pod that is evicted, with containers in their grace period',
      given: { ...GONE, pods: [pod(UID, { contentRemovable: true })] },
      kubelet: ['remove I3'],
      fleetgc: ['keep I3'],
    },
    {
      name: '[I3, K2] a pod that is called gone and listed as running',
      given: { ...GONE, containers: [container('c', { ...ofPod, state: 'running' })] },
      kubelet: ['remove I3'],
      fleetgc: ['keep K2'],
    },
  ])('$name', ({ given, kubelet, fleetgc }) => {
    expect(directoryRules(given, { profile: 'kubelet' })).toEqual(kubelet);
    expect(directoryRules(given, { profile: 'fleetgc' })).toEqual(fleetgc);
  });

  const LINK = 'web_default_main-0123456789.log';
  const links = (answer: InventoryLogSymlink['container'], name = LINK) => ({
    logSymlinks: [logSymlink(name, answer)],
  });
  const listed = (state: 'running' | 'exited', id = '0123456789') => ({
    containers: [container(id, { state, logPath: '' })],
  });

  test.each<{ name: string; given: Partial<CompleteInventory>; kubelet: string; fleetgc: string }>([
    {
      name: '[I6] exited',
      given: { ...links('exited'), ...listed('exited') },
      kubelet: 'remove I6',
      fleetgc: 'remove I6',
    },
    {
      name: '[I6, M35] no answer, and no such container',
      given: links('no-answer'),
      kubelet: 'remove I6',
      fleetgc: 'remove M35',
    },
    {
      name: '[I6, M35] no answer for a container that is listed as running',
      given: { ...links('no-answer'), ...listed('running') },
      kubelet: 'remove I6',
      fleetgc: 'keep M35',
    },
    {
      name: '[I6, M35] exited, and listed as running',
      given: { ...links('exited'), ...listed('running') },
      kubelet: 'remove I6',
      fleetgc: 'keep I6',
    },
    {
      name: '[I8, M35] exited, and a prefix of one that runs',
      given: { ...links('exited'), ...listed('running', '0123456789abc') },
      kubelet: 'remove I6',
      fleetgc: 'keep I6',
    },
    { name: '[I6, I7] not exited', given: links('not-exited'), kubelet: 'keep I6', fleetgc: 'keep I6' },
    { name: '[I6] an empty answer', given: links('empty'), kubelet: 'keep I6', fleetgc: 'keep I6' },
    {
      name: '[I5, I6, M35] a name without an id',
      given: links('unreadable', 'notes.log'),
      kubelet: 'remove I6',
      fleetgc: 'keep M35',
    },
    {
      name: '[I8, M35] more than one possible container',
      given: links('unknown'),
      kubelet: 'keep I6',
      fleetgc: 'keep M35',
    },
    {
      name: '[I4] before every source has delivered',
      given: { ...links('no-answer'), allSourcesReady: false },
      kubelet: 'remove I6',
      fleetgc: 'remove M35',
    },
    {
      name: '[I1] with pod logs that cannot be read',
      given: { ...links('no-answer'), podLogDirectories: null },
      kubelet: 'keep I1',
      fleetgc: 'keep I1',
    },
    {
      name: '[I1] with pod logs that the kubelet would not read yet',
      given: { ...links('no-answer'), podLogDirectories: null, allSourcesReady: false },
      kubelet: 'remove I6',
      fleetgc: 'keep I1',
    },
  ])('or not about a dangling symlink: $name', ({ given, kubelet, fleetgc }) => {
    expect(linkRules(given, { profile: 'kubelet' })).toEqual([kubelet]);
    expect(linkRules(given, { profile: 'fleetgc' })).toEqual([fleetgc]);
  });

  test.each(PROFILES)(
    '[G1, G22] the link of a container that goes in the same pass goes with it (%s)',
    (profile) => {
      const given = {
        ...links('exited'),
        containers: [container('0123456789', ofPod)],
        pods: [gonePod(UID)],
      };
      expect(linkRules(given, { profile })).toEqual(['keep G22']);
    },
  );

  test.each(PROFILES)('[M11] a link of a kept namespace stays, and one that does not say (%s)', (profile) => {
    const given = {
      logSymlinks: [logSymlink(LINK), logSymlink('odd-0123456789.log'), logSymlink('a_b_c-0123456789.log')],
    };
    const rules = linkRules(given, { profile, keep: keepList({ namespaces: ['default'] }) });
    expect(rules.map((rule) => rule.split(' ')[0])).toEqual(['keep', 'keep', 'remove']);
  });
});

test('[G1, H1, I3, I4] containers go first, then sandboxes, directories and symlinks', () => {
  const given = {
    ...GONE,
    containers: [container('c', { ...ofPod, sandboxId: 's' })],
    sandboxes: [sandbox('s', { podUid: UID })],
    logSymlinks: [logSymlink('a_b_c-0123456789.log')],
  };
  expect(decided(given).items.map(({ kind }) => kind)).toEqual([
    'container',
    'sandbox',
    'pod-log-directory',
    'log-symlink',
  ]);
});

test.each([
  { containers: 48, logs: 2 },
  { containers: 49, logs: 1 },
  { containers: 50, logs: 0 },
])('[P4] beside $containers containers and a link $logs of the logs go, and the rest waits', (room) => {
  const given = {
    ...GONE,
    containers: Array.from({ length: room.containers }, (_, n) => container(`c${n}`, ofPod)),
    logSymlinks: [logSymlink('a_b_c-0123456789.log')],
  };
  expect(decided(given).items).toHaveLength(50);
  expect(removed(given)).toHaveLength(room.logs);
  const waits = { action: 'keep', rule: 'P4' };
  if (room.logs < 2) expect(ofKind(decided(given).verdicts, 'log-symlink')).toMatchObject([waits]);
});
