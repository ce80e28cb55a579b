import type { Logger } from 'pino';
import { z } from 'zod';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import { type Bucket, type DiskStats, ResourceHistory } from '../../../schemas/events/disk-stats.ts';
import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
  Resource,
} from '../../../schemas/events/filesystem.ts';
import { Instant } from '../../../schemas/events/time.ts';
import { openBestEffortFile } from './history.ts';

/** What a disk-stats event says of the disks. */
export type DiskFacts = Pick<DiskStats, 'takenAt' | 'filesystems' | 'history'>;

/** Samples the filesystems and remembers how full they were. */
export interface DiskWatch {
  /** Takes one sample; resolves to what is to be published of it, or `null`. */
  sample(): Promise<DiskFacts | null>;
  /** The last sample; all `null` before the first. */
  readings(): FilesystemReadings;
  history(): DiskStats['history'];
  /** Writes what is new and was not published once a minute; at the end of the process whatever the time. */
  save(when: 'due' | 'end'): void;
}

interface DiskWatchParts {
  readonly filesystems: FilesystemReader;
  readonly state: Pick<StateDirectory, 'open'>;
  readonly clock: NodeClock;
  readonly logger: Logger;
}

const SAVE_EVERY_MS = 60_000;
const NO_READINGS: FilesystemReadings = { nodefs: null, imagefs: null, containerfs: null };

export function watchDisks({ filesystems, state, clock, logger }: DiskWatchParts): DiskWatch {
  const kept = openBestEffortFile(
    () => state.open(DISK_HISTORY_FILE, DISK_HISTORY_BYTES, DiskHistoryFile),
    'disk history',
    logger,
  );
  let at: Instant = clock.now();
  let savedAtMs = at.sinceBootMs;
  let history = kept.found === null ? NO_DISK_HISTORY : reloadDiskHistory(kept.found, at);
  let last: PublishedReadings | null = null;
  let readings = NO_READINGS;
  const save = (afterMs: number): void => {
    const isDue = at.sinceBootMs - savedAtMs >= afterMs;
    if (isDue && kept.write({ version: 1, at, history })) savedAtMs = at.sinceBootMs;
  };
  return {
    sample: async () => {
      const takenAt = clock.now();
      readings = await filesystems.read();
      history = fold(history, readings, takenAt.sinceBootMs);
      at = takenAt;
      if (!isWorthPublishing(last, readings, takenAt.sinceBootMs)) return null;
      last = { readings, atMs: takenAt.sinceBootMs };
      // What may begin a reclaim outlives the process, or the next one would not go on with it.
      save(0);
      return { takenAt, filesystems: readings, history };
    },
    readings: () => readings,
    history: () => history,
    save: (when) => save(when === 'end' ? 1 : SAVE_EVERY_MS),
  };
}

/** What was published last, and when. */
interface PublishedReadings {
  readonly readings: FilesystemReadings;
  readonly atMs: number;
}

/** @limit Period of disk statistics without changes. `SILENT_AFTER_MS` and `TURN_MS` depend on it. */
const PUBLISH_EVERY_MS = 60_000;

/** Whether the readings differ enough from those published last, or a minute has passed. */
export function isWorthPublishing(
  last: PublishedReadings | null,
  readings: FilesystemReadings,
  nowMs: number,
): boolean {
  if (last === null || nowMs - last.atMs >= PUBLISH_EVERY_MS) return true;
  return haveMoved(last.readings, readings);
}

/** Whether a filesystem came, went, or changed by a step that matters: the agent's measure of "available space changed". */
export function haveMoved(before: FilesystemReadings, after: FilesystemReadings): boolean {
  return (
    hasMoved(before.nodefs, after.nodefs) ||
    hasMoved(before.imagefs, after.imagefs) ||
    hasMoved(before.containerfs, after.containerfs)
  );
}

function hasMoved(before: FilesystemReading | null, after: FilesystemReading | null): boolean {
  if (before === null || after === null) return before !== after;
  if (before.device !== after.device) return true;
  return (
    isAnotherStep(
      [before.availableBytes, before.capacityBytes],
      [after.availableBytes, after.capacityBytes],
    ) || isAnotherStep([before.inodesFree, before.inodes], [after.inodesFree, after.inodes])
  );
}

/** What is left, and of how much. On some filesystems (XFS) the whole changes all the time, a little. */
type Share = readonly [left: string | null, whole: string | null];

/** Another whole percent of usage (D6), or one percent of the whole away. */
function isAnotherStep([leftBefore, wholeBefore]: Share, [leftAfter, wholeAfter]: Share): boolean {
  const before = percentLeft(leftBefore, wholeBefore);
  const after = percentLeft(leftAfter, wholeAfter);
  if (before === null || after === null) return before !== after;
  const movedBy = before.left > after.left ? before.left - after.left : after.left - before.left;
  return before.percent !== after.percent || movedBy * 100n >= after.whole;
}

/** `null` for a share that nothing can be said about: a part is missing, or the whole is zero. */
function percentLeft(
  left: string | null,
  whole: string | null,
): { readonly percent: bigint; readonly left: bigint; readonly whole: bigint } | null {
  if (left === null || whole === null || whole === '0') return null;
  const [parts, of] = [BigInt(left), BigInt(whole)];
  return { percent: (parts * 100n) / of, left: parts, whole: of };
}

