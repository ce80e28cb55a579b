import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ListedContainer } from '../../../../packages/cri/listing-types.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { InventoryPodLogDirectory } from '../../../../schemas/events/pod-log-entries.ts';
import type { Removable } from '../../../../services/node/executor/checks.ts';
import {
  isPodLogEntryGone,
  openDirectory,
  type PodLogAccess,
} from '../../../../services/node/executor/pod-logs.ts';
import { Remover } from '../../../../services/node/executor/remove.ts';
import { containerRemoval, logRemoval } from '../../../fixtures/command.ts';
import { gonePod, podLogDirectory } from '../../../fixtures/inventory.ts';
import { listedContainer } from '../../../fixtures/listing.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { AGREEING_KUBELET_POLICY, ofEndedPods } from './support/agreeing-inventory.ts';
import {
  addContainer,
  addSandbox,
  type ExecutorNode,
  executorNode,
  POD_LABELS,
  until,
} from './support/executor-node.ts';
import { fakeRuntime } from './support/fake-runtime.ts';
import { alwaysFresh } from './support/looked.ts';

const NAME = 'default_web_pod-1';
/** What comes of the removal of an entry, where these containers are listed. */
const removing = (object: Removable, where: PodLogAccess, containers: readonly ListedContainer[] = []) =>
  new Remover(
    fakeRuntime(),
    where,
    async () => ({ ok: false, message: 'nobody asks' }),
    async () => undefined,
  ).remove(object, alwaysFresh({ containers }));

const LINK = 'web_default_app-0123456789.log';

/** A node whose own plan takes every entry of the log directories, whatever its name and whatever containers there are. */
function logNode(...listed: readonly InventoryPodLogDirectory[]): ExecutorNode {
  const node = executorNode();
  // Which takes every entry for a pod's.
  node.policy = () => ({ kind: 'enforced', record: AGREEING_KUBELET_POLICY });
  const { takeInventory } = node;
  node.takeInventory = async (reclaim, actions) => {
    const inventory = await takeInventory(reclaim, actions);
    if (inventory.status !== 'complete') return inventory;
    const all = {
      ...inventory,
      pods: [
        ...inventory.pods,
        ...listed.flatMap(({ podUid }) =>
          inventory.pods.some(({ uid }) => uid === podUid) ? [] : [gonePod(podUid)],
        ),
      ],
      podLogDirectories: [...(inventory.podLogDirectories ?? []), ...listed],
    };
    return all.logSymlinks?.length === 0 ? all : { ...all, containers: [], sandboxes: [] };
  };
  return node;
}

/** A node with a log of the pod `pod-1` and a log of another. */
function withLogs(...listed: readonly InventoryPodLogDirectory[]): ExecutorNode {
  const node = logNode(...listed);
  for (const name of [NAME, 'default_other_pod-2']) {
    mkdirSync(join(node.podLogsDir, name, 'app'), { recursive: true });
    writeFileSync(join(node.podLogsDir, name, 'app', '0.log'), 'a line\n');
  }
  return node;
}

const carriedOut = async (node: ExecutorNode, name: string) => {
  await node.start().carryOut(logRemoval([name]));
  return node.outcomes('command-logs')[name];
};

/** A running container is not believed without its sandbox. */
function addWithSandbox(node: ExecutorNode, id: string, state: 'created' | 'running' | 'unknown'): void {
  addContainer(node, id, { state });
  addSandbox(node, 'elsewhere', { podUid: 'pod-9', labels: {} });
}

