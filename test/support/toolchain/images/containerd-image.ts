import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from '../cache.ts';
import { buildGoPrograms, type Go } from '../go.ts';
import { withLock } from '../lock.ts';
import { step } from '../progress.ts';
import { CONTAINERD_VERSION, type ContainerdRuntime, DEBIAN_IMAGE, nodeImage } from '../versions.ts';
import { ensureDebianImage } from './base-images.ts';
import { buildUnlessCurrent, imageId } from './build-image.ts';

const LOCK_MS = 1_800_000;
const MODULE = 'github.com/containerd/containerd/v2';
const PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr'];

/** The image of a node with this containerd: 2.4.2 is built from its Go module, 1.6 is Debian's own package. */
export async function ensureContainerdImage(runtime: ContainerdRuntime): Promise<void> {
  await ensureDebianImage();
  await withLock(`image-${runtime}`, LOCK_MS, async () => {
    const own = runtime === 'containerd-2.4.2';
    await buildUnlessCurrent({
      tag: nodeImage(runtime),
      folder: 'containerd',
      buildArguments: own
        ? { PACKAGES: '', CONFIG: 'containerd-2.toml' }
        : { PACKAGES: 'containerd', CONFIG: 'containerd-1.toml' },
      extraFiles: async () => ({ bin: own ? await builtPrograms() : cacheDirectory('empty') }),
      dependsOn: [await imageId(DEBIAN_IMAGE), own ? CONTAINERD_VERSION : 'package'],
    });
  });
}

/** A folder with containerd, its shim and ctr, statically linked, built once for each version. */
async function builtPrograms(): Promise<string> {
  const folder = join(cacheDirectory(`containerd-${CONTAINERD_VERSION}-${process.arch}`), 'bin');
  if (existsSync(folder)) return folder;
  await step(`building containerd ${CONTAINERD_VERSION} from its Go module (some minutes, once)`, () =>
    buildGoPrograms('containerd', folder, compile),
  );
  return folder;
}

async function compile(go: Go): Promise<void> {
  const tools = PROGRAMS.map((program) => `${MODULE}/cmd/${program}`);
  await go('get', '-tool', ...tools.map((tool) => `${tool}@v${CONTAINERD_VERSION}`));
  await go('build', '-trimpath', '-ldflags', '-s -w', '-o', 'bin/', ...tools);
}
