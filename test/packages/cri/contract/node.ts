import { expect } from 'vitest';
import { readListing } from '../../../../packages/cri/listing.ts';
import type { CompleteListing } from '../../../../packages/cri/listing-types.ts';
import type { RuntimeReader, RuntimeRemover } from '../../../../packages/cri/port.ts';
import {
  type ContainerSpec,
  kubeletLabels,
  type PodSpec,
  type Workload,
} from '../../../support/nodes/cri-workload.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { RuntimeTraits } from './traits.ts';

export const SETTLE_MS = 10_000;

export interface PulledImage {
  readonly reference: string;
  readonly id: string;
  readonly repoDigest: string;
}

export interface LayerSizes {
  readonly baseBytes: number;
  readonly ownBytes: number;
}

/** A node that the contract can be tried on, real or not. */
export interface ContractNode extends AsyncDisposable {
  readonly endpoint: string;
  /** Where it is read: the same, or a socket on which it can only be read. */
  readonly readingEndpoint: string;
  readonly sandboxImage: string;
  /** Pulls an image that is not there yet; `name` is new in each test. */
  pull(name: string): Promise<PulledImage>;
  /** Pulls images of which each has a layer of `ownBytes`, and all have one of `baseBytes` in common. */
  pullSharing(names: readonly string[], sizes: LayerSizes): Promise<readonly PulledImage[]>;
  /** What the disk of its images has free. */
  availableBytes(): Promise<number>;
  /** Puts an image with these labels there, without a pull. Resolves to its id. */
  importLabelled(name: string, labels: Readonly<Record<string, string>>): Promise<string>;
  /** Imports an image under a name with a digest, as a pull leaves one. Resolves to its id. */
  importWithDigest(name: string): Promise<string>;
  /** The same, and gives its manifest the label that a pull leaves, as K3s does. Resolves to its id. */
  importLikePulled(name: string): Promise<string>;
  /** Gives a listed image one more name. */
  tag(reference: string, another: string): Promise<void>;
  /** An existing directory for a pod's logs. */
  logDirectory(pod: string): Promise<string>;
  /** Ends the container's process from outside, as a crash does. */
  crash(containerId: string): Promise<void>;
  killRuntime(): Promise<void>;
  startRuntime(): Promise<void>;
  /** Connections stay open and nothing answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface Tried {
  readonly traits: RuntimeTraits;
  readonly node: ContractNode;
  readonly runtime: RuntimeReader & RuntimeRemover & Disposable;
  readonly workload: Workload;
}

export const UNKNOWN_ID = '0'.repeat(64);

export const expectStopOfUnknown = ({ traits }: Tried, stop: Promise<void>): Promise<void> =>
  traits.stopsUnknown
    ? expect(stop).resolves.toBeUndefined()
    : expect(stop).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });

/** Containers settle for a moment after they were started or stopped. */
export const listingOf = (runtime: RuntimeReader): Promise<CompleteListing> =>
  waitUntil('a complete listing', SETTLE_MS, async () => {
    const listing = await readListing(runtime);
    return listing.status === 'complete' && listing;
  });

export interface NewContainer {
  readonly pod: PodSpec;
  readonly spec: ContainerSpec;
  readonly sandboxId: string;
  readonly containerId: string;
}

export async function podNamed({ node }: Tried, name: string): Promise<PodSpec> {
  const identity = { name, uid: `uid-of-${name}`, namespace: 'contract' };
  const logDirectory = await node.logDirectory(name);
  return { ...identity, attempt: 0, logDirectory, labels: kubeletLabels(identity) };
}

/** As good programs do; CRI-O waits ten seconds for others. */
const ENDS_WHEN_ASKED = ['/bin/busybox', 'sh', '-c', 'trap exit TERM; /bin/busybox sleep 1000000 & wait'];

export async function newContainer(
  tried: Tried,
  name: string,
  image: PulledImage,
  mounted?: PulledImage,
): Promise<NewContainer> {
  const pod = await podNamed(tried, name);
  const sandboxId = await tried.workload.runSandbox(pod);
  const spec: ContainerSpec = {
    name: 'main',
    attempt: 0,
    image: image.id,
    command: ENDS_WHEN_ASKED,
    logPath: 'main/0.log',
    labels: { ...pod.labels, 'io.kubernetes.container.name': 'main' },
    imageMounts: mounted ? [{ containerPath: '/mounted', image: mounted.reference }] : [],
  };
  const containerId = await tried.workload.createContainer(sandboxId, pod, spec);
  return { pod, spec, sandboxId, containerId };
}

export async function runContainer(tried: Tried, name: string, image: PulledImage): Promise<NewContainer> {
  const container = await newContainer(tried, name, image);
  await tried.workload.startContainer(container.containerId);
  return container;
}
