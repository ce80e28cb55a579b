import { rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { boundlessRegistry } from '../../../lab/sim/runtime/objects.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { simulatedNode } from '../../support/simulated-node.ts';

const POD = { name: 'web', namespace: 'default', containers: { app: 'nginx:1' } };
const NGINX_BYTES = boundlessRegistry('nginx:1').sizeBytes;

async function availableBytes(node: SimulatedNode): Promise<bigint> {
  const { imagefs } = await node.filesystems.read();
  return BigInt(imagefs?.availableBytes ?? -1);
}

describe('available space', () => {
  test('falls by an image and comes back with its removal', async () => {
    const node = await simulatedNode();
    const before = await availableBytes(node);
    await node.runtime.pullImage('nginx:1');
    expect(before - (await availableBytes(node))).toBe(NGINX_BYTES);
    node.runtime.removeImage('nginx:1');
    expect(await availableBytes(node)).toBe(before);
  });

  test('comes back late when the faults say so', async () => {
    const clock = manualClock();
    const node = await simulatedNode({ clock });
    const before = await availableBytes(node);
    await node.runtime.pullImage('nginx:1');
    node.faults.freeLateMs = 1_000;
    node.runtime.removeImage('nginx:1');
    clock.advance(999);
    expect(before - (await availableBytes(node))).toBe(NGINX_BYTES);
    clock.advance(1);
    expect(await availableBytes(node)).toBe(before);
  });

  test('does not come back with an image that a container still uses', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    const before = await availableBytes(node);
    node.runtime.removeImage('nginx:1');
    expect(await availableBytes(node)).toBe(before);
    node.kubelet.deletePod(uid);
    for (const id of [...node.runtime.sandboxes.keys()]) node.runtime.removeSandbox(id);
    expect((await availableBytes(node)) - before).toBeGreaterThan(NGINX_BYTES);
  });

  test('follows the log files as they lie there', async () => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    const before = await availableBytes(node);
    for (const { logFile } of node.runtime.containers.values()) rmSync(logFile);
    expect((await availableBytes(node)) - before).toBe(2_000n);
  });

  test('is never less than nothing', async () => {
    const node = await simulatedNode({ otherBytes: 20_000_000_000n });
    expect(await availableBytes(node)).toBe(0n);
  });

  test('is what a pull needs', async () => {
    const node = await simulatedNode();
    node.disk.otherBytes = (await availableBytes(node)) - NGINX_BYTES + 1n;
    await expect(node.runtime.pullImage('nginx:1')).rejects.toThrow('no space left on device');
    node.disk.otherBytes -= 1n;
    await node.runtime.pullImage('nginx:1');
    expect(await availableBytes(node)).toBe(0n);
  });
});

test('filesystems that cannot be read are null', async () => {
  const node = await simulatedNode();
  node.faults.filesystemsUnreadable = true;
  expect(await node.filesystems.read()).toEqual({ nodefs: null, imagefs: null, containerfs: null });
});
