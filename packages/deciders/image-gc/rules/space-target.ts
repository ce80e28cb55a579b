import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { ReclaimTarget } from '../../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { KeepingDoubt } from '../../../decision/conclusion.ts';
import type { KeptRule } from '../../../decision/rule-text.ts';
import {
  believeInodes,
  believeUsage,
  type FilesystemUsage,
  isUsageGcOff,
  targetBytes,
  targetInodes,
  usagePercent,
  usedInodesPercent,
} from '../../../decision/thresholds/filesystem-usage.ts';
import type { Wanted } from '../../../decision/thresholds/wanted-reclaim.ts';
import { type KeepingPass, type KnownShortfall, keepingPass } from './pass.ts';

/** Room made because image GC's own thresholds ask for it (D), or because an eviction signal forces it (F). */
export type SpaceMode = 'usage' | 'forced';

/** What a removal to make room aims for. */
export type Aim =
  | {
      readonly kind: 'target';
      readonly target: ReclaimTarget;
      /** Why it is not the one that was ordered, as the beginning of a sentence. */
      readonly because: string;
      /** The kubelet looks at its target only after a removal (D13). */
      readonly oneAtLeast: boolean;
    }
  /** Every candidate goes, whatever the disk says (F3). */
  | { readonly kind: 'everything' }
  | { readonly kind: 'keep'; readonly pass: KeepingPass }
  | { readonly kind: 'doubt'; readonly doubt: KeepingDoubt };

/** The aim of a reclaim. The kubelet's own pass begins with a reading above the high threshold, or not at all (D6). */
export function orderedAim(
  { reclaim, shrunk }: Wanted,
  inventory: CompleteInventory,
  policy: Policy,
  mode: SpaceMode,
): Aim {
  const beginsPass = mode === 'usage' && policy.profile === 'kubelet' && reclaim.round === 1;
  const because = shrunk === null ? '' : `${shrunk}; `;
  const target = { kind: 'target', target: reclaim.target, because, oneAtLeast: beginsPass } as const;
  return beginsPass ? (noPassBegins(inventory, policy) ?? target) : target;
}

function noPassBegins({ filesystems }: CompleteInventory, policy: Policy): Aim | undefined {
  const imagefs = believeUsage('imagefs', filesystems.imagefs);
  if (imagefs.kind === 'doubt') return imagefs;
  if (meetsHighThreshold(imagefs.usage, policy)) return undefined;
  return { kind: 'keep', pass: notMet(imagefs.usage, policy) };
}

/** What the policy alone asks for, without any order. */
export function ownAim({ filesystems }: CompleteInventory, policy: Policy, mode: SpaceMode): Aim {
  const isKubelet = policy.profile === 'kubelet';
  if (mode === 'forced' && isKubelet) return { kind: 'everything' };
  const believed = believeUsage('imagefs', filesystems.imagefs);
  if (believed.kind === 'doubt') return believed;
  const target =
    mode === 'usage'
      ? ownTarget(filesystems.imagefs, believed.usage, policy)
      : lowThreshold(believed.usage, policy);
  return target === null
    ? { kind: 'keep', pass: notMet(believed.usage, policy) }
    : { kind: 'target', target, because: '', oneAtLeast: isKubelet };
}

const lowThreshold = (usage: FilesystemUsage, policy: Policy): ReclaimTarget => ({
  filesystem: 'imagefs',
  resource: 'availableBytes',
  atLeast: String(targetBytes(usage, policy)),
});

const notMet = (usage: FilesystemUsage, { imageGCHighThresholdPercent: high }: Policy): KeepingPass =>
  keepingPass(
    'D6',
    `imagefs is used to ${usagePercent(usage)}%, and no threshold is met (high threshold ${high}%)`,
  );

/** Whether this reading meets the high threshold (D6). */
const meetsHighThreshold = (usage: FilesystemUsage, policy: Policy): boolean =>
  !isUsageGcOff(policy) && usagePercent(usage) >= BigInt(policy.imageGCHighThresholdPercent);

/** What the policy's own thresholds ask for on this reading, without any order; `null` when none is met (D6, M39, M13). */
function ownTarget(
  imagefs: FilesystemReading | null,
  usage: FilesystemUsage,
  policy: Policy,
): ReclaimTarget | null {
  const bytes = [
    ...(meetsHighThreshold(usage, policy) ? [targetBytes(usage, policy)] : []),
    ...absoluteTarget(usage, policy),
  ];
  const [first, ...others] = bytes;
  if (first === undefined) return inodesTarget(imagefs, policy);
  const most = others.reduce((a, b) => (a > b ? a : b), first);
  return { filesystem: 'imagefs', resource: 'availableBytes', atLeast: String(most) };
}

/** A limit beyond the end of the disk could never be reached (M39). */
function absoluteTarget(
  { availableBytes, capacityBytes }: FilesystemUsage,
  { imageGCAvailable }: Policy,
): bigint[] {
  if (imageGCAvailable === null || availableBytes >= BigInt(imageGCAvailable.startBelowBytes)) return [];
  const until = BigInt(imageGCAvailable.untilBytes);
  return until > capacityBytes ? [] : [until];
}

function inodesTarget(imagefs: FilesystemReading | null, { imageGCInodes }: Policy): ReclaimTarget | null {
  const believed = believeInodes('imagefs', imagefs);
  if (imageGCInodes === null || believed.kind === 'doubt') return null;
  const high = imageGCInodes.highThresholdPercent;
  if (high === 100 || usedInodesPercent(believed.inodes) < BigInt(high)) return null;
  const atLeast = String(targetInodes(believed.inodes, imageGCInodes));
  return { filesystem: 'imagefs', resource: 'inodesFree', atLeast };
}

type Shortfall = KnownShortfall | { readonly kind: 'doubt'; readonly doubt: KeepingDoubt };

export function shortfall({ filesystems }: CompleteInventory, target: ReclaimTarget): Shortfall {
  const { filesystem, resource, atLeast } = target;
  const reading = filesystems[filesystem];
  const bytes = believeUsage(filesystem, reading);
  const usedBytes = bytes.kind === 'usage' ? bytes.usage.capacityBytes - bytes.usage.availableBytes : 0n;
  const believed = resource === 'availableBytes' ? bytes : believeInodes(filesystem, reading);
  if (believed.kind === 'doubt') return believed;
  if (reading?.device !== filesystems.imagefs?.device)
    return doubt('A2', `images do not lie on the device of ${filesystem}`);
  const availableNow = 'usage' in believed ? believed.usage.availableBytes : believed.inodes.free;
  return { kind: 'known', resource, availableNow, missing: BigInt(atLeast) - availableNow, usedBytes };
}

const doubt = (rule: KeptRule, message: string): Shortfall => ({
  kind: 'doubt',
  doubt: { rule, message: `${message}: no image is removed for this target` },
});
