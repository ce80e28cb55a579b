import type { Bucket, DiskStats } from '../../../schemas/events/disk-stats.ts';
import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
} from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Measured } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { Policy, PolicySet } from '../../../schemas/policy/policy.ts';
import type { FreedSpace } from '../../decision/freed-space.ts';
import {
  believeInodes,
  believeUsage,
  isUsageGcOff,
  usagePercent,
  usedInodesPercent,
} from '../../decision/thresholds/filesystem-usage.ts';
import { missed } from '../../decision/thresholds/wanted-reclaim.ts';
import type { LogReader } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { type PartitionReading, readPartition } from '../../records/read-log.ts';
import { objectKey } from '../events/log-position.ts';
import { type Deciding, decideReclaim } from './compare.ts';

/** An order that no inventory answered for so long came to nothing. */
const ORDER_HOLDS_MS = 15 * 60_000;
/** Disk statistics tell of so long a past. */
const PAST_MS = 2 * 60 * 60_000;

/** Whether policies look at the past of a disk: grace periods, and a minimum reclaim that is still to be freed. */
export const looksBack = ({ policies }: PolicySet): boolean =>
  policies.some(
    ({ policy }) =>
      policy.forcedGC &&
      policy.evictionThresholds.some(
        ({ gracePeriodMs, minimumReclaim }) => gracePeriodMs > 0 || minimumReclaim !== null,
      ),
  );

/** Since when so much more is free than was read. */
interface Step {
  readonly at: Instant;
  readonly shift: Shift;
}

/**
 * The thresholds of a simulated node. Disk statistics are decided on as they come, with what they tell of the past as the
 * node would have seen it, and an inventory by its own readings.
 */
export class SimulatedPressure {
  readonly #deciding: Deciding;
  readonly #steps: Step[] = [];
  #ordered: { readonly reclaim: Reclaim; readonly atMs: number } | null = null;

  constructor(deciding: Deciding) {
    this.#deciding = deciding;
  }

