import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planImages } from '../../../../packages/deciders/image-gc/plan-images.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { runs } from '../../../support/property-runs.ts';
import { arbitraryCase, type Case } from './support/arbitrary-case.ts';

/** Of some images it is not known any more … */
const ofImages: Readonly<Record<string, (image: InventoryImage) => readonly InventoryImage[]>> = {
  'which labels they have': (image) => [{ ...image, labels: null }],
  'where they came from': (image) => [{ ...image, repoTags: [], repoDigests: [] }],
  'whether they were pulled': (image) => [{ ...image, origin: 'unknown' }],
  'whether they were, of some that were not': (image) => [
    image.origin === 'unknown' ? { ...image, origin: 'not-pulled' } : image,
  ],
  'which of two entries is true': (image) => [image, image],
  'when they were first seen': (image) => [{ ...image, firstDetectedMs: Number.MAX_SAFE_INTEGER }],
};

type Forget = (given: CompleteInventory, isMeant: (position: number) => boolean) => CompleteInventory;

const WAYS: Readonly<Record<string, Forget>> = {
  ...Object.fromEntries(
    Object.entries(ofImages).map(([name, forget]): [string, Forget] => [
      `of some images, ${name}`,
      (given, isMeant) => ({
        ...given,
        images: given.images.flatMap((image, position) => (isMeant(position) ? forget(image) : [image])),
      }),
    ]),
  ),
  'what pods want': (given) => ({ ...given, podImagesKnown: false }),
  'which image sandboxes need': (given) => ({ ...given, sandboxImageKnown: false }),
  'what a container runs': (given) => ({ ...given, containersWithoutImage: ['container-0'] }),
  'since when images were watched': (given) => ({ ...given, imagesWatchedSinceMs: null }),
  'when the agent started': (given) => ({
    ...given,
    agentStartedAt: { ...given.agentStartedAt, bootId: 'another' },
  }),
  'how large the disk is': (given) => ({ ...given, filesystems: filesystems({ capacityBytes: null }) }),
  'what the disk has available': (given) => ({
    ...given,
    filesystems: filesystems({ availableBytes: null, inodesFree: null }),
  }),
  'anything of the disk': (given) => ({
    ...given,
    filesystems: { ...given.filesystems, imagefs: null },
  }),
};

/** All that a plan takes, or would if its target were further away: what stays makes room for another in its place. */
const takable = ({ given, settings, mode }: Case): ReadonlySet<string> => {
  const { removals, spared } = planImages(given, settings, mode);
  return new Set([...removals, ...spared.filter(({ rule }) => rule === 'D12')].map(({ image }) => image.id));
};

test('[A1, C5, C8, C10, E2, M2, M9, M11, M12] knowing less never makes another image go', () => {
  const forgetting = fc.record({ way: fc.constantFrom(...Object.keys(WAYS)), seed: fc.nat(0xfffff) });
  fc.assert(
    fc.property(arbitraryCase, forgetting, (one, { way, seed }) => {
      // Which versions are the newest depends on what is believed: a newer image takes the place of the oldest that
      // keep.lastVersions kept, which may then go (M11). Here it is off.
      const settings = { ...one.settings, keep: { ...one.settings.keep, lastVersions: 0 } };
      const isMeant = (position: number): boolean => ((seed >> position) & 1) === 1;
      const given = WAYS[way]?.(one.given, isMeant) ?? one.given;
      const before = takable({ ...one, settings });
      const { removals } = planImages(given, settings, one.mode);
      expect(removals.map(({ image }) => image.id).filter((id) => !before.has(id))).toEqual([]);
    }),
    runs(3_000),
  );
});
