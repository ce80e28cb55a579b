import type { ImageUser } from '../../schemas/events/inventory.ts';

/** What the container runtime says, in our types: the wire is parsed in `client.ts` and nowhere else. */

export interface RuntimeVersion {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
}

/** A name for an image as CRI carries it; empty strings where the runtime says nothing. */
export interface ImageSpec {
  readonly image: string;
  readonly userSpecifiedImage: string;
  readonly imageRef: string;
  readonly runtimeHandler: string;
}

export interface RuntimeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: bigint;
  readonly pinned: boolean;
  readonly runtimeHandler: string;
}

/** What the builder of an image wrote on it; part of what its id is the hash of. */
export type ImageLabels = Readonly<Record<string, string>>;

export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface RuntimeContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: RuntimeContainerState;
  readonly createdAtNs: bigint;
  readonly image: ImageSpec;
  readonly imageRef: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface RuntimeContainerStatus {
  readonly id: string;
  readonly state: RuntimeContainerState;
  readonly createdAtNs: bigint;
  readonly startedAtNs: bigint;
  readonly finishedAtNs: bigint;
  readonly imageRef: string;
  readonly imageId: string;
  readonly logPath: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Image volumes: the images of mounts that have one. */
  readonly mountedImages: readonly ImageSpec[];
}

export interface RuntimeSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly attempt: number;
  readonly state: 'ready' | 'notReady';
  readonly createdAtNs: bigint;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface RuntimeSandboxStatus {
  readonly id: string;
  readonly state: 'ready' | 'notReady';
  /** The image the sandbox runs on, from the runtime's verbose answer; empty when it does not tell. */
  readonly image: string;
}

export interface RuntimeStatus {
  readonly runtimeReady: boolean;
  /** The image that new sandboxes get, from the runtime's verbose answer; empty when it does not tell. */
  readonly sandboxImage: string;
}

export interface RuntimeFilesystem {
  readonly mountpoint: string;
  readonly usedBytes: bigint | null;
  readonly inodesUsed: bigint | null;
}

export interface RuntimeImageFilesystems {
  readonly image: readonly RuntimeFilesystem[];
  readonly container: readonly RuntimeFilesystem[];
}

/** A sign that something about a container changed; only a reason to look. */
export interface RuntimeContainerEvent {
  readonly containerId: string;
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted';
}

/** Somebody who uses images and is in none of CRI's lists. */
export interface OtherUse {
  readonly user: ImageUser;
  /** Listed images that it certainly uses. */
  readonly imageIds: readonly string[];
  /** Names that it uses an image by. */
  readonly references: readonly string[];
}

/** Given the listed images, and the ids of all containers and sandboxes that CRI lists. */
export type OtherUses = (
  images: readonly RuntimeImage[],
  idsInCri: ReadonlySet<string>,
) => Promise<readonly OtherUse[]>;

/**
 * The reading half, which is all that the agent gets. Every call has a deadline and rejects with a `FleetGcError`
 * (`RUNTIME_MISSING`, `RUNTIME_REFUSED`, `RUNTIME_TIMEOUT`, `RUNTIME_UNSUPPORTED`, `RUNTIME_NOT_FOUND`,
 * `RUNTIME_FAILED`).
 */
export interface RuntimeReader {
  version(): Promise<RuntimeVersion>;
  status(): Promise<RuntimeStatus>;
  listImages(): Promise<readonly RuntimeImage[]>;
  listContainers(): Promise<readonly RuntimeContainer[]>;
  listSandboxes(): Promise<readonly RuntimeSandbox[]>;
  containerStatus(id: string): Promise<RuntimeContainerStatus>;
  sandboxStatus(id: string): Promise<RuntimeSandboxStatus>;
  /** From the runtime's verbose answer; `null` when it does not tell them. */
  imageLabels(id: string): Promise<ImageLabels | null>;
  imageFilesystems(): Promise<RuntimeImageFilesystems>;
  /** Not there where nothing beside CRI is asked. */
  readonly otherUses?: OtherUses;
  /** Ends with `RUNTIME_UNSUPPORTED` on runtimes without container events. */
  containerEvents(signal: AbortSignal): AsyncIterable<RuntimeContainerEvent>;
}

/** The removing half, which only the executor gets. `RUNTIME_NOT_FOUND` is for the caller to take as success (M31). */
export interface RuntimeRemover {
  /** Deadline 10 min, never cancelled by us. */
  removeImage(id: string): Promise<void>;
  stopContainer(id: string, timeoutSeconds: number): Promise<void>;
  removeContainer(id: string): Promise<void>;
  stopSandbox(id: string): Promise<void>;
  removeSandbox(id: string): Promise<void>;
}