describe('the log directory of a pod', () => {
  test('[I3, G21] goes with all below it, also a log whose container went without it', async () => {
    const node = withLogs();
    writeFileSync(join(node.podLogsDir, NAME, 'app', '0.log.20260101-000000.gz'), '');
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'removed' });
    expect(readdirSync(node.podLogsDir)).toEqual(['default_other_pod-2']);
    expect(node.runtime.calls).toEqual([]);
  });

  test('[I3] goes also where it is a file', async () => {
    const node = logNode();
    writeFileSync(join(node.podLogsDir, NAME), '');
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'removed' });
    expect(readdirSync(node.podLogsDir)).toEqual([]);
  });

  test('[M31] that is not there any more is success', async () => {
    expect(await carriedOut(logNode(), NAME)).toEqual({ outcome: 'not-found' });
  });

  test('[I3] links in it go as links: what they lead to stays', async () => {
    const node = withLogs();
    const outside = temporaryDirectory();
    writeFileSync(join(outside, 'precious'), '');
    symlinkSync(outside, join(node.podLogsDir, NAME, 'directory'));
    symlinkSync(join(outside, 'precious'), join(node.podLogsDir, NAME, 'app', '1.log'));
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'removed' });
    expect(readdirSync(outside)).toEqual(['precious']);
  });

  test('[I3, K3] that is itself a link is not followed and stays', async () => {
    const node = logNode();
    const outside = temporaryDirectory();
    writeFileSync(join(outside, 'precious'), '');
    symlinkSync(outside, join(node.podLogsDir, NAME));
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'refused', reason: 'unsafe-log-path' });
    expect(readdirSync(outside)).toEqual(['precious']);
    expect(lstatSync(join(node.podLogsDir, NAME)).isSymbolicLink()).toBe(true);
  });

  test.each([
    { name: '.', podUid: '.' },
    { name: '..', podUid: '..' },
    { name: '../pods', podUid: '../pods' },
    { name: `${NAME}/app`, podUid: 'pod-1/app' },
    { name: '/', podUid: '/' },
    { name: `${NAME}\0`, podUid: 'pod-1\0' },
    { name: NAME, podUid: 'pod-2' },
  ])('[I3] by the name $name and the UID $podUid nothing goes', async ({ name, podUid }) => {
    const node = withLogs({ name, podUid, backoff: null });
    const item = { kind: 'pod-log-directory', id: name, podUid, podGone: true, rule: 'I3' } as const;
    await node.start().carryOut(logRemoval([], { items: [item] }));
    // A directory of that name and another pod's is listed twice, which the node's own plan sees.
    const reason = name === NAME ? 'kept-by-own-plan' : 'unsafe-log-path';
    expect(node.outcomes('command-logs')[name]).toMatchObject({ reason });
    expect(readdirSync(node.podLogsDir)).toEqual(['default_other_pod-2', NAME]);
    expect(readdirSync(join(node.podLogsDir, NAME, 'app'))).toEqual(['0.log']);
  });

  test.each([
    { name: 'its pod is back', podsNow: async () => [{ uid: 'pod-1' }], reason: 'pod-is-back' },
    {
      name: 'the kubelet is silent',
      podsNow: () => Promise.reject(new FleetGcError('PODS_UNREADABLE', 'connection refused')),
      reason: 'pods-unknown',
    },
    { name: 'there is nobody to ask', podsNow: null, reason: 'pods-unknown' },
  ])('[I3, A8, K3] stays when $name', async ({ podsNow, reason }) => {
    const node = withLogs();
    node.podsNow = podsNow;
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'refused', reason });
    expect(existsSync(join(node.podLogsDir, NAME, 'app', '0.log'))).toBe(true);
  });

  test.each([
    { name: 'the kubelet knows it', podsNow: async () => [{ uid: 'pod-1' }] },
    { name: 'there is nobody to ask', podsNow: null },
  ])('[I3, A8] of a pod that did not count as gone goes also where $name', async ({ podsNow }) => {
    const node = withLogs();
    node.podsNow = podsNow;
    node.takeInventory = ofEndedPods(node.takeInventory);
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'removed' });
  });

  test.each([
    {
      name: 'a container of the pod runs',
      add: (n: ExecutorNode) => addWithSandbox(n, 'c', 'running'),
      reason: 'running',
    },
    {
      name: 'a sandbox of the pod is ready',
      add: (n: ExecutorNode) => addSandbox(n, 's', { state: 'ready', labels: POD_LABELS }),
      reason: 'ready',
    },
    {
      name: 'a sandbox says so by its metadata alone',
      add: (n: ExecutorNode) => addSandbox(n, 's', { state: 'ready', podUid: 'pod-1', labels: {} }),
      reason: 'ready',
    },
  ])('[I3, K2, K3] stays when $name, whether the pod counted as gone or not', async ({ add, reason }) => {
    for (const pods of [ofEndedPods, (take: ExecutorNode['takeInventory']) => take]) {
      const node = withLogs();
      node.takeInventory = pods(node.takeInventory);
      add(node);
      const outcome = await carriedOut(node, NAME);
      expect(outcome).toMatchObject({ outcome: 'refused', reason });
      expect(existsSync(join(node.podLogsDir, NAME, 'app', '0.log'))).toBe(true);
    }
  });

  test('[I3] of another pod than its name says stays, whoever says so', async () => {
    const node = withLogs();
    const roots = { ...node, openDirectory };
    expect(await removing({ kind: 'pod-log-directory', name: NAME, podUid: 'pod-2' }, roots)).toMatchObject({
      outcome: 'refused',
      reason: 'unsafe-log-path',
    });
    expect(readdirSync(node.podLogsDir)).toEqual(['default_other_pod-2', NAME]);
  });

  test('[I3, A8, M5] stays when its pod is back and the command names another pod that never was', async () => {
    const node = withLogs();
    node.podsNow = async () => [{ uid: 'pod-1' }];
    const item = {
      kind: 'pod-log-directory',
      id: NAME,
      podUid: 'pod-3',
      podGone: false,
      rule: 'I3',
    } as const;
    await node.start().carryOut(logRemoval([], { items: [item] }));
    expect(node.outcomes('command-logs')[NAME]).toMatchObject({ reason: 'pod-is-back' });
    expect(readdirSync(node.podLogsDir)).toEqual(['default_other_pod-2', NAME]);
  });

  test('[I3] a root that is a link, as on nodes with a data disk, is followed', async () => {
    const node = withLogs();
    renameSync(node.podLogsDir, `${node.podLogsDir}-elsewhere`);
    symlinkSync(`${node.podLogsDir}-elsewhere`, node.podLogsDir);
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'removed' });
  });

  test('[I3] without a root that can be read, the removal has failed', async () => {
    const node = logNode(podLogDirectory(NAME));
    rmSync(node.podLogsDir, { recursive: true });
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome: 'failed', reason: 'log-removal-failed' });
  });

  test.each([
    { depth: 16, outcome: 'removed' },
    { depth: 17, outcome: 'failed' },
  ])('[I3] with $depth directories in each other: $outcome', async ({ depth, outcome }) => {
    const node = logNode();
    mkdirSync(join(node.podLogsDir, NAME, ...Array(depth - 1).fill('d')), { recursive: true });
    expect(await carriedOut(node, NAME)).toMatchObject({ outcome });
  });
});

