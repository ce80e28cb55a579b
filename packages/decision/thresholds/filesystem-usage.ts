import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
} from '../../../schemas/events/filesystem.ts';
import type { ReclaimAction } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { KeepingDoubt } from '../conclusion.ts';
import type { KeptRule } from '../rule-text.ts';

interface Doubted {
  readonly kind: 'doubt';
  readonly doubt: KeepingDoubt;
}

/** Bytes of one filesystem, exact at any size (D6). */
export interface FilesystemUsage {
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
}

type BelievedUsage = { readonly kind: 'usage'; readonly usage: FilesystemUsage } | Doubted;

/** Takes the bytes of a reading at their word, or says why not. */
export function believeUsage(name: FilesystemName, reading: FilesystemReading | null): BelievedUsage {
  const share = believeShare(name, reading && [reading.capacityBytes, reading.availableBytes], BYTES);
  if (share.kind === 'doubt') return share;
  return { kind: 'usage', usage: { capacityBytes: share.whole, availableBytes: share.free } };
}

/** Inodes of one filesystem. */
interface InodeUsage {
  readonly inodes: bigint;
  readonly free: bigint;
}

type BelievedInodes = { readonly kind: 'inodes'; readonly inodes: InodeUsage } | Doubted;

/** As `believeUsage`, for inodes: a filesystem that makes them as it goes reports 0 of them, which tells nothing. */
export function believeInodes(name: FilesystemName, reading: FilesystemReading | null): BelievedInodes {
  const share = believeShare(name, reading && [reading.inodes, reading.inodesFree], INODES);
  return share.kind === 'doubt'
    ? share
    : { kind: 'inodes', inodes: { inodes: share.whole, free: share.free } };
}

/** How a doubt calls what is counted. */
interface Words {
  readonly whole: string;
  readonly free: string;
  readonly none: string;
  readonly counted: string;
}

const BYTES: Words = {
  whole: 'capacity',
  free: 'available space',
  none: 'a capacity of 0 bytes',
  counted: 'bytes available',
};
const INODES: Words = {
  whole: 'number of inodes',
  free: 'free inodes',
  none: '0 inodes in all',
  counted: 'inodes free',
};

interface Share {
  readonly kind: 'share';
  readonly whole: bigint;
  readonly free: bigint;
}

/**
 * A missing value is not zero (A1), a capacity of zero is no disk (D5), and more available than there is in all is
 * nonsense, which is refused where the kubelet cuts it down (D4, M37).
 */
function believeShare(
  name: FilesystemName,
  read: readonly [whole: string | null, free: string | null] | null,
  words: Words,
): Share | Doubted {
  if (read === null) return doubt('A1', `${name} could not be read`);
  const [wholeText, freeText] = read;
  if (wholeText === null) return doubt('A1', `the ${words.whole} of ${name} could not be read`);
  if (freeText === null) return doubt('A1', `the ${words.free} of ${name} could not be read`);
  const [whole, free] = [BigInt(wholeText), BigInt(freeText)];
  if (whole === 0n) return doubt('D5', `${name} reports ${words.none}`);
  if (free > whole) return doubt('M37', `${name} reports ${free} ${words.counted} of ${whole} in all`);
  return { kind: 'share', whole, free };
}

const doubt = (rule: KeptRule, message: string): Doubted => ({
  kind: 'doubt',
  doubt: { rule, message: `${message}: no decision rests on it` },
});

/** Causes of reclaims that the usage thresholds of image GC began: in percent (D), absolute (M39), of inodes (M13). */
export const USAGE_SIGNALS = {
  percent: 'imageGC',
  available: 'imageGCAvailable',
  inodes: 'imageGCInodes',
} as const;
export type UsageSignal = (typeof USAGE_SIGNALS)[keyof typeof USAGE_SIGNALS];
export const isUsageSignal = (signal: string): signal is UsageSignal =>
  Object.values<string>(USAGE_SIGNALS).includes(signal);

