import { builtKubernetesProgram } from '../kubernetes.ts';
import { withLock } from '../lock.ts';
import { KUBELET_NODE_IMAGE, KUBERNETES_VERSION, nodeImage } from '../versions.ts';
import { buildUnlessCurrent, imageId } from './build-image.ts';
import { ensureContainerdImage } from './containerd-image.ts';

const LOCK_MS = 1_800_000;

/** The image of a node with containerd 2.4.2 and the real kubelet. */
export async function ensureKubeletImage(): Promise<void> {
  await ensureContainerdImage('containerd-2.4.2');
  await withLock('image-kubelet', LOCK_MS, async () =>
    buildUnlessCurrent({
      tag: KUBELET_NODE_IMAGE,
      folder: 'kubelet',
      buildArguments: {},
      extraFiles: async () => ({ bin: await builtKubernetesProgram('kubelet') }),
      dependsOn: [await imageId(nodeImage('containerd-2.4.2')), KUBERNETES_VERSION],
    }),
  );
}
