import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectReader, connectRemover } from '../../../packages/cri/client.ts';
import { Plan } from '../../../schemas/reports/plan.ts';
import { createNetwork, type TestNetwork } from '../network.ts';
import { killContainer, runPod } from '../pods.ts';
import type { ContainerdRuntime } from '../toolchain/versions.ts';
import { waitUntil } from '../wait-until.ts';
import { type ContainerdNode, startContainerdNode } from './containerd-node.ts';
import { connectWorkload } from './cri-workload.ts';
import { startInNode } from './node-process.ts';
import { type Registry, startRegistry } from './registry.ts';

const MEBIBYTE = 1024 * 1024;
const BOOT_ID = ['cat', '/proc/sys/kernel/random/boot_id'];
const stack = new AsyncDisposableStack();
let network: TestNetwork;
let registry: Registry;

beforeAll(async () => {
  network = stack.use(await createNetwork());
  registry = stack.use(await startRegistry(network));
});

afterAll(() => stack.disposeAsync());

describe.each<{ runtime: ContainerdRuntime; version: RegExp }>([
  { runtime: 'containerd-2.4.2', version: /^2\.4\.2/ },
  { runtime: 'containerd-1.6', version: /^1\.6\./ },
])('a node with $runtime', ({ runtime, version }) => {
  let node: ContainerdNode;
  beforeAll(async () => {
    node = stack.use(await startContainerdNode({ runtime, network, diskMebibytes: 256 }));
  });

  test('is what it says', async () => {
    using reader = connectReader(node.endpoint);
    expect(await reader.version()).toMatchObject({
      name: 'containerd',
      version: expect.stringMatching(version),
    });
  });

  test('pulls with a repo digest, imports without, and its bounded disk shows what an image takes', async () => {
    using remover = connectRemover(node.endpoint);
    using workload = connectWorkload(node.endpoint);
    const pushed = await registry.push('team/app', '1', 20 * MEBIBYTE);
    const before = await node.disk();

    await workload.pullImage(pushed.reference);
    const after = await node.disk();
    const imported = await node.importImage({ name: 'docker.io/local/app:1', ballastBytes: MEBIBYTE });
    const images = await waitUntil('both images to be listed', 5000, async () => {
      const listed = await remover.listImages();
      return listed.some(({ id }) => id === imported) && listed;
    });

    expect(before.capacityBytes).toBe(256 * MEBIBYTE);
    expect(before.availableBytes - after.availableBytes).toBeGreaterThan(40 * MEBIBYTE);
    expect(images.find(({ id }) => id === pushed.id)?.repoDigests).toEqual([
      `registry:5000/team/app@${pushed.digest}`,
    ]);
    expect(images.find(({ id }) => id === imported)?.repoDigests).toEqual([]);
    await remover.removeImage(pushed.id);
    await waitUntil('the space to be free again', 5000, async () => {
      const { availableBytes } = await node.disk();
      return availableBytes > before.availableBytes - 4 * MEBIBYTE;
    });
  });

  test('can be planned for from inside, which removes nothing and leaves nothing behind', async () => {
    using reader = connectReader(node.endpoint);
    using workload = connectWorkload(node.endpoint);
    const pushed = await registry.push('team/planned', '1', MEBIBYTE);
    await workload.pullImage(pushed.reference);
    const imported = await node.importImage({ name: 'docker.io/local/planned:1' });
    const { containerId } = await runPod(node, { name: 'planned', image: 'docker.io/local/planned:1' });
    const unused = await node.importImage({ name: 'docker.io/local/unused:1', ballastBytes: MEBIBYTE });
    const named = await node.importImage({ name: 'docker.io/local/named:1', withDigest: true });
    const policy =
      'name: all\nmode: enforce\nimageGCHighThresholdPercent: 1\nimageGCLowThresholdPercent: 0\nimageMinimumGCAge: -1s\n';

    const output = await node.exec([
      ...['sh', '-c', 'printf "$0" | /opt/fleetgc/bin/fleetgc plan --policy - -o json 2>/dev/null'],
      policy.replaceAll('\n', '\\n'),
    ]);
    const { remove, keep, status } = Plan.parse(JSON.parse(output));

    expect(status).toBe('planned');
    expect(remove.map(({ id, rule }) => [id, rule])).toContainEqual([pushed.id, 'D11']);
    const keptBy = new Map(keep.map(({ id, rule }) => [id, rule]));
    const rules = [imported, unused, named, containerId].map((id) => keptBy.get(id));
    expect(rules).toEqual(['C8', 'M11', 'M12', 'G3']);
    expect((await reader.listImages()).map(({ id }) => id)).toEqual(
      expect.arrayContaining(remove.map(({ id }) => id)),
    );
    expect(await node.exec(['ls', '-A', '/var/lib/fleetgc'])).toBe('');
  });

  test('keeps its pods over a restart of containerd, and loses them in a reboot', async () => {
    using reader = connectReader(node.endpoint);
    await node.importImage({ name: 'docker.io/local/kept:1' });
    const pod = await runPod(node, { name: 'web', image: 'docker.io/local/kept:1' });
    const state = async () => (await reader.listContainers()).find(({ id }) => id === pod.containerId)?.state;
    const bootId = await node.exec(BOOT_ID);

    await node.killRuntime();
    await node.startRuntime();
    expect(await state()).toBe('running');
    expect(await node.exec(BOOT_ID)).toBe(bootId);

    await node.reboot();
    expect(await state()).not.toBe('running');
    expect(await node.exec(BOOT_ID)).not.toBe(bootId);
    await node.exec(['test', '-f', pod.logFile, '-a', '-L', pod.logLink]);
  });

  test('has containers that can be killed from outside', async () => {
    using reader = connectReader(node.endpoint);
    await node.importImage({ name: 'docker.io/local/killed:1' });
    const { containerId } = await runPod(node, { name: 'victim', image: 'docker.io/local/killed:1' });

    await killContainer(node, containerId);

    await waitUntil('the container to be listed as exited', 10_000, async () => {
      const listed = await reader.listContainers();
      return listed.find(({ id }) => id === containerId)?.state === 'exited';
    });
  });

  test('runs processes of this checkout, which can be told to end', async () => {
    const script =
      'process.on("SIGTERM", () => process.exit(7)); setInterval(() => {}, 1000); console.log("up")';
    await using running = await startInNode(node, ['/opt/fleetgc/node_modules/.bin/node', '-e', script]);
    await waitUntil('its first line', 10_000, () => running.output().includes('up'));

    await running.signal('SIGTERM');

    expect(await running.exited).toBe(7);
  });
});
