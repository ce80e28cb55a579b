import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { busyboxFile } from '../toolchain/busybox.ts';

export interface ImageOptions {
  /** Full name with a tag: `registry:5000/team/app:1`, `docker.io/local/app:1`. */
  readonly name: string;
  /** Random bytes in a layer that no other image shares. On a node they take twice that: packed and unpacked. */
  readonly ballastBytes?: number;
  /** Content of one more layer, which every image shares that is given the same. */
  readonly base?: Buffer;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly bytes: Buffer;
}

/** An image as a registry stores it. Its id on a node is `configuration.digest`. */
export interface OciImage {
  readonly name: string;
  readonly layers: readonly Blob[];
  readonly configuration: Blob;
  readonly manifest: Blob;
}

const ENTRY_POINT = ['/bin/busybox', 'sleep', '1000000'];

/** An image whose containers sleep unless told otherwise: busybox in a layer shared by all, and the ballast. */
export async function createImage({
  name,
  ballastBytes = 0,
  base,
  labels = {},
}: ImageOptions): Promise<OciImage> {
  const busybox = await busyboxFile();
  const layers = [
    await layer('bin/busybox', readFileSync(busybox), 0o755),
    ...(base ? [await layer('base', base)] : []),
    await layer('ballast', ballast(ballastBytes)),
  ];
  const configuration = json('application/vnd.oci.image.config.v1+json', {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Entrypoint: ENTRY_POINT, Labels: labels },
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  });
  const manifest = json(MANIFEST_TYPE, {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: descriptor(configuration),
    layers: layers.map(descriptor),
  });
  return { name, layers, configuration, manifest };
}

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';

/** The image as one archive for `ctr images import`. */
export async function archiveOf(image: OciImage): Promise<Buffer> {
  const archive = pack();
  const annotations = { 'io.containerd.image.name': image.name };
  const index = { schemaVersion: 2, manifests: [{ ...descriptor(image.manifest), annotations }] };
  archive.entry({ name: 'oci-layout' }, JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  archive.entry({ name: 'index.json' }, JSON.stringify(index));
  for (const { digest, bytes } of [image.manifest, image.configuration, ...image.layers]) {
    archive.entry({ name: `blobs/${digest.replace(':', '/')}` }, bytes);
  }
  archive.finalize();
  return await buffer(archive);
}

/** Never empty: what is unique about an image makes its id unique too. */
function ballast(bytes: number): Buffer {
  return randomBytes(Math.max(bytes, 16));
}

async function layer(name: string, content: Buffer, mode = 0o644): Promise<Blob> {
  const archive = pack();
  archive.entry({ name, mode, mtime: new Date(0) }, content);
  archive.finalize();
  return blob('application/vnd.oci.image.layer.v1.tar', await buffer(archive));
}

function json(mediaType: string, value: unknown): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

function blob(mediaType: string, bytes: Buffer): Blob {
  return { mediaType, bytes, digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}` };
}

function descriptor({ mediaType, digest, bytes }: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest, size: bytes.length };
}