/** As it is published. Each list holds whole minutes first, then tens of seconds. */
export type DiskHistory = DiskStats['history'];
type History = DiskHistory[FilesystemName];

const TEN_SECONDS_MS = 10_000;
/** Younger buckets span ten seconds, older ones a minute. */
const FINE_FOR_MS = 10 * MINUTE_MS;
/** @limit Disk history of a node. `LONGEST_GRACE_PERIOD_MS` and `LATELY_MS` depend on it. */
const KEPT_FOR_MS = 120 * MINUTE_MS;

const NOTHING: History = { availableBytes: [], inodesFree: [] };
export const NO_DISK_HISTORY: DiskHistory = { nodefs: NOTHING, imagefs: NOTHING, containerfs: NOTHING };

/** Adds one sample. What could not be read leaves a gap. */
export function fold(history: DiskHistory, readings: FilesystemReadings, nowMs: number): DiskHistory {
  const foldOne = (name: FilesystemName): History => {
    const resource = (which: Resource): Bucket[] =>
      addSample(history[name][which], readings[name]?.[which] ?? null, nowMs);
    return { availableBytes: resource('availableBytes'), inodesFree: resource('inodesFree') };
  };
  const nodefs = foldOne('nodefs');
  // Where one disk is everything, one history is.
  const again = (name: FilesystemName): History =>
    history[name] === history.nodefs && readings[name] === readings.nodefs ? nodefs : foldOne(name);
  return { nodefs, imagefs: again('imagefs'), containerfs: again('containerfs') };
}

function addSample(buckets: readonly Bucket[], value: string | null, nowMs: number): Bucket[] {
  if (value === null) return aged(buckets, nowMs);
  const sample: Bucket = [startOf(nowMs, TEN_SECONDS_MS), value, value, value];
  const last = buckets.at(-1);
  // Buckets age in steps of ten seconds, while samples come every second, all day, on every node.
  if (last?.[0] === sample[0]) return [...buckets.slice(0, -1), merged(last, sample)];
  return append(aged(buckets, nowMs), sample);
}

/** Drops what is older than two hours and melts into minutes what is older than ten. */
function aged(buckets: readonly Bucket[], nowMs: number): Bucket[] {
  const kept = buckets.filter(([startMs]) => startMs > nowMs - KEPT_FOR_MS);
  const melted = kept.map((bucket): Bucket => {
    const [startMs, ...values] = bucket;
    return startMs > nowMs - FINE_FOR_MS ? bucket : [startOf(startMs, MINUTE_MS), ...values];
  });
  return melted.reduce<Bucket[]>(append, []);
}

/** Buckets that start together are one. */
function append(buckets: Bucket[], next: Bucket): Bucket[] {
  const last = buckets.at(-1);
  if (last?.[0] === next[0]) buckets[buckets.length - 1] = merged(last, next);
  else buckets.push(next);
  return buckets;
}

const merged = ([startMs, min, max]: Bucket, [, nextMin, nextMax, last]: Bucket): Bucket => [
  startMs,
  BigInt(nextMin) < BigInt(min) ? nextMin : min,
  BigInt(nextMax) > BigInt(max) ? nextMax : max,
  last,
];

const startOf = (timeMs: number, spanMs: number): number => Math.floor(timeMs / spanMs) * spanMs;

/** Name of the file in the node's state directory. */
export const DISK_HISTORY_FILE = 'disk-history';
/** 3 filesystems, 2 resources, 60 fine and 111 coarse buckets, each at most 90 bytes of JSON. */
export const DISK_HISTORY_BYTES = 100_000;

export const DiskHistoryFile = z.object({
  version: z.literal(1),
  /** The last sample. */
  at: Instant,
  history: z.object({ nodefs: ResourceHistory, imagefs: ResourceHistory, containerfs: ResourceHistory }),
});
export type DiskHistoryFile = z.infer<typeof DiskHistoryFile>;

/**
 * The history on the clock of `now`. Over a reboot its times become negative, as far back as the wall clock says; a
 * wall clock that ran backwards leaves no gap, one that jumped ahead leaves nothing.
 */
export function reloadDiskHistory({ at, history }: DiskHistoryFile, now: Instant): DiskHistory {
  const shiftMs = at.bootId === now.bootId ? 0 : -at.sinceBootMs - downtimeMs(at, now);
  const shift = (buckets: readonly Bucket[]): Bucket[] =>
    buckets
      .map(([startMs, ...values]): Bucket => [startMs + shiftMs, ...values])
      .filter(([startMs]) => startMs > now.sinceBootMs - KEPT_FOR_MS && startMs <= now.sinceBootMs);
  const shiftOne = ({ availableBytes, inodesFree }: History): History => ({
    availableBytes: shift(availableBytes),
    inodesFree: shift(inodesFree),
  });
  return {
    nodefs: shiftOne(history.nodefs),
    imagefs: shiftOne(history.imagefs),
    containerfs: shiftOne(history.containerfs),
  };
}

const downtimeMs = (at: Instant, now: Instant): number =>
  Math.max(0, now.wallTimeMs - now.sinceBootMs - at.wallTimeMs);
