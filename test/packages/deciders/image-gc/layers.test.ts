import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import { planImages } from '../../../../packages/deciders/image-gc/plan-images.ts';
import type {
  CompleteInventory,
  InventoryImage,
  InventoryLayer,
} from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { HOUR, NOW } from '../../../fixtures/time.ts';

const layer = (digest: string, sizeBytes: number): InventoryLayer => ({
  kind: 'snapshot',
  digest,
  sizeBytes,
});
/** Positions in the table. */
const [BASE, OWN_A, OWN_B, OWN_C] = [0, 1, 2, 3];
const LAYERS = [layer('base', 100), layer('a', 10), layer('b', 20), layer('c', 30)];

/** In the order in which they go, each listed with 50 bytes. */
const of = (id: string, layers: number[] | null, over: Partial<InventoryImage> = {}): InventoryImage =>
  image(id, { sizeBytes: 50, layers, lastUsedMs: NOW - (200 - id.charCodeAt(0)) * HOUR, ...over });

const A = of('a', [BASE, OWN_A]);
const B = of('b', [BASE, OWN_B]);
const C = of('c', [OWN_C]);
const inUse = { usedBy: [{ kind: 'container' as const, id: 'running' }] };
/** So many that half of the images is no limit. */
const OTHERS = Array.from({ length: 10 }, (_, index) => of(`x${index}`, [], inUse));

interface Given {
  readonly images: readonly InventoryImage[];
  /** How far it is to the target. */
  readonly missing: number;
  readonly facts?: Partial<CompleteInventory>;
  readonly settings?: Partial<Policy>;
}

const given = ({ images, missing, facts }: Omit<Given, 'settings'>): CompleteInventory =>
  inventory({
    images: [...images, ...OTHERS],
    layers: LAYERS,
    filesystems: filesystems({ availableBytes: String(500 - missing) }),
    reclaim: toTarget('500'),
    ...facts,
  });

/** Half of the disk is to be free, as the reclaim says. */
const HALF = { imageGCHighThresholdPercent: 51, imageGCLowThresholdPercent: 50 };

const decided = ({ settings, ...facts }: Given) => decide(given(facts), policy({ ...HALF, ...settings }));

/** What goes, in order, with the bytes it is counted with. */
const counted = (one: Given): string[] =>
  decided(one).items.map(({ id, estimatedBytes }) => `${id} ${estimatedBytes}`);

describe('a plan counts what would really be freed', () => {
  test.each<{ name: string; one: Given; goes: string[] }>([
    {
      name: 'a layer that two have goes with the second of them',
      one: { images: [A, B, C], missing: 130 },
      goes: ['a 10', 'b 120'],
    },
    {
      name: 'one byte more takes one image more',
      one: { images: [A, B, C], missing: 131 },
      goes: ['a 10', 'b 120', 'c 30'],
    },
    {
      name: 'a layer of an image that stays does not go',
      one: { images: [A, of('b', [BASE, OWN_B], inUse), C], missing: 40 },
      goes: ['a 10', 'c 30'],
    },
    {
      name: 'layers that take more than is listed end a plan sooner',
      one: { images: [of('a', [BASE, OWN_A]), of('b', [OWN_B]), C], missing: 110 },
      goes: ['a 110'],
    },
    {
      name: 'an image that frees nothing goes in its turn and counts for nothing',
      one: { images: [of('a', []), C], missing: 1 },
      goes: ['a 0', 'c 30'],
    },
    {
      name: 'a layer that an image names twice is one',
      one: { images: [of('a', [OWN_A, OWN_A]), C], missing: 11 },
      goes: ['a 10', 'c 30'],
    },
  ])('[M7, D12] $name', ({ one, goes }) => {
    expect(counted(one)).toEqual(goes);
  });

  test.each<{ name: string; images: readonly InventoryImage[]; facts?: Partial<CompleteInventory> }>([
    { name: 'whose layers nobody told', images: [of('a', null), B] },
    { name: 'that names a layer which is not in the table', images: [of('a', [OWN_A, 4]), B] },
    { name: 'of an inventory without a table', images: [A, B], facts: { layers: null } },
    {
      name: 'of an inventory without a table, with no layer to its name',
      images: [of('a', []), B],
      facts: { layers: null },
    },
  ])('[M7] an image $name counts its listed size', ({ images, facts = {} }) => {
    expect(counted({ images, missing: 50, facts })).toEqual(['a 50']);
  });

  test('[D14] the profile kubelet adds listed sizes', () => {
    const one = { images: [A, B, C], missing: 100 };
    expect(counted({ ...one, settings: { profile: 'kubelet' } })).toEqual(['a 50', 'b 50']);
    expect(counted(one)).toEqual(['a 10', 'b 120']);
  });

  test('[M7, D3] in one pass by age and by usage a layer goes with the last of both', () => {
    const byAge = of('a', [BASE, OWN_A], { lastUsedMs: NOW - 9 * HOUR, firstDetectedMs: NOW - 10 * HOUR });
    const byUsage = of('b', [BASE, OWN_B], { lastUsedMs: NOW - HOUR });
    const facts = given({ images: [byAge, byUsage], missing: 400 });
    const { removals } = planImages(facts, policy({ imageMaximumGCAgeMs: 8 * HOUR }), 'periodic');
    expect(removals.map(({ image: { id }, rule, estimatedBytes }) => [id, rule, estimatedBytes])).toEqual([
      ['a', 'E3', 10n],
      ['b', 'D11', 120n],
    ]);
  });
});

