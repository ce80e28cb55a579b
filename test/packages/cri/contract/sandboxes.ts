import { expect, test } from 'vitest';
import { expectStopOfUnknown, podNamed, runContainer, type Tried, UNKNOWN_ID } from './node.ts';

export function sandboxContract(tried: () => Tried): void {
  test('one that runs is listed as ready, with labels and metadata', async () => {
    const { runtime, workload } = tried();
    const pod = await podNamed(tried(), 'ready');
    const id = await workload.runSandbox(pod);
    const sandbox = (await runtime.listSandboxes()).find((one) => one.id === id);
    const { name: podName, uid: podUid, namespace: podNamespace, labels } = pod;
    expect(sandbox).toMatchObject({ podName, podUid, podNamespace, attempt: 0, state: 'ready' });
    expect(sandbox?.labels).toMatchObject(labels);
    expect(sandbox?.createdAtNs).toBeGreaterThan(0n);
  });

  test('[M9] one tells the image it runs on, where it runs on one', async () => {
    const { node, runtime, traits, workload } = tried();
    const id = await workload.runSandbox(await podNamed(tried(), 'image'));
    const image = traits.tellsImageOfSandboxes ? node.sandboxImage : '';
    expect(await runtime.sandboxStatus(id)).toEqual({ id, state: 'ready', image });
  });

  test('one that was stopped is not ready, and once removed not found', async () => {
    const { runtime, workload } = tried();
    const id = await workload.runSandbox(await podNamed(tried(), 'stopped'));
    await runtime.stopSandbox(id);
    expect((await runtime.sandboxStatus(id)).state).toBe('notReady');
    expect((await runtime.listSandboxes()).find((one) => one.id === id)?.state).toBe('notReady');
    await runtime.removeSandbox(id);
    await expect(runtime.sandboxStatus(id)).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });
  });

  test('one goes with its containers', async () => {
    const { node, runtime } = tried();
    const { sandboxId, containerId } = await runContainer(tried(), 'whole', await node.pull('whole'));
    await runtime.stopSandbox(sandboxId);
    await runtime.removeSandbox(sandboxId);
    await expect(runtime.containerStatus(containerId)).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });
  });

  test('one that is ready is removed by force', async () => {
    const { node, runtime } = tried();
    const { sandboxId, containerId } = await runContainer(tried(), 'ready-one', await node.pull('ready-one'));
    await runtime.removeSandbox(sandboxId);
    expect((await runtime.listSandboxes()).map(({ id }) => id)).not.toContain(sandboxId);
    expect((await runtime.listContainers()).map(({ id }) => id)).not.toContain(containerId);
  });

  test('[M31] an unknown one is removed without error, and stopped without error or not found', async () => {
    const { runtime } = tried();
    await runtime.removeSandbox(UNKNOWN_ID);
    await expectStopOfUnknown(tried(), runtime.stopSandbox(UNKNOWN_ID));
  });
}
