import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import { planImages } from '../../../../packages/deciders/image-gc/plan-images.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { arbitraryPolicy } from '../../../fixtures/arbitrary-node.ts';
import { image } from '../../../fixtures/inventory.ts';
import { runs } from '../../../support/property-runs.ts';
import { nodeWithLayers, positions, reordered } from './support/arbitrary-layers.ts';

const MANY = runs(1_000);

const holds = (check: (given: CompleteInventory, settings: Policy) => void): void =>
  fc.assert(fc.property(nodeWithLayers, arbitraryPolicy, check), MANY);

/** Positions of the layers that are believed; `null`: the image counts as a whole. */
function believed({ layers }: InventoryImage, { layers: table }: CompleteInventory): Set<number> | null {
  if (layers === null || table === null || layers.some((position) => position >= table.length)) return null;
  return new Set(layers);
}

/** What the disk would have more without these images: sizes of what nobody is left to have. */
function freedBy(gone: ReadonlySet<string>, given: CompleteInventory): number {
  const held = (isMeant: (one: InventoryImage) => boolean): Set<number> =>
    new Set(given.images.filter(isMeant).flatMap((one) => [...(believed(one, given) ?? [])]));
  const stays = held(({ id }) => !gone.has(id));
  const layers = [...held(({ id }) => gone.has(id))].filter((position) => !stays.has(position));
  const wholes = given.images.filter((one) => gone.has(one.id) && believed(one, given) === null);
  return [
    ...layers.map((position) => given.layers?.[position]?.sizeBytes ?? 0),
    ...wholes.map(({ sizeBytes }) => sizeBytes),
  ].reduce((sum, bytes) => sum + bytes, 0);
}

describe('on any node with layers, under any policy', () => {
  test('[M7] what is counted in all is what nobody has any more, and so at each step', () => {
    holds((given, settings) => {
      const { items, estimatedBytes } = decide(given, settings);
      const counted = items.map((_, index) => items.slice(0, index + 1).map((item) => item.estimatedBytes));
      const sums = counted.map((bytes) => bytes.reduce((sum, one) => sum + one, 0));
      const freed = items.map((_, index) =>
        freedBy(new Set(items.slice(0, index + 1).map(({ id }) => id)), given),
      );
      expect(sums).toEqual(freed);
      expect(estimatedBytes).toBe(sums.at(-1) ?? 0);
    });
  });

  test('[M7, D12] the plan ends with the first image at which the count reaches the target', () => {
    holds((given, settings) => {
      const missing = 300 - Number(given.filesystems.imagefs?.availableBytes);
      const asOrdered = { ...settings, imageGCLowThresholdPercent: 70 };
      const { removals, spared } = planImages(given, asOrdered, 'usage');
      const bytes = removals.map(({ estimatedBytes }) => Number(estimatedBytes));
      const sum = (parts: readonly number[]) => parts.reduce((total, one) => total + one, 0);
      if (bytes.length > 0) expect(sum(bytes.slice(0, -1))).toBeLessThan(missing);
      if (spared.length > 0) expect(sum(bytes)).toBeGreaterThanOrEqual(missing);
    });
  });

  test('[M7, D8, K2] knowing layers lets no other image go, and changes no order', () => {
    holds((given, settings) => {
      const goes = (node: CompleteInventory) =>
        planImages(node, settings, 'usage').removals.map((removal) => removal.image.id);
      const all = ({ removals, spared }: ReturnType<typeof planImages>) =>
        [...removals, ...spared].map((candidate) => candidate.image.id);
      const [known, unknown] = [given, { ...given, layers: null }];
      const order = all(planImages(unknown, settings, 'usage'));
      expect(all(planImages(known, settings, 'usage'))).toEqual(order);
      expect(goes(known)).toEqual(order.slice(0, goes(known).length));
    });
  });

  test('[M7] neither the order of the listing nor that of the table makes a difference', () => {
    const twice = nodeWithLayers.chain((given) => fc.tuple(fc.constant(given), reordered(given)));
    fc.assert(
      fc.property(twice, arbitraryPolicy, ([given, other], settings) => {
        const [one, same] = [decide(given, settings), decide(other, settings)];
        expect(same.items).toEqual(one.items);
        expect(same.holders).toEqual(one.holders);
        expect(same.reason).toBe(one.reason);
      }),
      MANY,
    );
  });

  test('[M7] one holder more never lets a removal count for more', () => {
    fc.assert(
      fc.property(nodeWithLayers, positions, arbitraryPolicy, (given, layers, settings) => {
        const holder = image('holder', { layers, usedBy: [{ kind: 'container', id: 'running' }] });
        const counted = (images: readonly InventoryImage[]) =>
          planImages(
            { ...given, images: [...images], reclaim: null },
            { ...settings, imageMaximumGCAgeMs: 1 },
            'age',
          ).removals.map((removal) => Number(removal.estimatedBytes));
        const before = counted(given.images);
        const after = counted([...given.images, holder]);
        expect(after).toHaveLength(before.length);
        expect(after.filter((bytes, index) => bytes > (before[index] ?? 0))).toEqual([]);
      }),
      MANY,
    );
  });

  test('[D14] the profile kubelet decides as if it knew of no layers', () => {
    holds((given, settings) => {
      const kubelet = { ...settings, profile: 'kubelet' } as const;
      expect(decide(given, kubelet)).toEqual(decide({ ...given, layers: null }, kubelet));
    });
  });
});
