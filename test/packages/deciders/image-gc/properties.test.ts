import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import { keepMatcher } from '../../../../schemas/policy/image-pattern.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { arbitraryNode, arbitraryPolicy, shuffled } from '../../../fixtures/arbitrary-node.ts';
import { image, incompleteInventory, inventory, tooLargeInventory } from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { NOW } from '../../../fixtures/time.ts';
import { runs } from '../../../support/property-runs.ts';

const MANY = runs(1_000);

const ids = (given: CompleteInventory, settings: Policy): string[] =>
  decide(given, settings).items.map(({ id }) => id);

const holds = (check: (given: CompleteInventory, settings: Policy) => void): void =>
  fc.assert(fc.property(arbitraryNode, arbitraryPolicy, check), MANY);

const never = (isProtected: (image: InventoryImage, settings: Policy) => boolean): void =>
  holds((given, settings) => {
    const gone = new Set(ids(given, settings));
    expect(given.images.filter((one) => gone.has(one.id) && isProtected(one, settings))).toEqual([]);
  });

describe('on any node, under any policy, never goes an image that is', () => {
  test('[K2, C8, M5, M9] in use by anything', () => never(({ usedBy }) => usedBy.length > 0));
  test('[K2, D7, M10] pinned', () => never(({ pinned }) => pinned));
  test('[D10] too young', () =>
    never(({ firstDetectedMs }, { imageMinimumGCAgeMs }) => NOW - firstDetectedMs < imageMinimumGCAgeMs));
  test('[D9] used since the inventory was taken', () => never(({ lastUsedMs }) => (lastUsedMs ?? 0) >= NOW));
  test('[M2] detected after the inventory was taken', () =>
    never(({ firstDetectedMs }) => firstDetectedMs > NOW));
  test('[M11] without a digest', () => never(({ repoDigests }) => repoDigests.length === 0));
  test('[M11] on the keep list', () => never((one, { keep }) => keepMatcher(keep).keptBy(one) !== undefined));
  test('[M33] in backoff', () => never(({ backoff }) => (backoff?.untilMs ?? 0) > NOW));
});

/** Ways to protect one image, or to have doubts about it. */
const PROTECTIONS: Readonly<Record<string, (image: InventoryImage) => InventoryImage>> = {
  'one more user': (one) => ({ ...one, usedBy: [...one.usedBy, { kind: 'container', id: 'new' }] }),
  'a pin': (one) => ({ ...one, pinned: true }),
  'a kept label': (one) => ({ ...one, labels: { ...one.labels, keep: 'yes' } }),
  'a younger age': (one) => ({ ...one, firstDetectedMs: NOW }),
  'a use at the time of the inventory': (one) => ({ ...one, lastUsedMs: NOW }),
  'no digest': (one) => ({ ...one, repoDigests: [] }),
  'a backoff': (one) => ({ ...one, backoff: { failures: 1, untilMs: NOW + 1 } }),
};

describe('one protection more', () => {
  test.each(Object.entries(PROTECTIONS))('%s keeps its image and lets no protected one go', (_, protect) => {
    const settings = policy({
      imageMinimumGCAgeMs: 1,
      keep: keepList({ labels: { keep: 'yes' } }),
    });
    fc.assert(
      fc.property(arbitraryNode, fc.nat(15), (given, seed) => {
        const chosen = seed % Math.max(1, given.images.length);
        const images = given.images.map((one, index) => (index === chosen ? protect(one) : one));
        const gone = ids({ ...given, images }, settings);
        expect(gone).not.toContain(`image-${chosen}`);
        const removableBefore = new Set(
          decide(given, settings)
            .verdicts.filter(({ rule }) => ['D11', 'D12', 'P5'].includes(rule))
            .map(({ position }) => given.images[position]?.id),
        );
        expect(gone.filter((id) => !removableBefore.has(id))).toEqual([]);
      }),
      MANY,
    );
  });
});

