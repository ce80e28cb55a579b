import type { Bucket, DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
} from '../../../../schemas/events/filesystem.ts';
import type { EvictionThreshold } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { filesystem } from '../../../fixtures/filesystems.ts';
import { policy } from '../../../fixtures/policy.ts';
import { instant } from '../../../fixtures/time.ts';

type Readings = Partial<Record<FilesystemName, Partial<FilesystemReading> | null>>;

/** The devices of each layout. */
export const SINGLE: Readings = {};
export const DEDICATED: Readings = { imagefs: { device: '8:2' }, containerfs: { device: '8:2' } };
export const SPLIT: Readings = { imagefs: { device: '8:2' } };

/** Readings of a node whose disks have 900 of 1000 bytes and of 1000 inodes free, unless they are said to differ. */
export function readings(layout: Readings, free: Readings = {}): FilesystemReadings {
  const of = (name: FilesystemName): FilesystemReading | null =>
    free[name] === null ? null : filesystem({ availableBytes: '900', ...layout[name], ...free[name] });
  return { nodefs: of('nodefs'), imagefs: of('imagefs'), containerfs: of('containerfs') };
}

/** The fixtures' time since boot. */
export const NOW_MS = instant().sinceBootMs;

/** Statistics of such a node, whose past says nothing unless `history` does. */
export const disks = (
  layout: Readings,
  free: Readings = {},
  {
    history = {},
    sinceBootMs = NOW_MS,
  }: { history?: Partial<DiskStats['history']>; sinceBootMs?: number } = {},
): DiskStats => {
  const none = { availableBytes: [], inodesFree: [] };
  return diskStats(
    {},
    {
      filesystems: readings(layout, free),
      takenAt: instant({ sinceBootMs }),
      history: { nodefs: none, imagefs: none, containerfs: none, ...history },
    },
  );
};

/** A bucket that began so long before now; with one value throughout unless more are given. */
export const bucket = (agoMs: number, min: number | bigint, max = min, last = max): Bucket => [
  NOW_MS - agoMs,
  String(min),
  String(max),
  String(last),
];

export const threshold = (
  signal: EvictionThreshold['signal'],
  over: Partial<EvictionThreshold> = {},
): EvictionThreshold => ({
  signal,
  kind: 'hard',
  value: { percent: 10 },
  gracePeriodMs: 0,
  minimumReclaim: null,
  ...over,
});

/** A policy in which nothing but these thresholds can begin a reclaim. */
export const evictionPolicy = (
  evictionThresholds: Policy['evictionThresholds'],
  over: Partial<Policy> = {},
): Policy => policy({ imageGCHighThresholdPercent: 100, evictionThresholds, ...over });
