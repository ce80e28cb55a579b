import type { Bucket, DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { missed } from '../../decision/thresholds/wanted-reclaim.ts';
import { type Deciding, decideReclaim } from './simulated-decisions.ts';
import { type Effect, NO_SHIFT, type Shift, shifted, shiftedReadings } from './space-effects.ts';

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
