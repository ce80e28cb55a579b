import { withLock } from '../lock.ts';
import { DEBIAN_IMAGE, REGISTRY_IMAGE } from '../versions.ts';
import { ensureDebianImage } from './base-images.ts';
import { buildUnlessCurrent, imageId } from './build-image.ts';

/** The image of the registry that test nodes pull from: Debian's docker-registry. */
export async function ensureRegistryImage(): Promise<void> {
  await ensureDebianImage();
  await withLock('image-registry', 900_000, async () =>
    buildUnlessCurrent({
      tag: REGISTRY_IMAGE,
      folder: 'registry',
      buildArguments: {},
      dependsOn: [await imageId(DEBIAN_IMAGE)],
    }),
  );
}