describe('the plan', () => {
  test('[P4, P5] holds at most 50 images and half of those listed, but may hold one', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 150 });
    fc.assert(
      fc.property(sizes, (bytes) => {
        const images = bytes.map((sizeBytes, index) => image(`image-${index}`, { sizeBytes }));
        const { items } = decide(inventory({ images, reclaim: reclaim() }), policy());
        expect(items.length).toBeLessThanOrEqual(Math.min(50, Math.max(1, Math.floor(images.length / 2))));
      }),
      runs(1_000),
    );
  });

  test('[D12] ends with the first image at which the listed sizes reach the target', () => {
    holds((given, settings) => {
      const missing = 300n - BigInt(given.filesystems.imagefs?.availableBytes ?? '');
      const sizes = decide(given, settings).items.map(({ sizeBytes }) => BigInt(sizeBytes));
      const withoutLast = sizes.slice(0, -1).reduce((sum, bytes) => sum + bytes, 0n);
      if (sizes.length > 0) expect(withoutLast).toBeLessThan(missing);
    });
  });

  test('[D8] takes the first candidates in order, and leaves none out', () => {
    holds((given, settings) => {
      const { items, verdicts } = decide(given, settings);
      const candidates = verdicts
        .filter(({ rule }) => ['D11', 'D12', 'P5'].includes(rule))
        .flatMap(({ position }) => given.images.slice(position, position + 1))
        .toSorted(referenceOrder);
      if (items.length > 0)
        expect(items.map(({ id }) => id)).toEqual(candidates.slice(0, items.length).map(({ id }) => id));
    });
  });

  test('[D8] does not depend on the order of the listing', () => {
    const withOther = arbitraryNode.chain((given) => fc.tuple(fc.constant(given), shuffled(given)));
    fc.assert(
      fc.property(withOther, arbitraryPolicy, ([given, other], settings) => {
        expect(ids(other, settings)).toEqual(ids(given, settings));
      }),
      MANY,
    );
  });

  test('[M38] every image has one verdict, and exactly what goes has the verdict to go', () => {
    holds((given, settings) => {
      const { items, verdicts } = decide(given, settings);
      expect(verdicts.map(({ position }) => position)).toEqual([...given.images.keys()]);
      const goes = verdicts.filter(({ action }) => action === 'remove');
      expect(goes.map(({ position }) => given.images[position]?.id).toSorted()).toEqual(
        items.map(({ id }) => id).toSorted(),
      );
    });
  });

  test('[M8] the holders account for every image that does not go', () => {
    holds((given, settings) => {
      const { items, holders, outcome } = decide(given, settings);
      if (outcome === 'nothing-to-do') return;
      const held = holders.reduce((sum, { objects }) => sum + objects, 0);
      expect(held + items.length).toBe(given.images.length);
    });
  });

  test('the same input gives the same bytes', () => {
    holds((given, settings) => {
      const again = structuredClone({ given, settings });
      expect(JSON.stringify(decide(again.given, again.settings))).toBe(
        JSON.stringify(decide(given, settings)),
      );
    });
  });
});

describe('nothing goes', () => {
  test('[C8, C10, M9, P6] while a container names no image, the sandbox image or what pods want is unknown, or images have no turn', () => {
    const doubt = fc.constantFrom<Partial<CompleteInventory>>(
      { containersWithoutImage: ['container-0'] },
      { sandboxImageKnown: false },
      { podImagesKnown: false },
      { reclaim: null },
      { reclaim: reclaim({ step: 'containers' }) },
    );
    fc.assert(
      fc.property(arbitraryNode, arbitraryPolicy, doubt, (given, settings, doubted) => {
        expect(ids({ ...given, ...doubted }, settings)).toEqual([]);
      }),
      MANY,
    );
  });

  test('[P3] on an inventory that is not complete', () => {
    fc.assert(
      fc.property(
        arbitraryPolicy,
        fc.constantFrom(incompleteInventory, tooLargeInventory),
        (settings, given) => {
          expect(decide({ ...given, reclaim: reclaim() }, settings).items).toEqual([]);
        },
      ),
      runs(1_000),
    );
  });

  test('[C5] of an id that is listed twice', () => {
    fc.assert(
      fc.property(arbitraryNode, arbitraryPolicy, fc.nat(15), (given, settings, seed) => {
        const chosen = seed % Math.max(1, given.images.length);
        const images = [...given.images, ...given.images.slice(chosen, chosen + 1)];
        expect(ids({ ...given, images }, settings)).not.toContain(`image-${chosen}`);
      }),
      MANY,
    );
  });
});

/** D8 once more, as one key per image. */
function referenceOrder(a: InventoryImage, b: InventoryImage): number {
  const key = ({ lastUsedMs, firstDetectedMs, sizeBytes, id }: InventoryImage): string =>
    [lastUsedMs === null ? 0 : lastUsedMs + 1, firstDetectedMs, Number.MAX_SAFE_INTEGER - sizeBytes]
      .map((number) => String(number).padStart(17, '0'))
      .concat(id)
      .join(' ');
  return key(a) < key(b) ? -1 : 1;
}
