import type { Doubt } from '../../../packages/decision/conclusion.ts';
import {
  believeUsage,
  type FilesystemUsage,
} from '../../../packages/decision/thresholds/filesystem-usage.ts';
import { targetBytes, usagePercent } from '../../../packages/decision/thresholds/usage-thresholds.ts';
import type { Wanted } from '../../../packages/decision/thresholds/wanted-reclaim.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { meetsHighThreshold, ownTarget } from './own-thresholds.ts';
import { type KeepTurn, keepTurn } from './turn.ts';

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
  | { readonly kind: 'keep'; readonly turn: KeepTurn }
  | { readonly kind: 'doubt'; readonly doubt: Doubt };

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
  return { kind: 'keep', turn: notMet(imagefs.usage, policy) };
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
    ? { kind: 'keep', turn: notMet(believed.usage, policy) }
    : { kind: 'target', target, because: '', oneAtLeast: isKubelet };
}

const lowThreshold = (usage: FilesystemUsage, policy: Policy): ReclaimTarget => ({
  filesystem: 'imagefs',
  resource: 'availableBytes',
  atLeast: String(targetBytes(usage, policy)),
});

const notMet = (usage: FilesystemUsage, { imageGCHighThresholdPercent: high }: Policy): KeepTurn =>
  keepTurn(
    'D6',
    `imagefs is used to ${usagePercent(usage)}%, and no threshold is met (high threshold ${high}%)`,
  );
