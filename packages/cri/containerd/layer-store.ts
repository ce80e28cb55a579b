import { compareText } from '../../../schemas/events/text-order.ts';
import type { RuntimeImage } from '../port.ts';
import type { ContainerdReader, StoredBlob, StoredImage } from './reader.ts';

/** A blob, what it keeps from being collected, and what tells whether a pull brought it. */
export interface KeptBlob {
  readonly sizeBytes: number;
  /** In nanoseconds since the epoch; `null` when containerd does not say. */
  readonly createdAtNs: bigint | null;
  /** Registries and repositories that its labels name as its source: `registry.example/team/app`. */
  readonly sources: readonly string[];
  /** Digests. */
  readonly content: readonly string[];
  /** Those of `content` that are layers. */
  readonly layers: readonly string[];
  readonly snapshots: readonly { readonly snapshotter: string; readonly name: string }[];
}

/** The images of containerd, and the blobs of all of them. */
export interface ImageContent {
  readonly images: readonly StoredImage[];
  /** By digest. */
  readonly blobs: ReadonlyMap<string, KeptBlob>;
}

/** What containerd holds of images at one moment, packed and unpacked. */
export interface LayerStore extends ImageContent {
  /** By snapshotter and name, the name of the parent; empty where it has none. */
  readonly parents: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Where it is asked, and what is left for all of it. */
export interface ContainerdSource {
  readonly containerd: ContainerdReader;
  readonly timeLeftMs: () => number;
}

/** Rejects where containerd does not answer in time, or is none. */
export async function readImageContent({ containerd, timeLeftMs }: ContainerdSource): Promise<ImageContent> {
  const images = await containerd.images(timeLeftMs());
  const stored = await containerd.blobs(timeLeftMs());
  return { images, blobs: new Map(stored.map((blob) => [blob.digest, keptBlob(blob)])) };
}

/** Adds the snapshots that the blobs were unpacked to; rejects as `readImageContent`. */
export async function readLayerStore(
  content: ImageContent,
  { containerd, timeLeftMs }: ContainerdSource,
): Promise<LayerStore> {
  const used = [...content.blobs.values()].flatMap(({ snapshots }) => snapshots);
  const parents = new Map<string, ReadonlyMap<string, string>>();
  for (const snapshotter of new Set(used.map((one) => one.snapshotter))) {
    const snapshots = await containerd.snapshots(snapshotter, timeLeftMs());
    parents.set(snapshotter, new Map(snapshots.map(({ name, parent }) => [name, parent])));
  }
  return { ...content, parents };
}

/** Labels by which containerd's own garbage collector goes from an index to manifests, layers and snapshots. */
const CONTENT_LABEL = /^containerd\.io\/gc\.ref\.content([./]|$)/;
const LAYER_LABEL = /^containerd\.io\/gc\.ref\.content\.l\./;
const SNAPSHOT_LABEL = /^containerd\.io\/gc\.ref\.snapshot\.([^/]+)/;
/**
 * A pull leaves it, with the registry's name and a list of repositories, on every index, manifest and configuration, and on
 * the layers that it brings; so does a push from here.
 */
const SOURCE_LABEL = 'containerd.io/distribution.source.';

function keptBlob({ sizeBytes, createdAtNs, labels }: StoredBlob): KeptBlob {
  // They come in any order.
  const entries = Object.entries(labels).sort(([a], [b]) => compareText(a, b));
  return {
    sizeBytes,
    createdAtNs,
    sources: entries.flatMap(([label, repositories]) =>
      label.startsWith(SOURCE_LABEL) ? sourcesIn(label.slice(SOURCE_LABEL.length), repositories) : [],
    ),
    content: entries.flatMap(([label, digest]) => (CONTENT_LABEL.test(label) ? [digest] : [])),
    layers: entries.flatMap(([label, digest]) => (LAYER_LABEL.test(label) ? [digest] : [])),
    snapshots: entries.flatMap(([label, name]) => {
      const snapshotter = SNAPSHOT_LABEL.exec(label)?.[1];
      return snapshotter === undefined ? [] : [{ snapshotter, name }];
    }),
  };
}

/** An empty registry or repository names no place to pull from. */
const sourcesIn = (registry: string, repositories: string): readonly string[] =>
  repositories
    .split(',')
    .filter((repository) => registry !== '' && repository !== '')
    .map((repository) => `${registry}/${repository}`);

/** An image as CRI lists it. */
export type ListedNames = Pick<RuntimeImage, 'id' | 'repoTags' | 'repoDigests'>;

/**
 * By image id, the digests of its indexes and manifests; an image of which containerd has no name or no content is not
 * there.
 */
export function targetsByImage(
  listed: readonly ListedNames[],
  { images, blobs }: ImageContent,
): ReadonlyMap<string, readonly string[]> {
  const targets = new Map(images.map(({ name, target }) => [name, target]));
  return new Map(
    listed
      .map((image): [string, string[]] => [
        image.id,
        targetsNamedBy(image, targets).filter((target) => blobs.has(target)),
      ])
      .filter(([, ofImage]) => ofImage.length > 0),
  );
}

/** containerd keeps an image under each of its names, and under its id. */
function targetsNamedBy(
  { id, repoTags, repoDigests }: ListedNames,
  targets: ReadonlyMap<string, string>,
): string[] {
  const found = [id, ...repoTags, ...repoDigests].flatMap((name) => targets.get(name) ?? []);
  return [...new Set(found)];
}
