import { withLock } from '../lock.ts';
import { CLUSTER_NODE_IMAGE, KUBELET_NODE_IMAGE } from '../versions.ts';
import { buildUnlessCurrent, imageId } from './build-image.ts';
import { ensureKubeletImage } from './kubelet-image.ts';

const LOCK_MS = 1_800_000;

/** The image of a node of a whole cluster, whose pods have a network of their own. */
export async function ensureClusterNodeImage(): Promise<void> {
  await ensureKubeletImage();
  await withLock('image-cluster-node', LOCK_MS, async () =>
    buildUnlessCurrent({
      tag: CLUSTER_NODE_IMAGE,
      folder: 'cluster-node',
      buildArguments: {},
      dependsOn: [await imageId(KUBELET_NODE_IMAGE)],
    }),
  );
}