describe('a flat symlink', () => {
  function withLink(target = 'gone'): ExecutorNode {
    const node = logNode();
    symlinkSync(join(node.podLogsDir, target), join(node.containerLogsDir, LINK));
    return node;
  }
  const links = (node: ExecutorNode) => readdirSync(node.containerLogsDir);

  test('[I4, I6] without a target and a container goes', async () => {
    const node = withLink();
    expect(await carriedOut(node, LINK)).toMatchObject({ outcome: 'removed' });
    expect(links(node)).toEqual([]);
  });

  test('[I6] of an exited container goes', async () => {
    const node = withLink();
    addContainer(node, '0123456789');
    expect(await carriedOut(node, LINK)).toMatchObject({ outcome: 'removed' });
  });

  test('[I4, K3] whose target is there again stays', async () => {
    const node = withLink('again');
    writeFileSync(join(node.podLogsDir, 'again'), '');
    expect(await carriedOut(node, LINK)).toMatchObject({ outcome: 'refused', reason: 'target-exists' });
    expect(links(node)).toEqual([LINK]);
  });

  test.each([
    { state: 'running', reason: 'running' },
    { state: 'created', reason: 'in-use' },
    { state: 'unknown', reason: 'in-use' },
  ] as const)('[I6, I7, K3] of a container that is $state by now stays', async ({ state, reason }) => {
    const node = withLink();
    addWithSandbox(node, '0123456789', state);
    expect(await carriedOut(node, LINK)).toMatchObject({ outcome: 'refused', reason });
    expect(links(node)).toEqual([LINK]);
  });

  test('[I8] a shortened id that can mean a running container keeps it', async () => {
    const node = withLink();
    addContainer(node, '0123456789aa');
    addWithSandbox(node, '0123456789bb', 'running');
    expect(await carriedOut(node, LINK)).toMatchObject({ outcome: 'refused', reason: 'running' });
  });

  test('[I4] a file of that name is none, and stays', async () => {
    const node = logNode();
    writeFileSync(join(node.containerLogsDir, LINK), 'a line\n');
    expect(await carriedOut(node, LINK)).toMatchObject({ outcome: 'refused', reason: 'unsafe-log-path' });
    expect(links(node)).toEqual([LINK]);
  });

  test('[I4] whose target cannot be looked for stays, and the result names it', async () => {
    const node = logNode();
    symlinkSync(LINK, join(node.containerLogsDir, LINK));
    const message = expect.stringContaining(`'${join(node.containerLogsDir, LINK)}'`);
    expect(await carriedOut(node, LINK)).toMatchObject({
      outcome: 'failed',
      reason: 'log-removal-failed',
      message,
    });
    expect(links(node)).toEqual([LINK]);
  });

  test.each(['../secret.log', 'a/b.log', '..log'])(
    '[I4] by the name %s nothing outside goes',
    async (name) => {
      const node = withLink();
      symlinkSync('nowhere', join(node.containerLogsDir, '..', 'secret.log'));
      expect((await carriedOut(node, name))?.outcome).toMatch(/refused|not-found/);
      expect(lstatSync(join(node.containerLogsDir, '..', 'secret.log')).isSymbolicLink()).toBe(true);
    },
  );
});

