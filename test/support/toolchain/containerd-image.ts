import { existsSync, mkdtempSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDebianImage } from './base-images.ts';
import { cacheDirectory } from './cache.ts';
import { run } from './command.ts';
import { buildUnlessCurrent, imageId } from './image.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { CONTAINERD_VERSION, DEBIAN_IMAGE, MINIMUM_GO, type NodeRuntime, nodeImage } from './versions.ts';

const GO_MS = 900_000;
const LOCK_MS = 1_800_000;
const MODULE = 'github.com/containerd/containerd/v2';
const PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr'];

/** The image of a node with this containerd: 2.4.2 is built from its Go module, 1.6 is Debian's own package. */
export async function ensureContainerdImage(runtime: NodeRuntime): Promise<void> {
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
  await requireGo();
  await step(`building containerd ${CONTAINERD_VERSION} from its Go module (some minutes, once)`, () =>
    build(folder),
  );
  return folder;
}

async function build(folder: string): Promise<void> {
  const work = mkdtempSync(join(cacheDirectory('build'), 'containerd-'));
  const env = { CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off', GOTOOLCHAIN: 'local' };
  const options = { cwd: work, env, timeoutMs: GO_MS };
  await run('go', ['mod', 'init', 'fleetgc.test/containerd'], options);
  const tools = PROGRAMS.map((program) => `${MODULE}/cmd/${program}`);
  await run('go', ['get', '-tool', ...tools.map((tool) => `${tool}@v${CONTAINERD_VERSION}`)], options);
  await run(
    'go',
    ['build', '-trimpath', '-ldflags', '-s -w', '-o', `${join(work, 'bin')}/`, ...tools],
    options,
  );
  renameSync(join(work, 'bin'), folder);
}

async function requireGo(): Promise<void> {
  const { major, minor } = MINIMUM_GO;
  const found = await run('go', ['env', 'GOVERSION'], { timeoutMs: 30_000 }).then(
    ({ stdout }) => stdout.trim(),
    () => 'none',
  );
  const [foundMajor = 0, foundMinor = 0] = found.replace('go', '').split('.').map(Number.parseFloat);
  if (foundMajor > major || (foundMajor === major && foundMinor >= minor)) return;
  throw new Error(
    `the container suites build containerd ${CONTAINERD_VERSION} and need Go ${major}.${minor} or newer; found: ${found}. Install it from https://go.dev/dl/`,
  );
}