describe('the record', () => {
  const [beyond, withoutTable] = [
    { images: [of('a', [OWN_A, 4]), B] },
    { images: [A], facts: { layers: null } },
  ];

  test.each<{ name: string; one: Omit<Given, 'missing'> }>([
    { name: 'beyond the table', one: beyond },
    { name: 'where there is no table', one: withoutTable },
  ])('[M7] does not believe a layer $name, and decides by the listed size', ({ one }) => {
    const { notBelieved, outcome, items } = decided({ ...one, missing: 50 });
    expect(notBelieved).toEqual([
      {
        rule: 'M7',
        message:
          '1 image(s) name a layer that the inventory has not, and count by their listed sizes; first by name: a',
      },
    ]);
    expect(outcome).toBe('commanded');
    expect(items).toMatchObject([{ id: 'a', estimatedBytes: 50 }]);
  });

  test.each<{ name: string; one: Omit<Given, 'missing'> }>([
    { name: 'the last layer of the table', one: { images: [C] } },
    { name: 'an image of which nobody told layers', one: { images: [of('a', null)] } },
    {
      name: 'layers in the profile kubelet, which has none',
      one: { ...beyond, settings: { profile: 'kubelet' } },
    },
  ])('[M7] has no doubt about $name', ({ one }) => {
    expect(decided({ ...one, missing: 30 }).notBelieved).toEqual([]);
  });

  test('[M7, M38] has the estimate of each removal, and in sum', () => {
    const { estimatedBytes, verdicts, reason } = decided({ images: [A, B, C], missing: 130 });
    expect(estimatedBytes).toBe(130);
    expect(verdicts.slice(0, 2)).toMatchObject([
      { facts: { place: 1, estimatedBytes: 10 } },
      { facts: { place: 2, estimatedBytes: 120 } },
    ]);
    expect(reason).toContain('2 image(s) go, counted with 130 bytes');
  });

  test('[M7, P5] adds up what one command holds, and not what waits', () => {
    const facts = given({ images: [], missing: 400 });
    const half = { ...facts, images: [A, B, C] };
    expect(decide(half, policy())).toMatchObject({ estimatedBytes: 10, items: [{ id: 'a' }] });
  });

  test('[M8, M40] says what holds the space: each layer once, for the first of its reasons', () => {
    const pinned = of('p', [BASE, OWN_B], { pinned: true });
    const used = of('u', [BASE, OWN_A], inUse);
    const { holders } = decided({ images: [used, pinned, C], missing: 500 });
    expect(holders).toEqual([
      { reason: 'in-use', objects: 1 + OTHERS.length, bytes: 110 },
      { reason: 'pinned', objects: 1, bytes: 20 },
      { reason: 'not-images', objects: 0, bytes: 1000 - 160 },
    ]);
  });

  test.each([{ layers: [BASE, OWN_A] }, { layers: null }])(
    '[M40, C5] an image that is listed for two handlers stays, and is counted once: layers $layers',
    ({ layers }) => {
      const twice = ['runc', 'kata'].map((runtimeHandler) => of('t', layers, { runtimeHandler }));
      const { items, holders } = decided({ images: [...twice, C], missing: 500 });
      expect(items.map(({ id }) => id)).toEqual(['c']);
      const bytes = layers === null ? 50 : 110;
      expect(holders).toContainEqual({ reason: 'not-believed', objects: 2, bytes });
      expect(holders).toContainEqual({ reason: 'not-images', objects: 0, bytes: 1000 - 30 - bytes });
    },
  );
});