describe('a command for logs', () => {
  test('[M33] an entry that is refused for good is left alone for a while', async () => {
    const node = logNode();
    symlinkSync('/', join(node.podLogsDir, NAME));
    const executor = node.start();
    await executor.carryOut(logRemoval([NAME]));
    await executor.carryOut(logRemoval([NAME], { id: 'again' }));
    expect(node.outcomes('again')[NAME]).toMatchObject({ outcome: 'refused', reason: 'backing-off' });
  });

  test('that an earlier process had in hand: what is gone counts as removed', async () => {
    const node = withLogs();
    const first = node.start();
    node.beforePublish = () => {
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
    };
    await first.receive(logRemoval([NAME, 'default_other_pod-2']));
    await until('the first directory to go', () =>
      existsSync(join(node.podLogsDir, NAME)) ? undefined : true,
    );
    first.kill();
    node.beforePublish = () => undefined;
    node.start();
    await until('the end of the command', () => node.result('command-logs'));
    expect(node.outcomes('command-logs')).toMatchObject({
      [NAME]: { outcome: 'removed' },
      'default_other_pod-2': { outcome: 'removed' },
    });
  });

  test('[G1, J14] beside containers: what follows for the reclaim follows the logs', async () => {
    const node = withLogs();
    addContainer(node, 'dead');
    node.runtime.otherBytes = 100n;
    const target = { ...reclaim().target, atLeast: '999999999' };
    const command = containerRemoval(['dead'], { reclaim: reclaim({ step: 'containers', target }) });
    const { items } = logRemoval([NAME]);
    await node.start().carryOut({ ...command, items: [...command.items, ...items] });
    const next = () => node.published.find(({ type }) => type === 'fleetgc.node.reclaim-continues');
    await until('that the reclaim goes on', next);
    const told = node.published.map((event) =>
      event.type === 'fleetgc.node.object-result' ? event.object.kind : event.type,
    );
    expect(told).toEqual([
      'container',
      'pod-log-directory',
      'fleetgc.node.command-result',
      'fleetgc.node.reclaim-continues',
    ]);
  });
});

