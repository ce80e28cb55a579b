import type { FilesystemName, Resource } from '../../../schemas/events/filesystem.ts';
import { EvictionSignal, type EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import { CONTAINERFS_LIKE, type Layout } from './layout.ts';

/** What a signal looks at. */
export interface Watched {
  readonly filesystem: FilesystemName;
  readonly resource: Resource;
}

export const WATCHED: Readonly<Record<EvictionSignal, Watched>> = {
  'nodefs.available': { filesystem: 'nodefs', resource: 'availableBytes' },
  'nodefs.inodesFree': { filesystem: 'nodefs', resource: 'inodesFree' },
  'imagefs.available': { filesystem: 'imagefs', resource: 'availableBytes' },
  'imagefs.inodesFree': { filesystem: 'imagefs', resource: 'inodesFree' },
  'containerfs.available': { filesystem: 'containerfs', resource: 'availableBytes' },
  'containerfs.inodesFree': { filesystem: 'containerfs', resource: 'inodesFree' },
};

/** What a signal of this name looks at; `null` for any other name. */
export const signalWatches = (signal: string): Watched | null => {
  const known = EvictionSignal.safeParse(signal);
  return known.success ? WATCHED[known.data] : null;
};

const CONTAINERFS_SIGNALS: Readonly<Record<Resource, EvictionSignal>> = {
  availableBytes: 'containerfs.available',
  inodesFree: 'containerfs.inodesFree',
};

/**
 * The thresholds in force: those of containerfs are not the user's, but copies of those of the filesystem that it
 * shares in this layout, with value, grace and minimum reclaim (J6).
 */
export function thresholdsInForce(
  thresholds: readonly EvictionThreshold[],
  layout: Layout,
): EvictionThreshold[] {
  const own = thresholds.filter(({ signal }) => WATCHED[signal].filesystem !== 'containerfs');
  const shared = own.filter(({ signal }) => WATCHED[signal].filesystem === CONTAINERFS_LIKE[layout]);
  const copies = shared.map((threshold) => ({
    ...threshold,
    signal: CONTAINERFS_SIGNALS[WATCHED[threshold.signal].resource],
  }));
  return [...own, ...copies];
}
