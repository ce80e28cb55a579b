import { expect, test } from 'vitest';
import {
  type LayerTable,
  pulledImages,
  readImageLayers,
} from '../../../../packages/cri/containerd/image-layers.ts';
import { readImageContent } from '../../../../packages/cri/containerd/layer-store.ts';
import { withOtherUses } from '../../../../packages/cri/containerd/other-uses.ts';
import { connectContainerd } from '../../../../packages/cri/containerd/reader.ts';
import type { InventoryLayer } from '../../../../schemas/events/inventory.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { listingOf, SETTLE_MS, type Tried } from './node.ts';

const SIZES = { baseBytes: 8_000_000, ownBytes: 3_000_000 };
/** Manifests, configurations and directories are not counted, a filesystem gives whole blocks, and containerd writes its own. */
const TOLERANCE_BYTES = 100_000;

export function layerContract(tried: () => Tried): void {
  test('[M7] images tell the layers that they have in common, and those of their own, packed and unpacked', async () => {
    const images = await tried().node.pullSharing(['told-a', 'told-b'], SIZES);
    const [a = [], b = []] = layersOf(await readTable(tried()), images);
    const common = a.filter((layer) => b.includes(layer));
    const kinds = common.map(({ kind }) => kind);
    expect(a.filter(({ digest }) => !/^[0-9a-f]{12}$/.test(digest))).toEqual([]);
    expect(kinds).toContain('blob');
    expect(kinds).toContain('snapshot');
    expectAbout(bytesOf(without(a, common)), 2 * SIZES.ownBytes);
    expectAbout(bytesOf(without(b, common)), 2 * SIZES.ownBytes);
    expect(bytesOf(common)).toBeGreaterThan(2 * SIZES.baseBytes - TOLERANCE_BYTES);
  });

  test('[M7] a removal frees the layers that no other image has, and they are what the disk gets back', async () => {
    const images = await tried().node.pullSharing(['freed-a', 'freed-b'], SIZES);
    const [first, second] = images;
    const [a = [], b = []] = layersOf(await readTable(tried()), images);
    await expectFreed(tried(), first?.id, bytesOf(without(a, b)));

    const after = await readTable(tried());
    const [gone, left = []] = layersOf(after, images);
    expect(gone).toBeUndefined();
    expect(left).toEqual(b);
    const others = [...after.ofImage].flatMap(([id]) => (id === second?.id ? [] : layersIn(after, id)));
    const alone = bytesOf(without(left, others));
    expectAbout(alone, 2 * (SIZES.baseBytes + SIZES.ownBytes));
    await expectFreed(tried(), second?.id, alone);
  });

  test('[M7] an image with a second name has the same layers, once', async () => {
    const { node } = tried();
    const images = await node.pullSharing(['named-once'], SIZES);
    const before = layersOf(await readTable(tried()), images);
    await node.tag(images[0]?.reference ?? '', 'registry.example/team/twice:2');
    await waitUntil('both names to be listed', SETTLE_MS, async () => {
      const listed = (await tried().runtime.listImages()).find(({ id }) => id === images[0]?.id);
      return listed?.repoTags.length === 2;
    });
    expect(layersOf(await readTable(tried()), images)).toEqual(before);
  });

  test('[M12] an imported image that has the name and the label of a pulled one was not pulled', async () => {
    const { node, runtime } = tried();
    const { id } = await node.pull('really-pulled');
    const { id: another } = await node.pull('pulled-beside');
    const imported = await node.importLikePulled('imported-like-pulled');
    const listed = await waitUntil('the imported image to be listed with its digest', SETTLE_MS, async () => {
      const images = await runtime.listImages();
      const digests = images.find((image) => image.id === imported)?.repoDigests ?? [];
      return digests.length > 0 && images;
    });
    using containerd = connectContainerd(node.readingEndpoint);
    const content = await readImageContent({ containerd, timeLeftMs });
    const pulled = pulledImages(listed, content);
    expect([id, another, imported].map((one) => pulled.get(one))).toEqual([true, true, false]);
  });

  test('[M12] a pulled image is told from one that was imported, be it with a digest in its name', async () => {
    const { node, runtime } = tried();
    const { id } = await node.pull('told-as-pulled');
    const imported = await node.importLabelled('told-as-imported', {});
    const named = await node.importWithDigest('told-by-digest');
    const listed = await waitUntil('the imported images to be listed', SETTLE_MS, async () => {
      const images = await runtime.listImages();
      const digests = images.find((image) => image.id === named)?.repoDigests ?? [];
      return images.some((image) => image.id === imported) && digests.length > 0 && images;
    });
    using containerd = connectContainerd(node.readingEndpoint);
    const content = await readImageContent({ containerd, timeLeftMs });
    const pulled = pulledImages(listed, content);
    expect([id, imported, named].map((one) => pulled.get(one))).toEqual([true, false, false]);
  });
}

/** Of a runtime without containerd's own API. */
export function withoutLayersContract(tried: () => Tried): void {
  test('[M7, M12] nobody tells layers, or which images were pulled', async () => {
    using containerd = connectContainerd(tried().node.readingEndpoint);
    const reading = readImageContent({ containerd, timeLeftMs });
    await expect(reading).rejects.toMatchObject({ code: 'RUNTIME_UNSUPPORTED' });
  });

  test('nobody tells who uses images beside CRI, and its lists are all there is', async () => {
    const { node, runtime } = tried();
    using containerd = connectContainerd(node.readingEndpoint);
    const asked = withOtherUses(runtime, containerd, { monotonicNow: () => performance.now() });
    expect(await listingOf(asked)).toMatchObject({ status: 'complete', otherUses: [] });
  });
}

const timeLeftMs = (): number => SETTLE_MS;

async function readTable({ node, runtime }: Tried): Promise<LayerTable> {
  using containerd = connectContainerd(node.readingEndpoint);
  const images = await runtime.listImages();
  const content = await readImageContent({ containerd, timeLeftMs });
  return await readImageLayers(images, content, { containerd, sizes: new Map(), timeLeftMs });
}

const layersOf = (table: LayerTable, images: readonly { readonly id: string }[]) =>
  images.map(({ id }) => (table.ofImage.has(id) ? layersIn(table, id) : undefined));

const layersIn = ({ layers, ofImage }: LayerTable, id: string): InventoryLayer[] =>
  (ofImage.get(id) ?? [])
    .flatMap((position) => layers[position] ?? [])
    .toSorted((a, b) => compareText(`${a.kind} ${a.digest}`, `${b.kind} ${b.digest}`));

const without = (layers: readonly InventoryLayer[], others: readonly InventoryLayer[]): InventoryLayer[] =>
  layers.filter((layer) => !others.some((other) => isSame(layer, other)));

const isSame = (a: InventoryLayer, b: InventoryLayer): boolean => a.kind === b.kind && a.digest === b.digest;

const bytesOf = (layers: readonly InventoryLayer[]): number =>
  layers.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

const isAbout = (bytes: number, expected: number): boolean => Math.abs(bytes - expected) < TOLERANCE_BYTES;

const expectAbout = (bytes: number, expected: number): void =>
  expect({ bytes, isAbout: isAbout(bytes, expected) }).toEqual({ bytes, isAbout: true });

async function expectFreed(
  { node, runtime }: Tried,
  id: string | undefined,
  estimate: number,
): Promise<void> {
  const before = await node.availableBytes();
  await runtime.removeImage(id ?? '');
  await waitUntil(`${estimate} bytes to become available`, SETTLE_MS, async () =>
    isAbout((await node.availableBytes()) - before, estimate),
  );
}