describe('by itself, without a plan', () => {
  function roots() {
    const base = temporaryDirectory();
    const found = {
      podLogsDir: join(base, 'pods'),
      containerLogsDir: join(base, 'containers'),
      openDirectory,
    };
    mkdirSync(found.podLogsDir);
    mkdirSync(found.containerLogsDir);
    return found;
  }

  const unsafe = (name: string) => ({
    outcome: 'refused',
    reason: 'unsafe-log-path',
    message: `${name} is not what is to be removed there`,
  });
  const removeDirectory = (where: ReturnType<typeof roots>, name = NAME, podUid = 'pod-1') =>
    removing({ kind: 'pod-log-directory', name, podUid }, where);

  test('[I3] a directory goes with all below it, and alone', async () => {
    const there = roots();
    for (const name of [NAME, 'default_other_pod-2']) {
      mkdirSync(join(there.podLogsDir, name, 'app'), { recursive: true });
      writeFileSync(join(there.podLogsDir, name, 'app', '0.log'), '');
    }
    expect(await removeDirectory(there)).toEqual({ outcome: 'removed' });
    expect(readdirSync(there.podLogsDir)).toEqual(['default_other_pod-2']);
    expect(readdirSync(join(there.podLogsDir, 'default_other_pod-2'))).toEqual(['app']);
    expect(await removeDirectory(there)).toEqual({ outcome: 'not-found' });
  });

  test.each([15, 16])(
    '[I3] a directory with %i below each other goes, if they are not more than 16',
    async (below) => {
      const there = roots();
      mkdirSync(join(there.podLogsDir, NAME, ...Array(below).fill('d')), { recursive: true });
      const attempted = await removeDirectory(there);
      expect(attempted).toMatchObject(
        below === 15 ? { outcome: 'removed' } : { outcome: 'failed', reason: 'log-removal-failed' },
      );
    },
  );

  test('[I3, K3] a link goes by no name of a directory, nor does another pod, nor what is beside', async () => {
    const there = roots();
    mkdirSync(join(there.podLogsDir, NAME));
    symlinkSync(NAME, join(there.podLogsDir, 'default_sly_pod-3'));
    expect(await removeDirectory(there, 'default_sly_pod-3', 'pod-3')).toEqual(unsafe('default_sly_pod-3'));
    expect(await removeDirectory(there, NAME, 'pod-2')).toEqual(unsafe(NAME));
    expect(await removeDirectory(there, 'a_b_', '')).toEqual(unsafe('a_b_'));
    for (const name of ['.', '..', '', `../pods/${NAME}`, `${NAME}\0`])
      expect(await removeDirectory(there, name, name)).toEqual(unsafe(name));
    expect(readdirSync(there.podLogsDir)).toEqual(['default_sly_pod-3', NAME]);
  });

  const removeLink = (
    where: ReturnType<typeof roots>,
    name = LINK,
    containers: readonly ListedContainer[] = [],
  ) => removing({ kind: 'log-symlink', name }, where, containers);

  test('[I4, I6] a symlink goes that leads to nothing, and of which every container has exited', async () => {
    const there = roots();
    symlinkSync('/nowhere/0.log', join(there.containerLogsDir, LINK));
    const containers = [listedContainer('0123456789', { state: 'exited' })];
    expect(await removeLink(there, LINK, containers)).toEqual({ outcome: 'removed' });
    expect(await removeLink(there, LINK, containers)).toEqual({ outcome: 'not-found' });
  });

  test.each([
    { state: 'running', reason: 'running' },
    { state: 'created', reason: 'in-use' },
    { state: 'unknown', reason: 'in-use' },
  ] as const)('[I6, I7] a symlink of a container that is $state stays', async ({ state, reason }) => {
    const there = roots();
    symlinkSync('/nowhere/0.log', join(there.containerLogsDir, LINK));
    const containers = [
      listedContainer('another', { state: 'running' }),
      listedContainer('0123456789aa', { state: 'exited' }),
      listedContainer('0123456789ab', { state }),
    ];
    expect(await removeLink(there, LINK, containers)).toEqual({
      outcome: 'refused',
      reason,
      message: `the container 0123456789ab is ${state} and may write its log yet`,
    });
    expect(readdirSync(there.containerLogsDir)).toEqual([LINK]);
  });

  test('[I4] a symlink stays that leads to something, and so does a file, and a name of another kind', async () => {
    const there = roots();
    writeFileSync(join(there.podLogsDir, '0.log'), '');
    symlinkSync(join(there.podLogsDir, '0.log'), join(there.containerLogsDir, LINK));
    writeFileSync(join(there.containerLogsDir, 'file.log'), '');
    symlinkSync('/nowhere', join(there.containerLogsDir, 'link'));
    expect(await removeLink(there)).toEqual({
      outcome: 'refused',
      reason: 'target-exists',
      message: 'the log that it leads to is there',
    });
    for (const name of ['file.log', 'link', '../x.log'])
      expect(await removeLink(there, name)).toEqual(unsafe(name));
    expect(readdirSync(there.containerLogsDir)).toEqual(['file.log', 'link', LINK]);
  });

  test('[M31] nothing is gone that is no name of an entry', async () => {
    const there = roots();
    const away = { ...there, podLogsDir: '/nowhere/pods' };
    for (const name of ['.', '..', '', 'a/b'])
      expect(await isPodLogEntryGone('pod-log-directory', name, away)).toBe(false);
  });

  test('[I4] a dangling symlink goes whose name tells no container, whatever runs', async () => {
    const there = roots();
    const { containerLogsDir } = there;
    symlinkSync('/nowhere/0.log', join(containerLogsDir, 'x.log'));
    const containers = [listedContainer('c', { state: 'running' })];
    expect(await removeLink(there, 'x.log', containers)).toEqual({ outcome: 'removed' });
    expect(readdirSync(containerLogsDir)).toEqual([]);
  });

  test('[M31] an entry is gone that its own directory lacks, or whose directory is not there', async () => {
    const there = roots();
    writeFileSync(join(there.podLogsDir, NAME), '');
    const seen = (name: string, where = there) =>
      Promise.all([
        isPodLogEntryGone('pod-log-directory', name, where),
        isPodLogEntryGone('log-symlink', name, where),
      ]);
    expect(await seen(NAME)).toEqual([false, true]);
    const away = { ...there, podLogsDir: '/nowhere/pods', containerLogsDir: '/nowhere/containers' };
    expect(await seen(NAME, away)).toEqual([true, true]);
  });

  test('nobody knows whether it is gone while its directory cannot be read', async () => {
    const unreadable = { ...roots(), openDirectory: () => Promise.reject(new Error('EIO')) };
    expect(await isPodLogEntryGone('pod-log-directory', NAME, unreadable)).toBeNull();
  });
});
