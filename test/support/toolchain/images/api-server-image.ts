import { builtKubernetesProgram } from '../kubernetes.ts';
import { withLock } from '../lock.ts';
import { API_SERVER_IMAGE, DEBIAN_IMAGE, KUBERNETES_VERSION } from '../versions.ts';
import { ensureDebianImage } from './base-images.ts';
import { buildUnlessCurrent, imageId } from './build-image.ts';

const LOCK_MS = 1_800_000;

/** The image of an API server of Kubernetes with Debian's etcd. */
export async function ensureApiServerImage(): Promise<void> {
  await ensureDebianImage();
  await withLock('image-api-server', LOCK_MS, async () =>
    buildUnlessCurrent({
      tag: API_SERVER_IMAGE,
      folder: 'api-server',
      buildArguments: {},
      extraFiles: async () => ({ bin: await builtKubernetesProgram('kube-apiserver') }),
      dependsOn: [await imageId(DEBIAN_IMAGE), KUBERNETES_VERSION],
    }),
  );
}
