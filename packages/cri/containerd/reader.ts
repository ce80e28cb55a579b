import { status } from '@grpc/grpc-js';
import pMap from 'p-map';
import { FleetGcError } from '../../process/errors.ts';
import { type Connection, connect } from '../connection.ts';
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
  /** When the content store got it, in nanoseconds since the epoch; `null` when containerd does not say. */
  readonly createdAtNs: bigint | null;
  readonly labels: Readonly<Record<string, string>>;
}

export interface StoredSnapshot {
  /** Of an unpacked layer, its chain id. */
  readonly name: string;
  /** Empty when it has none. */
  readonly parent: string;
  /** Somebody writes to it or looks at it: a container, a pull that unpacks, or a person. */
  readonly isInUse: boolean;
}

/** A container of containerd that is none of CRI's. */
export interface StoredContainer {
  readonly id: string;
  /** A name of the image store; empty when it has none. */
  readonly image: string;
  readonly snapshotter: string;
  readonly snapshotKey: string;
}

/** What somebody asked containerd not to collect. */
export interface StoredLease {
  readonly id: string;
  /** `content` by digest, `snapshots/<snapshotter>` by name, and others. */
  readonly resources: readonly { readonly type: string; readonly id: string }[];
}

/**
 * Reads what containerd's own API tells beside CRI. Rejects with a `FleetGcError`: `RUNTIME_UNSUPPORTED` of a runtime that
 * has no such API, `RUNTIME_TIMEOUT` after `timeoutMs`, and as `RuntimeReader`.
 */
export interface ContainerdReader {
  images(timeoutMs: number): Promise<readonly StoredImage[]>;
  blobs(timeoutMs: number): Promise<readonly StoredBlob[]>;
  otherContainers(timeoutMs: number): Promise<readonly StoredContainer[]>;
  leases(timeoutMs: number): Promise<readonly StoredLease[]>;
  /** What is being fetched now, as the client that fetches it names it. */
  ingests(timeoutMs: number): Promise<readonly string[]>;
  /** None of a snapshotter that is not loaded: what is left of it nobody can use. */
  snapshots(snapshotter: string, timeoutMs: number): Promise<readonly StoredSnapshot[]>;
  /** What this snapshot takes on disk beyond its parent. */
  snapshotBytes(snapshotter: string, name: string, timeoutMs: number): Promise<number>;
}

/** CRI's own are in its lists, and their specifications would make the answer large. */
const NOT_OF_CRI = 'labels."io.cri-containerd.kind"!=container,labels."io.cri-containerd.kind"!=sandbox';

/** Leases asked for at the same time. */
const LEASE_CONCURRENCY = 8;

/** A lease that ended since it was listed holds nothing. */
function gone(error: unknown): Pick<StoredLease, 'resources'> {
  if (error instanceof FleetGcError && error.code === 'RUNTIME_NOT_FOUND') return { resources: [] };
  throw error;
}

function notLoaded(error: unknown): readonly [] {
  const { cause } = error instanceof FleetGcError ? error : {};
  if (cause instanceof Error && 'code' in cause && cause.code === status.INVALID_ARGUMENT) return [];
  throw error;
}

/** Nothing is contacted before the first call. */
export function connectContainerd(endpoint: string): ContainerdReader & Disposable {
  const connection = connect(endpoint, CRI_NAMESPACE);
  return { ...containerdOver(connection), [Symbol.dispose]: () => connection[Symbol.dispose]() };
}

/** The same over a connection that is there. */
export function containerdOver({ call, collect }: Pick<Connection, 'call' | 'collect'>): ContainerdReader {
  return {
    images: async (timeoutMs) => {
      const { images } = await call(METHODS.listStoredImages, {}, timeoutMs);
      return images.map(({ name, target }) => ({ name, target: target?.digest ?? '' }));
    },
    blobs: async (timeoutMs) => {
      const answers = await collect(METHODS.listContent, {}, timeoutMs);
      return answers.flatMap(({ info }) =>
        info.map(({ digest, size, createdAt, labels }) => ({
          digest,
          sizeBytes: size,
          createdAtNs: createdAt,
          labels,
        })),
      );
    },
    otherContainers: async (timeoutMs) =>
      (await collect(METHODS.listStoredContainers, { filters: [NOT_OF_CRI] }, timeoutMs)).map(
        ({ container }) => container,
      ),
    leases: async (timeoutMs) => {
      const { leases } = await call(METHODS.listLeases, {}, timeoutMs);
      return pMap(
        leases,
        async ({ id }) => {
          const resources = await call(METHODS.listLeaseResources, { id }, timeoutMs).catch(gone);
          return { id, ...resources };
        },
        { concurrency: LEASE_CONCURRENCY },
      );
    },
    ingests: async (timeoutMs) => {
      const { statuses } = await call(METHODS.listIngests, {}, timeoutMs);
      return statuses.map(({ ref, expected }) => `${ref} ${expected}`.trim());
    },
    snapshots: async (snapshotter, timeoutMs) => {
      const answers = await collect(METHODS.listSnapshots, { snapshotter }, timeoutMs).catch(notLoaded);
      return answers.flatMap(({ info }) =>
        info.map(({ name, parent, kind }) => ({ name, parent, isInUse: kind !== 'COMMITTED' })),
      );
    },
    snapshotBytes: async (snapshotter, key, timeoutMs) =>
      (await call(METHODS.snapshotUsage, { snapshotter, key }, timeoutMs)).size,
  };
}
