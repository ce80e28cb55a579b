import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { cacheDirectory } from './cache.ts';
import { ensureContainerdImage } from './containerd-image.ts';
import { buildGoPrograms, type Go } from './go.ts';
import { buildUnlessCurrent, imageId } from './image.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { KUBELET_NODE_IMAGE, KUBELET_VERSION, nodeImage } from './versions.ts';

const LOCK_MS = 1_800_000;
const MODULE = 'k8s.io/kubernetes';
const VERSION_PACKAGE = 'k8s.io/component-base/version';

/** The image of a node with containerd 2.4.2 and the real kubelet, which is built from its Go module. */
export async function ensureKubeletImage(): Promise<void> {
  await ensureContainerdImage('containerd-2.4.2');
  await withLock('image-kubelet', LOCK_MS, async () =>
    buildUnlessCurrent({
      tag: KUBELET_NODE_IMAGE,
      folder: 'kubelet',
      buildArguments: {},
      extraFiles: async () => ({ bin: await builtKubelet() }),
      dependsOn: [await imageId(nodeImage('containerd-2.4.2')), KUBELET_VERSION],
    }),
  );
}

/** A folder with the kubelet, statically linked, built once for each version. */
async function builtKubelet(): Promise<string> {
  const folder = join(cacheDirectory(`kubelet-${KUBELET_VERSION}-${process.arch}`), 'bin');
  if (existsSync(folder)) return folder;
  await step(`building the kubelet ${KUBELET_VERSION} from its Go module (some minutes, once)`, () =>
    buildGoPrograms('kubelet', folder, compile),
  );
  return folder;
}

async function compile(go: Go): Promise<void> {
  const kubelet = `${MODULE}/cmd/kubelet`;
  const stagedVersion = `v${KUBELET_VERSION.replace(/^1\./, '0.')}`;
  const staged = await stagedModules(go);
  await go('mod', 'edit', ...staged.map((module) => `-replace=${module}=${module}@${stagedVersion}`));
  await go('get', '-tool', `${kubelet}@v${KUBELET_VERSION}`);
  // Without it the kubelet says that it is v0.0.0.
  const version = `-X ${VERSION_PACKAGE}.gitVersion=v${KUBELET_VERSION}`;
  await go('build', '-trimpath', '-ldflags', `-s -w ${version}`, '-o', 'bin/', kubelet);
}

const Download = z.object({ GoMod: z.string() });

/** Modules that Kubernetes replaces by folders of its own repository, which exist only there: they are also published. */
async function stagedModules(go: Go): Promise<readonly string[]> {
  const { stdout } = await go('mod', 'download', '-json', `${MODULE}@v${KUBELET_VERSION}`);
  const { GoMod } = Download.parse(JSON.parse(stdout));
  const replacements = readFileSync(GoMod, 'utf8').matchAll(/^\s*(?:replace\s+)?(\S+) => \.\/staging\//gm);
  return [...replacements].flatMap(([, module]) => module ?? []);
}
