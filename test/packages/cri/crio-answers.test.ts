import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verboseImageOfSandbox } from '../../../packages/cri/client.ts';
import type { ListedContainer, ListedImage } from '../../../packages/cri/listing-types.ts';
import { type ImageUsage, imageUsage } from '../../../packages/cri/usage.ts';
import { unpullableBecause } from '../../../schemas/policy/image-pattern.ts';
import {
  APP,
  BY_ID,
  BY_NAME,
  BY_NAME_AFTER_RESTART,
  crioListing,
  LOADED,
  MOUNTING,
  PAUSE,
  PAUSE_BEFORE,
  SANDBOX_INFO,
  UNTAGGED,
} from '../../fixtures/crio-answers.ts';
import { imageSpec, listedContainer } from '../../fixtures/listing.ts';
import { runs } from '../../support/property-runs.ts';

const usageOf = (...containers: readonly ListedContainer[]): ImageUsage =>
  imageUsage(crioListing(containers), []);

const usersOf = (usage: ImageUsage, { id }: ListedImage): readonly string[] =>
  (usage.users.get(id) ?? []).map((user) => user.id);

describe('what CRI-O 1.34 answers', () => {
  test.each([
    { name: 'by id', container: BY_ID },
    { name: 'by name', container: BY_NAME },
    { name: 'by name, once CRI-O was started anew', container: BY_NAME_AFTER_RESTART },
  ])('a container that was created $name uses its image, and no other one [C8]', ({ container }) => {
    const usage = usageOf(container);
    expect(usersOf(usage, APP)).toEqual([container.id]);
    for (const image of [UNTAGGED, LOADED]) expect(usersOf(usage, image)).toEqual([]);
    expect(usage).toMatchObject({ containersWithoutImage: [], sandboxImageKnown: true });
  });

  test('an image that is mounted is in use, and so is that of the container [M19]', () => {
    const usage = usageOf(MOUNTING);
    expect(usersOf(usage, UNTAGGED)).toEqual([MOUNTING.id]);
    expect(usersOf(usage, APP)).toEqual([MOUNTING.id]);
  });

  test('the sandbox image is in use and pinned, and known although no sandbox tells it [M9]', () => {
    const usage = usageOf();
    expect(usersOf(usage, PAUSE)).toEqual(['docker.io/local/pause:1']);
    expect(usersOf(usage, PAUSE_BEFORE)).toEqual([]);
    expect(usage.sandboxImageKnown).toBe(true);
    expect(verboseImageOfSandbox(SANDBOX_INFO.withoutProcess)).toBe('');
    expect(verboseImageOfSandbox(SANDBOX_INFO.withProcess)).toBe('docker.io/local/pause:1');
  });

  test('an image that was loaded has digests under all its names, so that names do not tell it from a pulled one [M11, M12]', () => {
    expect(unpullableBecause(LOADED)).toBeUndefined();
    expect(unpullableBecause({ repoDigests: [`localhost/built@${APP.id}`] })).toBeDefined();
  });
});

/** Everything by which a release of CRI-O may name the image of a container; each of it is enough. */
const nameable = [APP, UNTAGGED, LOADED];
const formsOf = ({ id, repoTags, repoDigests }: ListedImage): readonly string[] => [
  ...[id, `sha256:${id}`, id.slice(0, 12), ...repoTags, ...repoDigests],
  ...repoDigests.map((name) => name.slice(name.indexOf('@') + 1)),
];

const form = fc
  .constantFrom(...nameable)
  .chain((image) => fc.constantFrom(...formsOf(image)).map((name) => ({ image, name })));

const place = fc.constantFrom<(name: string) => Partial<ListedContainer>>(
  (imageId) => ({ imageId }),
  (imageRef) => ({ imageRef }),
  (image) => ({ image: imageSpec({ image }) }),
  (userSpecifiedImage) => ({ image: imageSpec({ userSpecifiedImage }) }),
  (imageRef) => ({ image: imageSpec({ imageRef }) }),
);

test('whichever one name of its image is left to a container, in whatever field, the image is in use [C8, K2]', () => {
  fc.assert(
    fc.property(form, place, fc.subarray([BY_ID, BY_NAME, MOUNTING]), ({ image, name }, put, others) => {
      const usage = usageOf(...others, listedContainer('c', put(name)));
      expect(usersOf(usage, image)).toContain('c');
      expect(usage.containersWithoutImage).toEqual([]);
    }),
    runs(2000),
  );
});

test('what a container mounts is in use by whatever name, and by none it keeps all images [M19, K2]', () => {
  fc.assert(
    fc.property(form, ({ image, name }) => {
      const mounting = { ...BY_ID, mountedImages: [imageSpec({ image: name })] };
      expect(usersOf(usageOf(mounting), image)).toContain(BY_ID.id);
    }),
    runs(500),
  );
  const nameless = { ...BY_ID, mountedImages: [imageSpec()] };
  expect(usageOf(nameless).containersWithoutImage).toEqual([BY_ID.id]);
});

test('a container keeps its image when its tag has gone to another one, by whatever is left [C8]', () => {
  const moved = {
    ...UNTAGGED,
    repoDigests: APP.repoDigests.map((name) => name.replace(/@.*/, `@sha256:${'e'.repeat(64)}`)),
  };
  const listing = crioListing([{ ...BY_NAME, imageId: '', imageRef: '' }]);
  const usage = imageUsage({ ...listing, images: [APP, moved] }, []);
  expect([usersOf(usage, APP), usersOf(usage, moved)]).toEqual([[BY_NAME.id], [BY_NAME.id]]);
});
