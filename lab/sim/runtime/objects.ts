import type { RuntimeContainerState } from '../../../packages/cri/port.ts';

/**
 * Which runtime is played: `old` as containerd 1.6 (no image id on containers, no pinned images, no events, tells its
 * sandbox image), `current` as containerd 2.
 */
export type RuntimeAge = 'old' | 'current';

/** A layer as it lies on a node. */
export interface SimulatedLayer {
  readonly digest: string;
  /** In the content store; 0 where it was discarded once it was unpacked. */
  readonly packedBytes: bigint;
  readonly unpackedBytes: bigint;
}

/** An image as a registry has it. */
export interface RegistryImage {
  readonly id: string;
  /** `sha256:…` of the manifest; empty for an image that was only imported. */
  readonly digest: string;
  readonly sizeBytes: bigint;
  readonly labels: Readonly<Record<string, string>>;
  /** From the lowest up. Left out: one that no other image has, as large as the image. */
  readonly layers?: readonly SimulatedLayer[];
}

export interface SimulatedImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: bigint;
  readonly pinned: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Else it was imported. */
  readonly isPulled: boolean;
  /** Of an imported one: whether its manifest has the label that a pull leaves. */
  readonly hasPullLabel?: boolean;
  readonly layers?: readonly SimulatedLayer[];
}

export interface SimulatedSandbox {
  readonly id: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace: string;
    readonly attempt: number;
  };
  readonly logDirectory: string;
  readonly createdAtNs: bigint;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly image: string;
  state: 'ready' | 'notReady';
}

/** What is asked for when a container is created. */
export interface ContainerRequest {
  readonly sandboxId: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  readonly userSpecifiedImage: string;
  readonly mountedImages: readonly { readonly containerPath: string; readonly image: string }[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Relative to the sandbox's log directory; empty for no log. */
  readonly logPath: string;
}

export interface SimulatedContainer extends ContainerRequest {
  readonly id: string;
  readonly imageId: string;
  readonly createdAtNs: bigint;
  /** Absolute, or empty. */
  readonly logFile: string;
  state: RuntimeContainerState;
  startedAtNs: bigint;
  finishedAtNs: bigint;
}