/**
 * Whether the two percentages remove nothing at all: with a maximum age set, the kubelet runs its pass at a high threshold
 * of 100 too, and a disk of which nothing is left then meets it (D1, D2).
 */
export const isUsageGcOff = ({
  imageGCHighThresholdPercent,
  imageMaximumGCAgeMs,
}: Pick<Policy, 'imageGCHighThresholdPercent' | 'imageMaximumGCAgeMs'>): boolean =>
  imageGCHighThresholdPercent === 100 && imageMaximumGCAgeMs === 0;

/** Rounded up, since the free share is rounded down: 84.1 % counts as 85 % (D6). */
export const usagePercent = ({ capacityBytes, availableBytes }: FilesystemUsage): bigint =>
  100n - (availableBytes * 100n) / capacityBytes;

/** Available bytes at the low threshold, rounded down (D6). */
export const targetBytes = (
  { capacityBytes }: Pick<FilesystemUsage, 'capacityBytes'>,
  { imageGCLowThresholdPercent }: Pick<Policy, 'imageGCLowThresholdPercent'>,
): bigint => (capacityBytes * BigInt(100 - imageGCLowThresholdPercent)) / 100n;

/** As `usagePercent`, of inodes (M13). */
export const usedInodesPercent = ({ inodes, free }: InodeUsage): bigint => 100n - (free * 100n) / inodes;

/** As `targetBytes`, of inodes (M13). */
export const targetInodes = (
  { inodes }: Pick<InodeUsage, 'inodes'>,
  { lowThresholdPercent }: NonNullable<Policy['imageGCInodes']>,
): bigint => (inodes * BigInt(100 - lowThresholdPercent)) / 100n;

/**
 * Where a node keeps what: all on one filesystem; images and writable layers together on their own; or images on their
 * own, and writable layers elsewhere.
 */
export type Layout = 'single' | 'dedicated' | 'split';

/**
 * The layout by the devices of one reading (J1, J2), and by no other: nothing is remembered, so a wrong reading is
 * corrected by the next (J3). `null` when a filesystem could not be read.
 */
export function layoutOf({ nodefs, imagefs, containerfs }: FilesystemReadings): Layout | null {
  if (nodefs === null || imagefs === null || containerfs === null) return null;
  if (imagefs.device === nodefs.device) return 'single';
  return imagefs.device === containerfs.device ? 'dedicated' : 'split';
}

const CONTAINERS: readonly ReclaimAction[] = ['containers'];
const IMAGES: readonly ReclaimAction[] = ['images'];
/** Containers first, since a dead one keeps its image in use (J21, M20). */
const BOTH: readonly ReclaimAction[] = ['containers', 'images'];

/** What frees space or inodes of a filesystem (J5, J7), in that order. */
const ACTIONS: Readonly<Record<Layout, Readonly<Record<FilesystemName, readonly ReclaimAction[]>>>> = {
  single: { nodefs: BOTH, imagefs: BOTH, containerfs: BOTH },
  dedicated: { nodefs: [], imagefs: BOTH, containerfs: BOTH },
  split: { nodefs: CONTAINERS, imagefs: IMAGES, containerfs: CONTAINERS },
};

/** Empty where garbage collection frees nothing. The logs of dead containers lie on nodefs in every layout (M25). */
export function actionsFor(
  layout: Layout,
  filesystem: FilesystemName,
  { profile }: Pick<Policy, 'profile'>,
): readonly ReclaimAction[] {
  const holdsLogsAlone = layout === 'dedicated' && filesystem === 'nodefs';
  return holdsLogsAlone && profile === 'fleetgc' ? CONTAINERS : ACTIONS[layout][filesystem];
}

/** The filesystem whose thresholds hold for containerfs too (J6). */
export const CONTAINERFS_LIKE: Readonly<Record<Layout, 'nodefs' | 'imagefs'>> = {
  single: 'nodefs',
  dedicated: 'imagefs',
  split: 'nodefs',
};
