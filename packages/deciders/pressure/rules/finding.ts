import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Doubt, KeepingDoubt } from '../../../decision/conclusion.ts';
import type { Watched } from '../../../decision/thresholds/eviction-signals.ts';
import { believeInodes, believeUsage } from '../../../decision/thresholds/filesystem-usage.ts';

/** A reclaim to begin, yet without an id. */
export type NewReclaim = Omit<Reclaim, 'id' | 'round'>;

/** A threshold that calls for a reclaim. */
export interface Met extends NewReclaim {
  readonly kind: 'met';
  /** By an eviction signal: the kubelet is about to evict pods. */
  readonly isForced: boolean;
  readonly reason: string;
}

/** What a threshold finds in one reading of a node's disks. */
export type Finding =
  | Met
  | { readonly kind: 'not-met'; readonly reason: string }
  | { readonly kind: 'doubt'; readonly doubt: Doubt };

export const notMet = (reason: string): Finding => ({ kind: 'not-met', reason });

/** Thresholds of one kind that can begin a reclaim. */
export type Thresholds = (stats: DiskStats, policy: Policy) => readonly Finding[];

/** What a choice looks at beside the thresholds. */
type Facts = Pick<DiskStats, 'filesystems' | 'takenAt'>;

/**
 * Disk statistics come once a minute while nothing changes.
 * @limit Turn of each of several full disks (J13). Keep it at or above `PUBLISH_EVERY_MS`.
 */
const TURN_MS = 60_000;

/**
 * The one reclaim to begin (J13). Devices take turns by the minute of the reading, so that one that nothing relieves does
 * not keep the others waiting for ever. On one device the same objects go for space and for inodes, so the resource of
 * its first threshold waits for no other; thresholds of that resource are one need, with the strictest of their targets.
 */
export function chosen(met: readonly Met[], { filesystems, takenAt }: Facts): Met | null {
  const devices = [...Map.groupBy(met, ({ target }) => filesystems[target.filesystem]?.device).values()];
  const onDevice = devices[Math.floor(takenAt.sinceBootMs / TURN_MS) % devices.length] ?? [];
  const [first] = onDevice;
  return first ? together(onDevice.filter(({ target }) => target.resource === first.target.resource)) : null;
}

/**
 * The strictest eviction signal gives the cause, since it allows what usage does not; without one the strictest threshold
 * does. The target is that of the strictest threshold, by its own name of the filesystem: where one disk has several
 * names, whoever reads of a target finds the threshold that it comes from.
 */
function together(need: readonly Met[]): Met | null {
  const strictestFirst = need.toSorted((a, b) => compare(BigInt(b.target.atLeast), BigInt(a.target.atLeast)));
  const [strictest] = strictestFirst;
  if (strictest === undefined) return null;
  const lead = strictestFirst.find(({ isForced }) => isForced) ?? strictest;
  if (lead === strictest) return lead;
  return { ...lead, target: strictest.target, reason: `${lead.reason}; ${strictest.reason}` };
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

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
