import { connect } from '../connection.ts';
import { CRI_NAMESPACE, CONTAINERD_METHODS as METHODS } from './methods.ts';

/** A name of containerd's image store. */
export interface StoredImage {
  readonly name: string;
  /** Digest of its index or manifest; empty when it has none. */
  readonly target: string;
}

/** What is really there of the content store; labels say what a blob keeps from being collected. */
export interface StoredBlob {
  readonly digest: string;
  readonly sizeBytes: number;
  readonly labels: Readonly<Record<string, string>>;
}

export interface StoredSnapshot {
  /** Of an unpacked layer, its chain id. */
  readonly name: string;
  /** Empty when it has none. */
  readonly parent: string;
}

/**
 * Reads what containerd's own API tells beside CRI. Rejects with a `FleetGcError`: `RUNTIME_UNSUPPORTED` of a runtime that
 * has no such API, `RUNTIME_TIMEOUT` after `timeoutMs`, and as `RuntimeReader`.
 */
export interface ContainerdReader {
  images(timeoutMs: number): Promise<readonly StoredImage[]>;
  blobs(timeoutMs: number): Promise<readonly StoredBlob[]>;
  snapshots(snapshotter: string, timeoutMs: number): Promise<readonly StoredSnapshot[]>;
  /** What this snapshot takes on disk beyond its parent. */
  snapshotBytes(snapshotter: string, name: string, timeoutMs: number): Promise<number>;
}

/** Nothing is contacted before the first call. */
export function connectContainerd(endpoint: string): ContainerdReader & Disposable {
  const { call, collect, ...connection } = connect(endpoint, CRI_NAMESPACE);
  return {
    images: async (timeoutMs) => {
      const { images } = await call(METHODS.listStoredImages, {}, timeoutMs);
      return images.map(({ name, target }) => ({ name, target: target?.digest ?? '' }));
    },
    blobs: async (timeoutMs) => {
      const answers = await collect(METHODS.listContent, {}, timeoutMs);
      return answers.flatMap(({ info }) =>
        info.map(({ digest, size, labels }) => ({ digest, sizeBytes: size, labels })),
      );
    },
    snapshots: async (snapshotter, timeoutMs) =>
      (await collect(METHODS.listSnapshots, { snapshotter }, timeoutMs)).flatMap(({ info }) => info),
    snapshotBytes: async (snapshotter, key, timeoutMs) =>
      (await call(METHODS.snapshotUsage, { snapshotter, key }, timeoutMs)).size,
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}
