import { type Dirent, readdirSync } from 'node:fs';
import type { Inventory, InventoryImage } from '../../../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../../../schemas/events/time.ts';
import type { PolicyRecord } from '../../../../../schemas/policy/policy.ts';
import type { TakeInventory } from '../../../../../services/node/executor/own-plan.ts';
import { filesystems } from '../../../../fixtures/filesystems.ts';
import {
  container,
  gonePod,
  image,
  inventory,
  logSymlink,
  podLogDirectory,
  sandbox,
} from '../../../../fixtures/inventory.ts';
import { policyRecord, threshold } from '../../../../fixtures/policy.ts';
import { HOUR } from '../../../../fixtures/time.ts';

/** Under it everything may go that an inventory says is old, dead or gone, down to an empty disk. */
export const AGREEING_POLICY: PolicyRecord = policyRecord({
  imageGCHighThresholdPercent: 1,
  imageGCLowThresholdPercent: 0,
  imageMaximumGCAgeMs: HOUR,
  evictionThresholds: [
    threshold('nodefs.available', 100),
    threshold('nodefs.inodesFree', 100),
    threshold('imagefs.available', 100),
    threshold('imagefs.inodesFree', 100),
  ],
  maximumDeadContainersPerContainer: 0,
  minimumCreatedContainerAgeMs: 60_000,
});

/** The same as the kubelet would have it. */
export const AGREEING_KUBELET_POLICY: PolicyRecord = {
  ...AGREEING_POLICY,
  policy: { ...AGREEING_POLICY.policy, profile: 'kubelet' },
};

/** What a node holds, by whatever it is simulated with. */
export interface Holding {
  readonly images: readonly { readonly id: string; readonly sizeBytes: bigint }[];
  readonly containers: readonly { readonly id: string }[];
  readonly sandboxes: readonly { readonly id: string }[];
  /** Of its one disk; 1000 when not given. */
  readonly capacityBytes?: string;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
}

/** In use, so that half of the listed images is no limit. */
const OTHERS: readonly InventoryImage[] = Array.from({ length: 110 }, (_, index) =>
  image(`other-${index}`, { usedBy: [{ kind: 'container', id: 'another' }] }),
);

/**
 * An inventory on which the node's own plan takes whatever it holds: all else that keeps an object is for the looks before
 * its removal to see.
 */
export function agreeingInventory(holding: Holding, takenAt: Instant, reclaim: Reclaim | null): Inventory {
  const directories = namesIn(holding.podLogsDir).map(podLogDirectory);
  const longAgo = takenAt.wallTimeMs - 10 * HOUR;
  return inventory({
    takenAt,
    reclaim,
    filesystems: filesystems({
      capacityBytes: holding.capacityBytes ?? '1000',
      availableBytes: '0',
      inodesFree: '0',
    }),
    imagesWatchedSinceMs: longAgo,
    images: [
      ...holding.images.map(({ id, sizeBytes }) =>
        image(id, { sizeBytes: Number(sizeBytes), firstDetectedMs: longAgo, lastUsedMs: longAgo }),
      ),
      ...OTHERS,
    ],
    containers: holding.containers.map(({ id }) =>
      container(id, { name: id, logPath: null, createdAtNs: `${longAgo}000000` }),
    ),
    sandboxes: holding.sandboxes.map(({ id }) => sandbox(id, { createdAtNs: `${longAgo}000000` })),
    pods: [...new Set(['pod-1', ...directories.map(({ podUid }) => podUid)])].map(gonePod),
    podLogDirectories: directories,
    logSymlinks: namesIn(holding.containerLogsDir).map((name) => logSymlink(name)),
  });
}

/** The same of pods that have ended and are not gone, of which all goes only in profile `kubelet`. */
export const ofEndedPods =
  (take: TakeInventory): TakeInventory =>
  async (reclaim, actions) => {
    const seen = await take(reclaim, actions);
    if (seen.status !== 'complete') return seen;
    return { ...seen, pods: seen.pods.map((pod) => ({ ...pod, state: 'known', initContainers: [] })) };
  };

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).map(({ name }: Dirent) => name);
  } catch {
    return [];
  }
}
