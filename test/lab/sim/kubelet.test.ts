import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { simulatedNode } from '../../support/simulated-node.ts';

const POD = { name: 'web', namespace: 'default', containers: { app: 'nginx:1' } };

const states = ({ runtime }: SimulatedNode): string[] =>
  [...runtime.containers.values()].map(({ attempt, state }) => `${attempt} ${state}`);

describe('a pod', () => {
  test('runs with the labels and log files of a kubelet [G22]', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    const [container] = node.runtime.containers.values();
    expect(container?.labels).toEqual({
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': uid,
      'io.kubernetes.container.name': 'app',
    });
    expect(container?.logFile).toBe(join(node.podLogsDir, `default_web_${uid}`, 'app', '0.log'));
    const [link = ''] = readdirSync(node.containerLogsDir);
    expect(link).toBe(`web_default_app-${container?.id}.log`);
    expect(readlinkSync(join(node.containerLogsDir, link))).toBe(container?.logFile);
    expect(lstatSync(container?.logFile ?? '').isFile()).toBe(true);
  });

  test('that is cleaned up leaves no logs behind, and no symlink to them', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    await node.kubelet.startPod({ ...POD, name: 'other' });
    await node.kubelet.cleanUpPod(uid);
    expect(readdirSync(node.containerLogsDir)).toEqual([expect.stringMatching(/^other_default_app-/)]);
    expect(readdirSync(node.podLogsDir)).toEqual([expect.stringMatching(/^default_other_/)]);
  });

  test('that crashed is restarted with the next attempt', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    expect(node.kubelet.hasStopped(uid)).toBe(false);
    node.kubelet.crashPod(uid);
    expect(node.kubelet.hasStopped(uid)).toBe(true);
    await node.kubelet.restartContainers(uid);
    expect(states(node)).toEqual(['0 exited', '1 running']);
    expect(node.runtime.sandboxes.size).toBe(1);
  });

  test('whose sandbox stopped gets another', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    for (const id of node.runtime.sandboxes.keys()) node.runtime.stopSandbox(id);
    await node.kubelet.restartContainers(uid);
    const sandboxes = [...node.runtime.sandboxes.values()];
    expect(sandboxes.map(({ metadata, state }) => [metadata.attempt, state])).toEqual([
      [0, 'notReady'],
      [1, 'ready'],
    ]);
  });

  test('that is finished stays known', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    node.kubelet.finishPod(uid);
    expect(states(node)).toEqual(['0 exited']);
    const { pods } = await node.kubelet.list();
    expect(pods).toMatchObject([{ uid, phase: 'Succeeded', finished: true }]);
  });

  test('that is deleted is unknown and leaves its remains', async () => {
    const node = await simulatedNode();
    node.kubelet.deletePod(await node.kubelet.startPod(POD));
    expect((await node.kubelet.list()).pods).toEqual([]);
    expect(states(node)).toEqual(['0 exited']);
    expect([...node.runtime.sandboxes.values()].map(({ state }) => state)).toEqual(['notReady']);
  });

  test('that is only admitted wants its images and has nothing', async () => {
    const node = await simulatedNode();
    node.kubelet.admitPod(POD);
    expect((await node.kubelet.list()).pods).toMatchObject([{ phase: 'Pending', images: ['nginx:1'] }]);
    expect(node.runtime.sandboxes.size).toBe(0);
  });
});

describe('the kubelet', () => {
  test('is another one after a restart', async () => {
    const node = await simulatedNode();
    const before = await node.kubelet.list();
    node.kubelet.restart();
    expect((await node.kubelet.list()).kubeletInstance).not.toBe(before.kubeletInstance);
  });

  test('does not answer when the faults say so', async () => {
    const node = await simulatedNode();
    node.faults.podsUnreadable = true;
    await expect(node.kubelet.list()).rejects.toMatchObject({ code: 'PODS_UNREADABLE' });
  });
});
