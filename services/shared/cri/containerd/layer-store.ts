import type { ContainerdReader, StoredBlob, StoredImage } from './reader.ts';

/** A blob, and what it keeps from being collected. */
export interface KeptBlob {
  readonly sizeBytes: number;
  /** Digests. */
  readonly content: readonly string[];
  readonly snapshots: readonly { readonly snapshotter: string; readonly name: string }[];
}

/** What containerd holds of images at one moment. */
export interface LayerStore {
  readonly images: readonly StoredImage[];
  /** By digest. */
  readonly blobs: ReadonlyMap<string, KeptBlob>;
  /** By snapshotter and name, the name of the parent; empty where it has none. */
  readonly parents: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Rejects where containerd does not answer in time, or is none. */
export async function readLayerStore(
  containerd: ContainerdReader,
  timeLeftMs: () => number,
): Promise<LayerStore> {
  const images = await containerd.images(timeLeftMs());
  const stored = await containerd.blobs(timeLeftMs());
  const blobs = new Map(stored.map((blob) => [blob.digest, keptBlob(blob)]));
  const used = [...blobs.values()].flatMap(({ snapshots }) => snapshots);
  const parents = new Map<string, ReadonlyMap<string, string>>();
  for (const snapshotter of new Set(used.map((one) => one.snapshotter))) {
    const snapshots = await containerd.snapshots(snapshotter, timeLeftMs());
    parents.set(snapshotter, new Map(snapshots.map(({ name, parent }) => [name, parent])));
  }
  return { images, blobs, parents };
}

/** Labels by which containerd's own garbage collector goes from an index to manifests, layers and snapshots. */
const CONTENT_LABEL = /^containerd\.io\/gc\.ref\.content([./]|$)/;
const SNAPSHOT_LABEL = /^containerd\.io\/gc\.ref\.snapshot\.([^/]+)/;

function keptBlob({ sizeBytes, labels }: StoredBlob): KeptBlob {
  // They come in any order.
  const entries = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    sizeBytes,
    content: entries.flatMap(([label, digest]) => (CONTENT_LABEL.test(label) ? [digest] : [])),
    snapshots: entries.flatMap(([label, name]) => {
      const snapshotter = SNAPSHOT_LABEL.exec(label)?.[1];
      return snapshotter === undefined ? [] : [{ snapshotter, name }];
    }),
  };
}
