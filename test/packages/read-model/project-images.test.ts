import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentsOf, countingOnce, freeing } from '../../../packages/deciders/image-gc/rules/contents.ts';
import { heldImages } from '../../../packages/read-model/project-images.ts';
import type { CompleteInventory, InventoryLayer } from '../../../schemas/events/inventory.ts';
import { container, image, inventory, sandbox } from '../../fixtures/inventory.ts';
import { runs } from '../../support/property-runs.ts';

const layer = (sizeBytes: number): InventoryLayer => ({ kind: 'blob', digest: 'a'.repeat(12), sizeBytes });

describe('what the images of a node take', () => {
  const node = inventory({
    layers: [layer(1_000), layer(10), layer(20), layer(400)],
    images: [
      image('old', { repoTags: ['r.example/web:1'], layers: [0, 1], sizeBytes: 1_010 }),
      image('new', {
        repoTags: ['r.example/web:2', 'r.example/other:2'],
        layers: [0, 2],
        sizeBytes: 1_020,
        usedBy: [{ kind: 'container', id: 'c1' }],
      }),
      image('job', { repoTags: ['r.example/job:1'], layers: [0, 3], sizeBytes: 1_400, lastUsedMs: null }),
    ],
    containers: [container('c1', { pod: { uid: 'pod-1', name: 'web', namespace: 'shop' } })],
  });

  test('counts what images have in common once, and tells what a repository has alone', () => {
    const { sums, repositories, hasLayers } = heldImages(node);
    expect(hasLayers).toBe(true);
    expect(sums).toEqual({ bytes: 1_430, unusedBytes: 410, neverUsedBytes: 400 });
    expect(repositories).toEqual([
      {
        name: 'r.example/web',
        images: 2,
        bytes: 1_030,
        aloneBytes: 30,
        unusedBytes: 10,
        neverUsedBytes: 0,
      },
      {
        name: 'r.example/job',
        images: 1,
        bytes: 1_400,
        aloneBytes: 400,
        unusedBytes: 400,
        neverUsedBytes: 400,
      },
    ]);
  });

  test('counts images by the namespaces of the pods that use them', () => {
    const { namespaces } = heldImages(node);
    expect(
      namespaces.map(({ name, images, bytes, aloneBytes }) => ({ name, images, bytes, aloneBytes })),
    ).toEqual([
      { name: '(nobody)', images: 2, bytes: 1_410, aloneBytes: 410 },
      { name: 'shop', images: 1, bytes: 1_020, aloneBytes: 20 },
    ]);
  });

  test('counts an image with its listed size where the node tells of no layers', () => {
    const { sums, hasLayers } = heldImages({
      ...node,
      layers: null,
      images: node.images.map((each) => ({ ...each, layers: null })),
    });
    expect(hasLayers).toBe(false);
    expect(sums.bytes).toBe(1_010 + 1_020 + 1_400);
  });

  test.each([
    [[], ['r.example/by-digest@sha256:aa'], 'r.example/by-digest'],
    [[], [], '(no name)'],
    [['r.example:5000/a:1'], ['r.example/b@sha256:aa'], 'r.example:5000/a'],
  ])('an image of tags %j and digests %j counts for %s', (repoTags, repoDigests, repository) => {
    const { repositories } = heldImages(inventory({ images: [image('i', { repoTags, repoDigests })] }));
    expect(repositories.map(({ name }) => name)).toEqual([repository]);
  });

  test('tells who uses an image, also a sandbox, and what belongs to no pod', () => {
    const { namespaces } = heldImages(
      inventory({
        images: [
          image('pause', { usedBy: [{ kind: 'sandbox', id: 's1' }] }),
          image('leased', { usedBy: [{ kind: 'lease', id: 'l1' }] }),
        ],
        sandboxes: [sandbox('s1', { pod: { uid: 'pod-1', name: 'web', namespace: 'shop' } })],
      }),
    );
    expect(namespaces.map(({ name }) => name)).toEqual(['shop', '(no pod)']);
  });
});

