import { describe, expect, test } from 'vitest';
import { ExactSum, readHolders, readRepository, sumImages } from '../../../packages/read-model/images.ts';
import { Held } from '../../../packages/read-model/images-on-nodes.ts';
import { onceHeld } from '../../../packages/read-model/project-images.ts';
import { image, inventory } from '../../fixtures/inventory.ts';

const listing = (node: string, atMs: number, ids: readonly string[]) => ({
  node,
  atMs,
  offset: BigInt(atMs),
  takenMs: atMs,
  held: onceHeld(
    inventory({
      node,
      images: ids.map((id) =>
        image(id, { repoTags: [`r.example/${id[0]}:${id}`], sizeBytes: Number.MAX_SAFE_INTEGER }),
      ),
    }),
  ),
});

test('of a node the newest inventory counts, in whatever order they come, and one that came already says nothing', () => {
  const held = new Held();
  expect(held.heard(listing('prod/a', 2, ['x2']))).toBe(true);
  expect(held.heard(listing('prod/a', 1, ['x1']))).toBe(false);
  expect(held.heard(listing('prod/a', 2, ['x2']))).toBe(false);
  expect(held.of('prod/a')?.images.map(({ id }) => id)).toEqual(['x2']);
  expect(held.heard(listing('prod/a', 3, []))).toBe(true);
  expect(held.of('prod/a')?.images).toEqual([]);
});

test('an older inventory is not worked out', () => {
  const held = new Held();
  held.heard(listing('prod/a', 2, ['x2']));
  const older = listing('prod/a', 1, ['x1']);
  const isNew = held.heard({
    ...older,
    held: () => {
      throw new Error('it was');
    },
  });
  expect(isNew).toBe(false);
});

test('sums pass what numbers hold exactly, and an image on many nodes is one image', () => {
  const held = new Held();
  const nodes = Array.from({ length: 50 }, (_, index) => `prod/${index}`);
  for (const node of nodes) held.heard(listing(node, 1, ['a1', 'a2', 'b1']));
  const { sums, images, repositories } = sumImages(held);
  const one = BigInt(Number.MAX_SAFE_INTEGER);
  // What a node cannot say exactly is as large as a number can be.
  expect(sums.bytes).toBe(one * 50n);
  expect(images).toBe(3);
  expect(repositories.map(({ repository, images: count, nodes: on }) => [repository, count, on])).toEqual([
    ['r.example/a', 2, 50],
    ['r.example/b', 1, 50],
  ]);
  expect(readRepository(held, 'r.example/a')?.images.map(({ nodes: on }) => on)).toEqual([50, 50]);
  expect(readHolders(held, { nodes: [] }, 'pool').holders).toMatchObject([{ name: '(unknown)', nodes: 50 }]);
});

test('what is let go is not summed up any more', () => {
  const held = new Held();
  held.heard(listing('prod/old', 1, ['a1']));
  held.heard(listing('prod/new', 100, ['b1']));
  held.forgetBefore(50);
  expect(sumImages(held).repositories.map(({ repository }) => repository)).toEqual(['r.example/b']);
  held.clear();
  expect(sumImages(held)).toMatchObject({ nodes: 0, images: 0, repositories: [] });
});

test('a sum of whole numbers is exact at any size', () => {
  const sum = new ExactSum();
  for (let count = 0; count < 1_001; count += 1) sum.add(Number.MAX_SAFE_INTEGER);
  sum.add(1);
  expect(sum.total).toBe(1_001n * BigInt(Number.MAX_SAFE_INTEGER) + 1n);
});

describe('what there is no room for', () => {
  const many = (node: string, atMs: number, name: string, count: number) =>
    listing(
      node,
      atMs,
      Array.from({ length: count }, (_, index) => `${name}${index}`),
    );

  test('is counted, and what was told before stays', () => {
    const held = new Held(200_000);
    expect(held.heard(many('prod/a', 1, 'a', 50))).toBe(true);
    expect(held.heard(many('prod/flood', 2, 'x', 5_000))).toBe(false);
    expect(held.heard(many('prod/a', 3, 'a', 51))).toBe(true);
    expect([held.of('prod/a')?.atMs, held.of('prod/flood'), held.leftOut]).toEqual([3, null, 1]);
    held.forgetBefore(3);
    expect(held.leftOut).toBe(0);
  });

  test('is what lists more objects than any agent does', () => {
    const held = new Held();
    expect(held.heard(many('prod/a', 1, 'a', 20_001))).toBe(false);
    expect(held.leftOut).toBe(1);
  });

  test('is none where most of what was there is on no node any more', () => {
    const held = new Held(8_000_000);
    for (let round = 0; round < 10; round += 1)
      expect(held.heard(many('prod/a', round, `${'abcdefghij'[round]}-`, 8_000))).toBe(true);
    expect(held.numbers).toBeLessThan(20_000);
    expect(sumImages(held)).toMatchObject({ images: 8_000, nodes: 1 });
    expect(held.of('prod/a')?.repositories).toMatchObject([{ images: 8_000 }]);
  });
});
