import { builtCrio } from '../crio.ts';
import { withLock } from '../lock.ts';
import { CRIO_VERSION, DEBIAN_IMAGE, nodeImage } from '../versions.ts';
import { ensureDebianImage } from './base-images.ts';
import { buildUnlessCurrent, imageId } from './build-image.ts';

const LOCK_MS = 1_800_000;

/** The image of a node with CRI-O, which is built from its Go module. */
export async function ensureCrioImage(): Promise<void> {
  await ensureDebianImage();
  await withLock('image-crio', LOCK_MS, async () =>
    buildUnlessCurrent({
      tag: nodeImage('crio-1.34'),
      folder: 'crio',
      buildArguments: {},
      extraFiles: async () => ({ bin: await builtCrio() }),
      dependsOn: [await imageId(DEBIAN_IMAGE), CRIO_VERSION],
    }),
  );
}
