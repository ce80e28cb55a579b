import { Wait } from 'testcontainers';
import { controlOf, started, TestContainer } from '../container.ts';
import type { TestNetwork } from '../network.ts';
import { patiently } from '../patience.ts';
import { ensureToolchain } from '../toolchain/toolchain.ts';
import { REGISTRY_IMAGE } from '../toolchain/versions.ts';
import { type Blob, createImage, type OciImage } from './oci-image.ts';

/** The name under which nodes pull; their containerd is configured for it. */
const ALIAS = 'registry';
const PORT = 5000;
const START_MS = 30_000;
const REQUEST_MS = 60_000;

export interface PushedImage {
  /** What a node pulls: `registry:5000/team/app:1`. */
  readonly reference: string;
  /** The manifest's, as in `repo_digests`. */
  readonly digest: string;
  /** The image's id on a node with containerd; `RealNode.imageIdOf` gives that of another. */
  readonly id: string;
}

/** A registry that the nodes of the same network pull from. */
export interface Registry extends AsyncDisposable {
  /**
   * Makes an image with a layer of its own of this size and pushes it; `repository` is `team/app`. Images that are given the
   * same `base` have a layer of it in common.
   */
  push(repository: string, tag: string, ballastBytes: number, base?: Buffer): Promise<PushedImage>;
}

export async function startRegistry(network: TestNetwork): Promise<Registry> {
  await ensureToolchain(['registry', 'containerd']);
  const running = await started(
    new TestContainer(REGISTRY_IMAGE)
      .withExposedPorts(PORT)
      .withTmpFs({ '/var/lib/docker-registry': 'rw' })
      .withNetworkMode(network.name)
      .withNetworkAliases(ALIAS)
      .withWaitStrategy(Wait.forHttp('/v2/', PORT))
      .withStartupTimeout(patiently(START_MS)),
  );
  const control = await controlOf(running.getId());
  const url = `http://127.0.0.1:${running.getMappedPort(PORT)}/v2`;
  return {
    push: async (repository, tag, ballastBytes, base) => {
      const name = `${ALIAS}:${PORT}/${repository}:${tag}`;
      const image = await createImage({ name, ballastBytes, ...(base && { base }) });
      await upload(`${url}/${repository}`, tag, image);
      return { reference: image.name, digest: image.manifest.digest, id: image.configuration.digest };
    },
    [Symbol.asyncDispose]: control.remove,
  };
}

async function upload(repository: string, tag: string, image: OciImage): Promise<void> {
  for (const blob of [...image.layers, image.configuration]) await uploadBlob(repository, blob);
  const { mediaType, bytes } = image.manifest;
  await request(`${repository}/manifests/${tag}`, {
    method: 'PUT',
    body: bytes,
    headers: { 'content-type': mediaType },
  });
}

async function uploadBlob(repository: string, { digest, bytes }: Blob): Promise<void> {
  const begun = await request(`${repository}/blobs/uploads/`, { method: 'POST' });
  const location = new URL(begun.headers.get('location') ?? '', repository);
  location.searchParams.set('digest', digest);
  await request(location.href, {
    method: 'PUT',
    body: bytes,
    headers: { 'content-type': 'application/octet-stream' },
  });
}

async function request(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(patiently(REQUEST_MS)) });
  if (!response.ok) throw new Error(`${init.method} ${url}: ${response.status} ${await response.text()}`);
  return response;
}
