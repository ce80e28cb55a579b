import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { Doubt, KeepingDoubt } from '../../../decision/conclusion.ts';
import type { Watched } from '../../../decision/thresholds/eviction-signals.ts';
import { believeInodes, believeUsage } from '../../../decision/thresholds/filesystem-usage.ts';

/** How much of a filesystem's bytes or inodes is free. */
export interface Observed {
  readonly kind: 'observed';
  readonly free: bigint;
  readonly capacity: bigint;
}

type Observation<Doubted extends Doubt> =
  | Observed
  /** The filesystem does not count its inodes, as btrfs. */
  | { readonly kind: 'not-counted' }
  | { readonly kind: 'doubt'; readonly doubt: Doubted };

/** A signal is observed only where both what is free and how much there is are known, and possible (J8). */
export function observe(stats: DiskStats, watched: Watched): Observation<Doubt> {
  const observation = observeReading(stats, watched);
  if (observation.kind !== 'doubt' || watched.resource === 'inodesFree') return observation;
  return { kind: 'doubt', doubt: quietAtStart(observation.doubt, stats, watched.filesystem) };
}

/** The same of one reading, whatever was before it. */
export function observeReading(
  { filesystems }: Pick<DiskStats, 'filesystems'>,
  { filesystem, resource }: Watched,
): Observation<KeepingDoubt> {
  const reading = filesystems[filesystem];
  if (resource === 'inodesFree' && reading !== null) return inodes(reading, filesystem);
  const believed = believeUsage(filesystem, reading);
  if (believed.kind === 'doubt') return believed;
  const { availableBytes, capacityBytes } = believed.usage;
  return { kind: 'observed', free: availableBytes, capacity: capacityBytes };
}

function inodes(reading: FilesystemReading, name: Watched['filesystem']): Observation<KeepingDoubt> {
  const { inodes, inodesFree } = reading;
  if (inodes === null || inodesFree === null || inodes === '0') return { kind: 'not-counted' };
  const believed = believeInodes(name, reading);
  if (believed.kind === 'doubt') return believed;
  return { kind: 'observed', free: believed.inodes.free, capacity: believed.inodes.inodes };
}

/** A runtime that is just starting reports a capacity of 0 until it has looked; that alarms nobody (M36). */
function quietAtStart(doubt: Doubt, { history }: DiskStats, name: Watched['filesystem']): Doubt {
  const noGoodReadingYet = history[name].availableBytes.every(([, , maximum]) => maximum === '0');
  if (doubt.rule !== 'D5' || !noGoodReadingYet) return doubt;
  return { rule: 'M36', message: `${name} has reported no capacity yet, as is usual at start` };
}