describe('what would take too long to count apart', () => {
  const OTHERS = '(other namespaces)';

  /** So many images that pods of so many namespaces use. */
  const used = (images: number, namespaces: number, layers: readonly number[]): CompleteInventory => {
    const sandboxes = Array.from({ length: namespaces }, (_, index) =>
      sandbox(`s${index}`, { pod: { uid: `pod-${index}`, name: 'web', namespace: `ns-${index}` } }),
    );
    return inventory({
      layers: Array.from({ length: 1_000 }, () => layer(1)),
      images: Array.from({ length: images }, (_, index) =>
        image(`image-${index}`, {
          layers: [...layers],
          usedBy: sandboxes.map(({ id }) => ({ kind: 'sandbox', id })),
        }),
      ),
      sandboxes,
    });
  };
  const imagesBy = (node: CompleteInventory): ReadonlyMap<string, number> =>
    new Map(heldImages(node).namespaces.map(({ name, images }) => [name, images]));

  test('counts for the other namespaces together, and no image is lost', () => {
    const all = Array.from({ length: 1_000 }, (_, index) => index);
    const counts = imagesBy(used(60, 50, all));
    expect([counts.get('ns-0'), counts.get('ns-49'), counts.get(OTHERS)]).toEqual([40, 40, 20]);
  });

  test('is not what names a layer again and again', () => {
    const again = Array.from({ length: 1_000 }, () => 0);
    const counts = imagesBy(used(60, 50, again));
    expect([counts.get('ns-0'), counts.get(OTHERS)]).toEqual([60, undefined]);
  });

  test('is what an image has of namespaces beyond the first', () => {
    const counts = imagesBy(used(1, 51, [0]));
    expect([counts.get('ns-49'), counts.get('ns-50'), counts.get(OTHERS)]).toEqual([1, undefined, 1]);
  });

  test('is what a node has of namespaces beyond all that can be', () => {
    const sandboxes = Array.from({ length: 2_001 }, (_, index) =>
      sandbox(`s${index}`, { pod: { uid: `pod-${index}`, name: 'web', namespace: `ns-${index}` } }),
    );
    const images = sandboxes.map(({ id }) => image(id, { usedBy: [{ kind: 'sandbox', id }] }));
    const counts = imagesBy(inventory({ images, sandboxes }));
    expect([counts.size, counts.get('ns-1999'), counts.get(OTHERS)]).toEqual([2_001, 1, 1]);
  });
});

test('a text that no image has as its name is cut', () => {
  const name = `r.example/${'x'.repeat(5_000)}`;
  const { images, repositories } = heldImages(inventory({ images: [image('i', { repoTags: [name] })] }));
  expect(images[0]?.name).toBe(name.slice(0, 1_000));
  expect(repositories[0]?.name).toBe(name.slice(0, 1_000));
});

/** Any images over a few layers, some of them in use, some of repositories that others have too. */
const nodes = fc
  .record({
    layers: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 6 }),
    images: fc.array(
      fc.record({
        layers: fc.uniqueArray(fc.nat(5), { maxLength: 4 }),
        repository: fc.constantFrom('a', 'b', 'c'),
        use: fc.constantFrom('now', 'before', 'never'),
      }),
      { maxLength: 8 },
    ),
  })
  .map(
    ({ layers, images }): CompleteInventory =>
      inventory({
        layers: layers.map(layer),
        images: images.map(({ layers: positions, repository, use }, index) =>
          image(`image-${index}`, {
            repoTags: [`r.example/${repository}:${index}`],
            layers: positions.filter((position) => position < layers.length),
            usedBy: use === 'now' ? [{ kind: 'container', id: 'c' }] : [],
            lastUsedMs: use === 'never' ? null : 1,
          }),
        ),
      }),
  );

test('sums are those by which images are removed: what all take, and what goes when all of a repository go', () => {
  fc.assert(
    fc.property(nodes, (node) => {
      const contents = contentsOf(node, { profile: 'fleetgc' }, new Set());
      const positioned = node.images.map((each, position) => ({ ...each, position }));
      const { sums, repositories } = heldImages(node);
      expect(BigInt(sums.bytes)).toBe(countingOnce(contents)(positioned));
      const goes = (which: (each: (typeof positioned)[number]) => boolean): bigint => {
        const freed = freeing(contents);
        return positioned.filter(which).reduce((sum, { position }) => sum + freed(position), 0n);
      };
      expect(BigInt(sums.unusedBytes)).toBe(goes(({ usedBy }) => usedBy.length === 0));
      expect(BigInt(sums.neverUsedBytes)).toBe(
        goes(({ usedBy, lastUsedMs }) => usedBy.length === 0 && lastUsedMs === null),
      );
      for (const { name, bytes, aloneBytes, unusedBytes } of repositories) {
        const isOf = ({ repoTags }: { readonly repoTags: readonly string[] }): boolean =>
          repoTags[0]?.startsWith(`${name}:`) ?? false;
        expect(BigInt(bytes)).toBe(countingOnce(contents)(positioned.filter(isOf)));
        expect(BigInt(aloneBytes)).toBe(goes(isOf));
        expect(BigInt(unusedBytes)).toBe(goes((each) => isOf(each) && each.usedBy.length === 0));
      }
    }),
    runs(200),
  );
});
