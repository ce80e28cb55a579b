import { sha256Hex } from '../../../packages/canonical/ids.ts';
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

/** Something of an image that lies on the disk once, however many images have it. */
export interface ContentPiece {
  readonly kind: 'blob' | 'snapshot';
  /** Of a snapshot its chain id. */
  readonly digest: string;
  /** Of a snapshot; empty where it has none. */
  readonly parent: string;
  readonly sizeBytes: bigint;
}

export const pieceKey = ({ kind, digest }: Pick<ContentPiece, 'kind' | 'digest'>): string =>
  `${kind} ${digest}`;

/** The packed blobs of an image and its snapshots, from the lowest layer up; a blob of nothing was discarded. */
export function contentOf(
  image: Pick<SimulatedImage, 'id' | 'sizeBytes' | 'layers'>,
): readonly ContentPiece[] {
  const pieces: ContentPiece[] = [];
  let parent = '';
  for (const { digest, packedBytes, unpackedBytes } of layersOf(image)) {
    if (packedBytes > 0n) pieces.push({ kind: 'blob', digest, parent: '', sizeBytes: packedBytes });
    const chainId = parent === '' ? digest : `sha256:${sha256Hex(`${parent} ${digest}`)}`;
    pieces.push({ kind: 'snapshot', digest: chainId, parent, sizeBytes: unpackedBytes });
    parent = chainId;
  }
  return pieces;
}

const layersOf = ({
  id,
  sizeBytes,
  layers,
}: Pick<SimulatedImage, 'id' | 'sizeBytes' | 'layers'>): readonly SimulatedLayer[] =>
  layers ?? [{ digest: id, packedBytes: 0n, unpackedBytes: sizeBytes }];

/** What a pull of a reference gives; `undefined` when there is no such image. */
export type Registry = (reference: string) => RegistryImage | undefined;

const SMALLEST_BYTES = 20_000_000n;
const SPREAD_BYTES = 400_000_000n;

/** Part of an image that all versions of its application have in common. */
const BASE_PERCENT = 40n;

/** Has every image that is asked for: what it is follows from its name, its size from the catalogue where that has it. */
export const boundlessRegistry = (reference: string): RegistryImage => {
  const hash = sha256Hex(reference);
  const application = CATALOGUE.find(({ repository }) => reference.startsWith(`${repository}:`));
  return {
    id: `sha256:${hash}`,
    labels: {},
    digest: `sha256:${sha256Hex(hash)}`,
    sizeBytes: application?.sizeBytes ?? SMALLEST_BYTES + (BigInt(`0x${hash.slice(0, 12)}`) % SPREAD_BYTES),
    ...(application && { layers: versionLayers(application, reference) }),
  };
};

function versionLayers({ repository, sizeBytes }: Application, reference: string): SimulatedLayer[] {
  const baseBytes = (sizeBytes * BASE_PERCENT) / 100n;
  return [
    { digest: `sha256:${sha256Hex(`base of ${repository}`)}`, packedBytes: 0n, unpackedBytes: baseBytes },
    {
      digest: `sha256:${sha256Hex(`own of ${reference}`)}`,
      packedBytes: 0n,
      unpackedBytes: sizeBytes - baseBytes,
    },
  ];
}

/** A program of which new versions keep being released. */
export interface Application {
  readonly repository: string;
  readonly sizeBytes: bigint;
  /** One application runs as a single container, or with another beside it. */
  readonly sidecar?: string;
}

const MB = 1_000_000n;
const PROXY = 'registry.example/platform/proxy:1.30.2';

/** The most often deployed first. Sizes are those that such images have on disk. */
export const CATALOGUE: readonly [Application, ...Application[]] = [
  { repository: 'registry.example/shop/checkout', sizeBytes: 310n * MB, sidecar: PROXY },
  { repository: 'registry.example/shop/catalogue', sizeBytes: 280n * MB },
  { repository: 'registry.example/shop/recommendations', sizeBytes: 1_450n * MB },
  { repository: 'registry.example/payments/ledger', sizeBytes: 420n * MB, sidecar: PROXY },
  { repository: 'registry.example/search/indexer', sizeBytes: 690n * MB },
  { repository: 'registry.example/web/storefront', sizeBytes: 190n * MB },
  { repository: 'registry.example/data/nightly-report', sizeBytes: 880n * MB },
  { repository: 'registry.example/ci/build-tools', sizeBytes: 1_900n * MB },
  { repository: 'registry.example/mail/sender', sizeBytes: 150n * MB },
  { repository: 'registry.example/media/thumbnailer', sizeBytes: 540n * MB },
  { repository: 'registry.example/ml/fraud-model', sizeBytes: 2_300n * MB },
  { repository: 'registry.example/platform/log-shipper', sizeBytes: 95n * MB },
];

/** The image of an application's n-th release: the twelfth is `1.2.2`. */
export const versionOf = ({ repository }: Application, release: number): string =>
  `${repository}:1.${Math.floor(release / 5)}.${release % 5}`;

export const applicationName = ({ repository }: Application): string =>
  repository.slice(repository.lastIndexOf('/') + 1);

export const applicationNamespace = ({ repository }: Application): string => repository.split('/')[1] ?? '';
