import type { FilesystemReading, FilesystemReadings } from '../../../schemas/events/filesystem.ts';

/** What was published last, and when. */
export interface PublishedReadings {
  readonly readings: FilesystemReadings;
  readonly atMs: number;
}

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
