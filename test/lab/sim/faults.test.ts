import { describe, expect, onTestFinished, test } from 'vitest';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { connectRemover } from '../../../packages/cri/client.ts';
import { patiently } from '../../support/patience.ts';
import { simulatedNode } from '../../support/simulated-node.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** gRPC compares its deadline with the wall clock. */
const PATIENT_MS = patiently(30_000);
const POD = { name: 'web', namespace: 'default', containers: { app: 'nginx:1', side: 'envoy:1' } };

function runtimeOf(node: SimulatedNode) {
  const runtime = connectRemover(node.endpoint, {
    readMs: PATIENT_MS,
    removeImageMs: PATIENT_MS,
    removeMs: PATIENT_MS,
  });
  onTestFinished(() => runtime[Symbol.dispose]());
  return runtime;
}

describe('a simulated runtime', () => {
  test('reports a removal and keeps the image', async () => {
    const node = await simulatedNode();
    const id = await node.runtime.pullImage('nginx:1');
    node.faults.keptImages.add(id);
    await runtimeOf(node).removeImage(id);
    expect((await runtimeOf(node).listImages()).map((image) => image.id)).toContain(id);
  });

  test('refuses to remove what it is told to refuse', async () => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    const runtime = runtimeOf(node);
    const [imageId, containerId, sandboxId] = [
      node.runtime.images,
      node.runtime.containers,
      node.runtime.sandboxes,
    ].map((objects) => [...objects.keys()].at(-1) ?? '');
    for (const id of [imageId, containerId, sandboxId])
      node.faults.refusedRemovals.set(id ?? '', 'device or resource busy');
    for (const removal of [
      runtime.removeImage(imageId ?? ''),
      runtime.removeContainer(containerId ?? ''),
      runtime.removeSandbox(sandboxId ?? ''),
    ])
      await expect(removal).rejects.toMatchObject({
        code: 'RUNTIME_FAILED',
        message: expect.stringContaining('busy'),
      });
    expect([node.runtime.images.size, node.runtime.containers.size, node.runtime.sandboxes.size]).toEqual([
      3, 2, 1,
    ]);
  });

  test('answers half for as many calls as it is told', async () => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    node.faults.onCall('listContainers', { kind: 'half' }, 1);
    expect(await runtimeOf(node).listContainers()).toHaveLength(1);
    expect(await runtimeOf(node).listContainers()).toHaveLength(2);
  });

  test('hangs until it is released, and then goes on', async () => {
    const node = await simulatedNode();
    node.faults.onCall('listImages', { kind: 'hang' });
    const answer = runtimeOf(node).listImages();
    await waitUntil('the call to hang', 2_000, () => node.faults.hanging() === 1);
    node.faults.release();
    expect(await answer).toHaveLength(1);
  });

  test('fails with the message it is told, until all is well again', async () => {
    const node = await simulatedNode();
    node.faults.onCall('listImages', { kind: 'error', message: 'metadata.db is locked' });
    await expect(runtimeOf(node).listImages()).rejects.toThrow('metadata.db is locked');
    node.faults.clear();
    expect(await runtimeOf(node).listImages()).toHaveLength(1);
  });

  test('changes once, right after a call was answered', async () => {
    const node = await simulatedNode();
    await node.runtime.pullImage('nginx:1');
    node.faults.afterCall('listImages', () => node.runtime.removeImage('nginx:1'));
    expect(await runtimeOf(node).listImages()).toHaveLength(2);
    expect(await runtimeOf(node).listImages()).toHaveLength(1);
  });

  test('dies and comes back with what it held', async () => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    await node.die();
    await node.die();
    await node.revive();
    await node.revive();
    expect(await runtimeOf(node).listContainers()).toHaveLength(2);
  });
});
