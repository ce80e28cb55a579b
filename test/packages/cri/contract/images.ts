import { expect, test } from 'vitest';
import type { RuntimeReader } from '../../../../packages/cri/port.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { runContainer, SETTLE_MS, type Tried, UNKNOWN_ID } from './node.ts';

/** The configuration of an image, in bytes. */
const MOST_TAKEN_BY_ALL = 4 * 1024 * 1024;

export function imageContract(tried: () => Tried): void {
  test('a pulled one is listed with id, name, digest and size, and is not pinned', async () => {
    const { node, runtime } = tried();
    const { id, reference, repoDigest } = await node.pull('pulled');
    const image = await waitUntil('its size to be known', SETTLE_MS, async () => {
      const listed = (await runtime.listImages()).find((one) => one.id === id);
      return listed && listed.sizeBytes > 0n ? listed : null;
    });
    expect(image).toMatchObject({ repoTags: [reference], repoDigests: [repoDigest], pinned: false });
  });

  test('[M10, C12] the sandbox image is pinned where the runtime pins', async () => {
    const { node, runtime, traits } = tried();
    const image = (await runtime.listImages()).find(({ repoTags }) => repoTags.includes(node.sandboxImage));
    expect(image?.pinned).toBe(traits.pinsSandboxImage);
  });

  test('one removed by id goes with all its names', async () => {
    const { node, runtime } = tried();
    const { id, reference } = await node.pull('named');
    await node.tag(reference, 'registry.example/team/other:2');
    await waitUntil(
      'both names to be listed',
      SETTLE_MS,
      async () => (await namesOf(runtime, id)).length === 2,
    );
    await runtime.removeImage(id);
    expect(await namesOf(runtime, id)).toEqual([]);
    expect((await runtime.listImages()).map((image) => image.id)).not.toContain(id);
  });

  test('[M31] one removed twice is no error', async () => {
    const { node, runtime } = tried();
    const { id } = await node.pull('twice');
    await runtime.removeImage(id);
    await runtime.removeImage(id);
  });

  test('[K4] one in use is removed all the same, or the runtime refuses; its container runs on', async () => {
    const { node, runtime, traits } = tried();
    const image = await node.pull('in-use');
    const { containerId } = await runContainer(tried(), 'in-use', image);
    const removing = runtime.removeImage(image.id);
    await (traits.removesImagesInUse
      ? expect(removing).resolves.toBeUndefined()
      : expect(removing).rejects.toMatchObject({ code: 'RUNTIME_IMAGE_IN_USE' }));
    const isListed = (await runtime.listImages()).some(({ id }) => id === image.id);
    expect(isListed).toBe(!traits.removesImagesInUse);
    expect((await runtime.containerStatus(containerId)).state).toBe('running');
    // While it runs without an image that is listed, every image counts as in use (C8).
    await runtime.removeContainer(containerId);
  });

  test('[M11] one tells its labels, and that it has none', async () => {
    const { node, runtime } = tried();
    const labels = { 'org.example.tier': 'base', empty: '' };
    const labelled = await node.importLabelled('labelled', labels);
    await waitUntil('the image to be listed', SETTLE_MS, async () =>
      (await runtime.listImages()).some(({ id }) => id === labelled),
    );
    expect(await runtime.imageLabels(labelled)).toEqual(labels);
    expect(await runtime.imageLabels((await node.pull('unlabelled')).id)).toEqual({});
  });

  test.each([
    { what: 'an inventory has room for', length: 20_000 },
    { what: 'a message may hold', length: 20 * 1024 * 1024 },
  ])('[M11] one with longer labels than $what tells none of them', async ({ length }) => {
    const { node, runtime, traits } = tried();
    const importing = node.importLabelled(`labelled-${length}`, { long: 'x'.repeat(length) });
    if (length > MOST_TAKEN_BY_ALL && !traits.takesHugeLabels) return expect(importing).rejects.toThrow();
    const labelled = await importing;
    await waitUntil('the image to be listed', SETTLE_MS, async () =>
      (await runtime.listImages()).some(({ id }) => id === labelled),
    );
    await expect(runtime.imageLabels(labelled)).rejects.toMatchObject({ code: 'RUNTIME_ANSWER_TOO_LARGE' });
  });

  test('[M11] one that is not there has no labels to tell', async () => {
    const { runtime, traits } = tried();
    const missing = `${traits.imageIdPrefix}${UNKNOWN_ID}`;
    await expect(runtime.imageLabels(missing)).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });
  });

  test('the filesystem that holds them has a mount point', async () => {
    const { image } = await tried().runtime.imageFilesystems();
    expect(image.map(({ mountpoint }) => mountpoint)).toEqual([expect.stringMatching(/^\//)]);
  });
}

const namesOf = async (runtime: RuntimeReader, id: string): Promise<readonly string[]> =>
  (await runtime.listImages()).find((image) => image.id === id)?.repoTags ?? [];
