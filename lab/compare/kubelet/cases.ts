import fc from 'fast-check';
import { decide } from '../../../packages/deciders/container-gc/decide.ts';
import { planImages } from '../../../packages/deciders/image-gc/plan-images.ts';
import type { CompleteInventory, InventoryContainer } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { filesystems } from '../../../test/fixtures/filesystems.ts';
import { keepList } from '../../../test/fixtures/policy.ts';
import { reclaim } from '../../../test/fixtures/reclaim.ts';
import { NOW } from '../../../test/fixtures/time.ts';
import {
  arbitraryContainerNode,
  arbitraryContainerPolicy,
} from '../../../test/packages/deciders/container-gc/arbitrary.ts';
import {
  configured,
  type KubeletCase,
  kubeletCases,
  told,
} from '../../../test/packages/deciders/image-gc/support/kubelet-cases.ts';
import type { CollectorName } from './options.ts';

/** A node as the program with the kubelet's collectors reads it, and what FleetGC removes of it. */
export interface ComparedNode {
  readonly given: Readonly<Record<string, unknown>>;
  readonly removed: readonly string[];
  /** The kubelet goes through a map in whatever order it gives: which goes first is chance. */
  readonly isOrdered: boolean;
}

/**
 * The kubelet reads the clock, so no age is equal to a limit: ages are whole seconds and a few milliseconds, limits lie half a second
 * beside. And no two ages are equal, since the kubelet takes equals in any order.
 */
const BESIDE_MS = 500;
const beside = (limitMs: number): number => (limitMs === 0 ? 0 : limitMs + BESIDE_MS);

function imageNode({
  given,
  isForced,
}: {
  readonly given: KubeletCase;
  readonly isForced: boolean;
}): ComparedNode {
  const { node, options } = given;
  const images = node.images.map((image, index) => ({
    ...image,
    firstDetected: image.firstDetected - index,
    // Used at the very moment of the pass, and so also after its beginning.
    lastUsed: image.lastUsed === NOW ? NOW + BESIDE_MS : image.lastUsed,
  }));
  const compared: KubeletCase = {
    ...given,
    node: { ...node, images },
    options: {
      ...options,
      minAge: options.minAge + BESIDE_MS,
      maxAge: beside(options.maxAge),
    },
  };
  const { high, low, minAge, maxAge } = compared.options;
  const planned = planImages(told(compared), configured(compared), isForced ? 'forced' : 'periodic');
  return {
    given: {
      images: {
        images: images.map(({ id, size, pinned, firstDetected, lastUsed }) => ({
          id,
          size,
          pinned,
          detectedAgoMs: NOW - firstDetected,
          usedAgoMs: lastUsed === 0 ? null : NOW - lastUsed,
        })),
        usedImages: node.containerImages,
        startedAgoMs: NOW - node.beganGc,
        capacity: node.capacity,
        available: node.available,
        high,
        low,
        minAgeMs: minAge,
        maxAgeMs: maxAge,
        forced: isForced,
      },
    },
    removed: planned.removals.map(({ image }) => image.id),
    isOrdered: true,
  };
}

const NS_PER_MS = 1_000_000n;

/** Each made a little earlier than the one before it. */
const madeApart = <One extends { readonly createdAtNs: string }>(all: readonly One[]): One[] =>
  all.map((one, index) => ({
    ...one,
    createdAtNs: String(msOf(one) * NS_PER_MS - BigInt(index) * NS_PER_MS),
  }));

const msOf = ({ createdAtNs }: { readonly createdAtNs: string }): bigint => BigInt(createdAtNs) / NS_PER_MS;
const createdAgoMs = (one: { readonly createdAtNs: string }): number => NOW - Number(msOf(one));

const plainContainer = (one: InventoryContainer): InventoryContainer => ({
  ...one,
  backoff: null,
  logPath: null,
});

interface ContainerCase {
  readonly base: CompleteInventory;
  readonly settings: Policy;
  readonly isForced: boolean;
}

/** Without what the kubelet does not know: backoff, paths of logs, kept namespaces, and what FleetGC does about logs by itself. */
function containerNode({ base, settings, isForced }: ContainerCase): ComparedNode {
  const given: CompleteInventory = {
    ...base,
    containers: madeApart(base.containers.map(plainContainer)),
    sandboxes: madeApart(base.sandboxes.map((one) => ({ ...one, backoff: null }))),
    podLogDirectories: null,
    logSymlinks: null,
    filesystems: filesystems({ availableBytes: '100' }),
    reclaim: isForced
      ? reclaim({ step: 'containers', cause: { ...reclaim().cause, signal: 'nodefs.available' } })
      : null,
  };
  const policy: Policy = {
    ...settings,
    profile: 'kubelet',
    keep: keepList(),
    maximumDeadContainerAgeMs: null,
    minimumContainerTTLMs: settings.minimumContainerTTLMs + BESIDE_MS,
  };
  const removable = (which: 'contentRemovable' | 'runtimeRemovable'): readonly string[] =>
    given.pods.filter((pod) => pod.state !== 'unknown' && pod[which]).map(({ uid }) => uid);
  return {
    given: {
      containers: {
        containers: given.containers.map((one) => ({
          id: one.id,
          name: one.name,
          podUid: one.pod?.uid ?? '',
          sandboxId: one.sandboxId,
          state: one.state,
          createdAgoMs: createdAgoMs(one),
        })),
        sandboxes: given.sandboxes.map((one) => ({
          id: one.id,
          podUid: one.podUid,
          ready: one.state === 'ready',
          createdAgoMs: createdAgoMs(one),
        })),
        contentRemovable: removable('contentRemovable'),
        runtimeRemovable: removable('runtimeRemovable'),
        allSourcesReady: given.allSourcesReady,
        minAgeMs: policy.minimumContainerTTLMs,
        maxPerPod: policy.maximumDeadContainersPerContainer,
        maxContainers: policy.maximumDeadContainers,
        forced: isForced,
      },
    },
    removed: decide(given, policy).items.map(({ id }) => id),
    isOrdered: false,
  };
}

const NODES: Readonly<Record<CollectorName, fc.Arbitrary<ComparedNode>>> = {
  images: fc.record({ given: kubeletCases, isForced: oneIn(4) }).map(imageNode),
  containers: fc
    .record({ base: arbitraryContainerNode, settings: arbitraryContainerPolicy, isForced: oneIn(4) })
    .map(containerNode),
};

function oneIn(count: number): fc.Arbitrary<boolean> {
  return fc.integer({ min: 1, max: count }).map((drawn) => drawn === 1);
}

/** The same for the same seed. */
export const drawnNodes = (
  collector: CollectorName,
  numRuns: number,
  seed: number,
): readonly ComparedNode[] => fc.sample(NODES[collector], { numRuns, seed });
