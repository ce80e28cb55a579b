import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { ReclaimTarget } from '../../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { KeepingDoubt } from '../../../decision/conclusion.ts';
import { OWN_RULES } from '../../../decision/own-rules.ts';
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
import { type Wanted, wantedNow } from '../../../decision/thresholds/wanted-reclaim.ts';
import { nodeDoubts } from './doubts.ts';
import {
  doubtfulPass,
  type ImagePass,
  type KeepingPass,
  type KnownShortfall,
  keepingPass,
  type RemovingPass,
} from './pass.ts';

/** Why room is made, and whether it is done: a plan that somebody asks for assumes that a signal forces it, whatever the disk says. */
interface MakingRoom {
  readonly mode: SpaceMode;
  readonly isForCommand: boolean;
}

/** Removal to make room: for the reclaim that the inventory answers, or without one as the policy alone says. */
export function spacePass(
  inventory: CompleteInventory,
  policy: Policy,
  { mode, isForCommand }: MakingRoom,
): ImagePass {
  const wanted = inventory.reclaim && wantedNow(inventory.reclaim, inventory.filesystems, policy);
  const aim = wanted ? orderedAim(wanted, inventory, policy, mode) : ownAim(inventory, policy, mode);
  const measured = measure(aim, inventory);
  const notBelieved = [
    ...nodeDoubts(inventory, policy),
    ...(measured.kind === 'doubt' ? [measured.doubt] : []),
  ];
  // The kubelet forces its pass while the signal is met, of which an order alone is no proof (J22).
  const takesAll = mode === 'forced' && policy.profile === 'kubelet' && (wanted?.isPressed || !isForCommand);
  const pass =
    notForImages(wanted) ?? doubtfulPass(notBelieved, unmet(measured)) ?? aimedPass(measured, takesAll);
  return { ...pass, notBelieved, reclaim: wanted?.reclaim ?? null };
}

type Measured =
  | Exclude<Aim, { kind: 'target' }>
  | (Extract<Aim, { kind: 'target' }> & { readonly lack: KnownShortfall });

function measure(aim: Aim, inventory: CompleteInventory): Measured {
  if (aim.kind !== 'target') return aim;
  const lack = shortfall(inventory, aim.target);
  return lack.kind === 'doubt' ? lack : { ...aim, lack };
}

function notForImages(wanted: Wanted | null): KeepingPass | undefined {
  if (wanted?.reclaim.step === 'containers')
    return keepingPass('P6', `${OWN_RULES.P6}; this one is at its step "containers"`, 'waits-for-containers');
  return wanted?.unwanted ? keepingPass(wanted.unwanted.rule, wanted.unwanted.reason) : undefined;
}

const unmet = (measured: Measured): KnownShortfall | null =>
  measured.kind === 'target' && measured.lack.missing > 0n ? measured.lack : null;

function aimedPass(measured: Measured, takesAll: boolean): RemovingPass | KeepingPass {
  switch (measured.kind) {
    case 'keep':
      return measured.pass;
    case 'doubt':
      return keepingPass(measured.doubt.rule, measured.doubt.message, 'not-believed');
    case 'everything':
      return { ...EVERYTHING, lack: null };
    case 'target':
      return takesAll ? { ...EVERYTHING, lack: measured.lack } : towards(measured);
  }
}

const EVERYTHING = {
  kind: 'remove',
  goal: { kind: 'none' },
  why: 'forced: every image goes that nothing protects',
} as const;

function towards({
  lack,
  because,
  oneAtLeast,
}: Extract<Measured, { kind: 'target' }>): RemovingPass | KeepingPass {
  const { missing, availableNow, resource } = lack;
  const isBytes = resource === 'availableBytes';
  // The kubelet, which takes one at least, knows no target in inodes (D13, M13).
  if (missing <= 0n && !(oneAtLeast && isBytes)) {
    const reached = isBytes ? `${availableNow} bytes are available` : `${availableNow} inodes are free`;
    return keepingPass('D12', `${because}the target is reached: ${reached}`);
  }
  return isBytes ? forBytes(lack, because, oneAtLeast) : forInodes(lack, because);
}

const forBytes = (lack: KnownShortfall, because: string, oneAtLeast: boolean): RemovingPass => ({
  kind: 'remove',
  goal: { kind: 'bytes', missing: lack.missing, oneAtLeast },
  lack,
  why: `${because}${lack.missing} bytes are missing to the target`,
});

/** Sizes do not tell how many inodes an image frees (M13). */
const forInodes = (lack: KnownShortfall, because: string): RemovingPass => ({
  kind: 'remove',
  goal: { kind: 'none' },
  lack,
  why: `${because}${lack.missing} inodes are missing to the target; sizes do not tell which images free them, so they go in order until the node measures that it is enough`,
});

/** Room made because image GC's own thresholds ask for it (D), or because an eviction signal forces it (F). */
type SpaceMode = 'usage' | 'forced';

/** What a removal to make room aims for. */
type Aim =
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
function orderedAim(
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
function ownAim({ filesystems }: CompleteInventory, policy: Policy, mode: SpaceMode): Aim {
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

function shortfall({ filesystems }: CompleteInventory, target: ReclaimTarget): Shortfall {
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