  /** From now on so much more is free than is read. */
  differsBy(shift: Shift, at: Instant): void {
    while (this.#steps.length > 1 && isPast(this.#steps[1], at)) this.#steps.shift();
    this.#steps.push({ at, shift });
  }

  diskStats(stats: DiskStats, atMs: number): void {
    const alteredStats = withShifts(stats, (startMs, now) => this.#shiftAt(startMs, now));
    const reclaim = decideReclaim(alteredStats, this.#deciding);
    this.#ordered = reclaim && { reclaim, atMs };
  }

  /** The reclaim that an inventory is part of, altered as it is; `null` when there is none. */
  reclaimAt(inventory: CompleteInventory, atMs: number): Reclaim | null {
    const order = this.#ordered;
    this.#ordered = null;
    const isOpen =
      order !== null &&
      atMs - order.atMs <= ORDER_HOLDS_MS &&
      missed(order.reclaim.target, inventory.filesystems) !== null;
    return isOpen ? order.reclaim : decideReclaim(diskStatsOf(inventory), this.#deciding);
  }

  /** Since the newest step before it; what was before a reboot is as it was at the end. */
  #shiftAt(startMs: number, now: Instant): Shift {
    const step = this.#steps.findLast(({ at }) => at.bootId !== now.bootId || at.sinceBootMs <= startMs);
    return step?.shift ?? NO_SHIFT;
  }
}

const isPast = (step: Step | undefined, now: Instant): boolean =>
  step !== undefined && (step.at.bootId !== now.bootId || step.at.sinceBootMs < now.sinceBootMs - PAST_MS);

type ShiftAt = (startMs: number, now: Instant) => Shift;

function withShifts(stats: DiskStats, shiftAt: ShiftAt): DiskStats {
  const { takenAt, filesystems, history } = stats;
  const past = (name: FilesystemName): DiskStats['history'][FilesystemName] => ({
    availableBytes: history[name].availableBytes.map((bucket) => alteredBucket(bucket, name, 'bytes')),
    inodesFree: history[name].inodesFree.map((bucket) => alteredBucket(bucket, name, 'inodes')),
  });
  const alteredBucket = (
    [startMs, minimum, maximum, last]: Bucket,
    name: FilesystemName,
    unit: 'bytes' | 'inodes',
  ): Bucket => {
    const by = byOf(shiftAt(startMs, takenAt), filesystems[name]?.device)[unit];
    const whole = filesystems[name]?.[unit === 'bytes' ? 'capacityBytes' : 'inodes'] ?? null;
    const moved = (free: string): string => shifted(free, whole, by) ?? free;
    return [startMs, moved(minimum), moved(maximum), moved(last)];
  };
  return {
    ...stats,
    filesystems: shiftedReadings(filesystems, shiftAt(takenAt.sinceBootMs, takenAt)),
    history: { nodefs: past('nodefs'), imagefs: past('imagefs'), containerfs: past('containerfs') },
  };
}

const byOf = (shift: Shift, device: string | undefined): Omit<Effect, 'filesystem'> =>
  (device === undefined ? undefined : shift.get(device)) ?? { bytes: 0n, inodes: 0n };

const NO_HISTORY = { availableBytes: [], inodesFree: [] };

/** Disk statistics as of an inventory, which does not tell of the past. */
const diskStatsOf = ({
  id,
  cluster,
  node,
  nodeInstance,
  takenAt,
  nodeLabels,
  filesystems,
}: CompleteInventory): DiskStats => ({
  type: 'fleetgc.node.disk-stats',
  version: 1,
  id,
  cluster,
  node,
  nodeInstance,
  takenAt,
  nodeLabels,
  filesystems,
  history: { nodefs: NO_HISTORY, imagefs: NO_HISTORY, containerfs: NO_HISTORY },
});

/** Agents publish an inventory every 5 minutes at least: beyond this, nobody knows how full a disk was. */
const KNOWN_FOR_MS = 15 * 60_000;

interface Known {
  readonly atMs: number;
  /** `null` where no reading is believable. */
  readonly percent: number | null;
  readonly isAbove: boolean;
}

/** Adds up how long a disk was how full: a reading is taken to hold until a newer one, and no longer than that. */
export function createUsageTime() {
  let last: Known | null = null;
  let peakPercent: number | null = null;
  let aboveMs = 0;
  let unknownMs = 0;
  let observedMs = 0;

  const add = (spanMs: number, before: Known): void => {
    const knownMs = before.percent === null ? 0 : Math.min(spanMs, KNOWN_FOR_MS);
    if (before.isAbove) aboveMs += knownMs;
    unknownMs += spanMs - knownMs;
    observedMs += spanMs;
  };

  return {
    /** In the order of time. `policy` has the thresholds; `null` when none holds. */
    at: (atMs: number, imagefs: FilesystemReading | null, policy: Policy | null): void => {
      if (last !== null) add(Math.max(0, atMs - last.atMs), last);
      const percent = percentUsed(imagefs);
      last = { atMs, percent, isAbove: policy !== null && isAbove(imagefs, policy) };
      if (percent !== null) peakPercent = Math.max(peakPercent ?? percent, percent);
    },
    sums: () => ({ peakPercent, aboveMs, unknownMs, observedMs }),
  };
}

type UsageThresholds = Pick<
  Policy,
  'imageGCHighThresholdPercent' | 'imageMaximumGCAgeMs' | 'imageGCAvailable' | 'imageGCInodes'
>;

/** How full imagefs is, rounded up as thresholds are compared (D6); `null` where no reading is believable. */
function percentUsed(imagefs: FilesystemReading | null): number | null {
  const believed = believeUsage('imagefs', imagefs);
  return believed.kind === 'doubt' ? null : Number(usagePercent(believed.usage));
}

/** Whether a usage threshold of image GC is met, in percent, absolute (M39) or of inodes (M13). */
export function isAbove(imagefs: FilesystemReading | null, policy: UsageThresholds): boolean {
  const believed = believeUsage('imagefs', imagefs);
  if (believed.kind === 'doubt') return false;
  const { imageGCHighThresholdPercent: high, imageGCAvailable: absolute } = policy;
  const isFull = !isUsageGcOff(policy) && usagePercent(believed.usage) >= BigInt(high);
  const isShort = absolute !== null && believed.usage.availableBytes < BigInt(absolute.startBelowBytes);
  return isFull || isShort || isAboveInodes(imagefs, policy);
}

function isAboveInodes(imagefs: FilesystemReading | null, { imageGCInodes }: UsageThresholds): boolean {
  if (imageGCInodes === null || imageGCInodes.highThresholdPercent === 100) return false;
  const counted = believeInodes('imagefs', imagefs);
  if (counted.kind === 'doubt') return false;
  return usedInodesPercent(counted.inodes) >= BigInt(imageGCInodes.highThresholdPercent);
}

type Named = { readonly kind: ObjectKind; readonly id: string };

/** What removals freed as the node measured it; `null` of what it did not remove, or could not measure. */
export type MeasuredOf = (object: Named) => Measured | null;

/**
 * Reads what the removals of one partition freed, images aside, of which plans tell it: what a container takes up is not in
 * inventories, and only nodes that removed it know. By installation.
 */
export async function readMeasured(
  log: LogReader,
  { partition, range }: Omit<PartitionReading, 'topics'>,
  signal: AbortSignal,
): Promise<(nodeInstance: string) => MeasuredOf> {
  const byInstallation = new Map<string, Map<string, Measured>>();
  for await (const { record } of readPartition(log, { topics: ['results'], partition, range }, signal)) {
    const parsed = parseRecord('results', record);
    if (!parsed.ok || parsed.event.type !== 'fleetgc.node.object-result') continue;
    const { nodeInstance, object, result } = parsed.event;
    if (SIZED_BY[object.kind] === 'plan' || result.outcome !== 'removed' || result.measured === null)
      continue;
    const known = byInstallation.get(nodeInstance) ?? new Map<string, Measured>();
    byInstallation.set(nodeInstance, known.set(objectKey(object), result.measured));
  }
  return (nodeInstance) => {
    const known = byInstallation.get(nodeInstance);
    return (object) => known?.get(objectKey(object)) ?? null;
  };
}

/** What a removal frees on a filesystem. */
export interface Effect {
  readonly filesystem: FilesystemName;
  readonly bytes: bigint;
  readonly inodes: bigint;
}

/** What is free beyond what was read, by device; below zero where more is used. */
export type Shift = ReadonlyMap<string, Omit<Effect, 'filesystem'>>;

const NO_SHIFT: Shift = new Map();

/** Filesystems on one device change together. */
export function shiftOf(
  effects: readonly Effect[],
  kept: readonly Effect[],
  readings: FilesystemReadings,
): Shift {
  const shift = new Map<string, Omit<Effect, 'filesystem'>>();
  const add = ({ filesystem, bytes, inodes }: Effect, sign: bigint): void => {
    const device = readings[filesystem]?.device;
    if (device === undefined) return;
    const before = shift.get(device) ?? { bytes: 0n, inodes: 0n };
    shift.set(device, { bytes: before.bytes + sign * bytes, inodes: before.inodes + sign * inodes });
  };
  for (const effect of effects) add(effect, 1n);
  for (const effect of kept) add(effect, -1n);
  return shift;
}

export const shiftedReadings = (
  { nodefs, imagefs, containerfs }: FilesystemReadings,
  shift: Shift,
): FilesystemReadings => ({
  nodefs: nodefs && shiftedReading(nodefs, shift),
  imagefs: imagefs && shiftedReading(imagefs, shift),
  containerfs: containerfs && shiftedReading(containerfs, shift),
});

/** A reading that nobody believes is left as it is. */
function shiftedReading(reading: FilesystemReading, shift: Shift): FilesystemReading {
  const by = shift.get(reading.device);
  if (by === undefined) return reading;
  return {
    ...reading,
    availableBytes: shifted(reading.availableBytes, reading.capacityBytes, by.bytes),
    inodesFree: shifted(reading.inodesFree, reading.inodes, by.inodes),
  };
}

/** What is free is never less than nothing, nor more than there is. */
function shifted(free: string | null, whole: string | null, by: bigint): string | null {
  if (free === null || whole === null || BigInt(free) > BigInt(whole)) return free;
  const moved = BigInt(free) + by;
  if (moved < 0n) return '0';
  return moved > BigInt(whole) ? whole : String(moved);
}

/**
 * Nobody knows how many inodes an image takes up (M13). The guess: of those in use its share by bytes; none where the disk
 * does not count them.
 */
function guessedInodes(bytes: bigint, imagefs: FilesystemReading | null): bigint {
  const space = believeUsage('imagefs', imagefs);
  const counted = believeInodes('imagefs', imagefs);
  if (space.kind === 'doubt' || counted.kind === 'doubt') return 0n;
  const usedBytes = space.usage.capacityBytes - space.usage.availableBytes;
  const usedInodes = counted.inodes.inodes - counted.inodes.free;
  return usedBytes === 0n ? 0n : (usedInodes * bytes) / usedBytes;
}

export const imageEffect = (bytes: bigint, { imagefs }: FilesystemReadings): Effect => ({
  filesystem: 'imagefs',
  bytes,
  inodes: guessedInodes(bytes, imagefs),
});

/** Of what is no image: as it was measured; `null` where nobody could. */
export const measuredEffect = (freed: FreedSpace): Effect | null =>
  freed.how === 'measured' ? { filesystem: freed.filesystem, bytes: freed.bytes, inodes: 0n } : null;

/** What tells how much an object of a kind takes up: what the node measured when it went, or what plans count it with. */
const SIZED_BY: Readonly<Record<ObjectKind, 'measurement' | 'plan'>> = {
  container: 'measurement',
  sandbox: 'measurement',
  'pod-log-directory': 'measurement',
  'log-symlink': 'measurement',
  image: 'plan',
};
