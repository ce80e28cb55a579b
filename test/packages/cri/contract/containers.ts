import { expect, test } from 'vitest';
import type { RuntimeReader } from '../../../../packages/cri/port.ts';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import {
  expectStopOfUnknown,
  listingOf,
  newContainer,
  type PulledImage,
  runContainer,
  SETTLE_MS,
  type Tried,
  UNKNOWN_ID,
} from './node.ts';

export function containerContract(tried: () => Tried): void {
  test('one goes from created over running to exited, and uses its image throughout [C8]', async () => {
    const { node, runtime, workload } = tried();
    const image = await node.pull('lifecycle');
    const { containerId: id } = await newContainer(tried(), 'lifecycle', image);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: 'created', used: true });
    await workload.startContainer(id);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: 'running', used: true });
    await runtime.stopContainer(id, 0);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: 'exited', used: true });
    await runtime.removeContainer(id);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: undefined, used: false });
  });

  test('one tells its names, labels, image and creation', async () => {
    const { node, runtime, traits } = tried();
    const image = await node.pull('told');
    const { containerId, sandboxId, spec } = await newContainer(tried(), 'told', image);
    const container = (await runtime.listContainers()).find(({ id }) => id === containerId);
    const imageRef = traits.imageRefOfContainers === 'id' ? image.id : image.repoDigest;
    const imageId = traits.tellsImageIdOfContainers ? image.id : '';
    expect(container).toMatchObject({ sandboxId, name: 'main', attempt: 0, imageRef, imageId });
    expect(container?.labels).toMatchObject(spec.labels);
    const createdAtNs = container?.createdAtNs ?? 0n;
    expect(createdAtNs).toBeGreaterThan(0n);
    const told = (await runtime.containerStatus(containerId)).createdAtNs;
    expect(told > createdAtNs ? 'later' : told === createdAtNs && 'as-listed').toBe(traits.creationInStatus);
  });

  test('[G20] one tells the absolute path of its log', async () => {
    const { node, runtime } = tried();
    const { containerId, pod } = await newContainer(tried(), 'log', await node.pull('log'));
    expect((await runtime.containerStatus(containerId)).logPath).toBe(`${pod.logDirectory}/main/0.log`);
  });

  test('one whose process ended is exited', async () => {
    const { node, runtime } = tried();
    const { containerId } = await runContainer(tried(), 'crash', await node.pull('crash'));
    await node.crash(containerId);
    await waitUntil('the container to have exited', SETTLE_MS, async () => {
      const { state, finishedAtNs } = await runtime.containerStatus(containerId);
      return state === 'exited' && finishedAtNs > 0n;
    });
  });

  test('[K4] one that runs is removed by force', async () => {
    const { node, runtime } = tried();
    const { containerId } = await runContainer(tried(), 'force', await node.pull('force'));
    await runtime.removeContainer(containerId);
    expect((await runtime.listContainers()).map(({ id }) => id)).not.toContain(containerId);
  });

  test('[M31] an unknown one is removed without error, and its status is not found', async () => {
    const { runtime } = tried();
    await runtime.removeContainer(UNKNOWN_ID);
    await expect(runtime.containerStatus(UNKNOWN_ID)).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });
  });

  test('[M31] an unknown one is stopped without error, or not found', async () => {
    const { runtime } = tried();
    await expectStopOfUnknown(tried(), runtime.stopContainer(UNKNOWN_ID, 0));
  });

  test('one that does not run is stopped without error', async () => {
    const { node, runtime, traits } = tried();
    const { containerId } = await newContainer(tried(), 'not-running', await node.pull('not-running'));
    await runtime.stopContainer(containerId, 0);
    expect((await runtime.containerStatus(containerId)).state).toBe(traits.createdOnceStopped);
  });

  test('[C9, M19] one tells the images it mounts, where the runtime can', async () => {
    const { node, runtime, traits } = tried();
    const [image, data] = [await node.pull('mounting'), await node.pull('mounted')];
    if (!traits.mountsImages) return expect(newContainer(tried(), 'mounting', image, data)).rejects.toThrow();
    await newContainer(tried(), 'mounting', image, data);
    expect(imageUsage(await listingOf(runtime), []).users.get(data.id)).toHaveLength(1);
    if (traits.removesImagesInUse) return;
    await expect(runtime.removeImage(data.id)).rejects.toMatchObject({ code: 'RUNTIME_IMAGE_IN_USE' });
  });

  test('no image is in use that no container has, and the sandbox image is known [M9]', async () => {
    const { node, runtime } = tried();
    const { id } = await node.pull('unused');
    const usage = imageUsage(await listingOf(runtime), []);
    expect(usage.users.get(id)).toEqual([]);
    expect(usage).toMatchObject({ containersWithoutImage: [], sandboxImageKnown: true });
  });
}

async function stateAndUse(runtime: RuntimeReader, id: string, image: PulledImage) {
  const listing = await listingOf(runtime);
  const users = imageUsage(listing, []).users.get(image.id) ?? [];
  return {
    state: listing.containers.find((container) => container.id === id)?.state,
    used: users.some((user) => user.kind === 'container' && user.id === id),
  };
}
