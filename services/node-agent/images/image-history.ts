import type { Instant } from '../../../schemas/events/time.ts';
import type { ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import type { ImageRecord, ImageRecords } from './detection.ts';
import type { Watch } from './watch.ts';

/** The records of all images, and the detection that saw them last. */
export interface ImageHistory {
  readonly at: Instant;
  readonly records: ImageRecords;
}

/** Beyond it nobody knows what the clock or the images did meanwhile. */
const LONGEST_BELIEVED_GAP_MS = 24 * 60 * 60 * 1000;

/**
 * The records as they hold at `now`. Ages are counted by the time since boot, which nobody can set. Over a reboot they
 * go on where they stood: how long the machine was off is only the wall clock's word, and too young is safe. After a
 * jump of the wall clock or a pause of more than a day every image is just detected and just used.
 */
export function recordsAt({ at, records }: ImageHistory, now: Instant): ImageRecords {
  const move = isBelievable(at, now) ? shifted(at, now) : forgotten(now);
  return new Map([...records].map(([key, record]) => [key, move(record)]));
}

/** Whether records of then still hold now: no jump of the wall clock and no pause lies between. */
export const isBelievable = (at: Instant, now: Instant): boolean => {
  const sinceThenMs = elapsedMs(at, now);
  const wallJumpMs = now.wallTimeMs - at.wallTimeMs - sinceThenMs;
  return Math.max(Math.abs(wallJumpMs), sinceThenMs) <= LONGEST_BELIEVED_GAP_MS;
};

/** What has certainly passed: over a reboot the time since, or less where the wall clock knows of less. */
function elapsedMs(at: Instant, now: Instant): number {
  if (at.bootId === now.bootId) return Math.max(0, now.sinceBootMs - at.sinceBootMs);
  return Math.max(0, Math.min(now.sinceBootMs, now.wallTimeMs - at.wallTimeMs));
}

function shifted(at: Instant, now: Instant): (record: ImageRecord) => ImageRecord {
  const shiftMs = now.sinceBootMs - elapsedMs(at, now) - at.sinceBootMs;
  const move = (timeMs: number): number => Math.min(timeMs + shiftMs, now.sinceBootMs);
  return ({ firstDetectedMs, lastUsedMs }) => ({
    firstDetectedMs: move(firstDetectedMs),
    lastUsedMs: lastUsedMs === null ? null : move(lastUsedMs),
  });
}

const forgotten =
  ({ sinceBootMs }: Instant): ((record: ImageRecord) => ImageRecord) =>
  ({ lastUsedMs }) => ({
    firstDetectedMs: sinceBootMs,
    lastUsedMs: lastUsedMs === null ? null : sinceBootMs,
  });

/** What a restarted agent starts from. Images in use when the last agent looked count as used until now. */
export function reload(file: ImageHistoryFile, now: Instant): ImageHistory {
  const wasInUse = new Set(
    file.images.filter(([, , used]) => used === file.at.sinceBootMs).map(([key]) => key),
  );
  const records = recordsAt({ at: file.at, records: recordsOf(file) }, now);
  const reloaded = [...records].map(([key, record]): [string, ImageRecord] => [
    key,
    wasInUse.has(key) ? { ...record, lastUsedMs: now.sinceBootMs } : record,
  ]);
  return { at: now, records: new Map(reloaded) };
}

/** As the agent left it. */
export const keptHistory = (file: ImageHistoryFile): ImageHistory => ({
  at: file.at,
  records: recordsOf(file),
});

const recordsOf = ({ images }: ImageHistoryFile): ImageRecords =>
  new Map(images.map(([key, firstDetectedMs, lastUsedMs]) => [key, { firstDetectedMs, lastUsedMs }]));

export const toFile = ({ at, records }: ImageHistory, { sinceMs, steadySince }: Watch): ImageHistoryFile => ({
  version: 1,
  at,
  watchedSinceMs: sinceMs,
  clockSteadySince: steadySince,
  images: [...records].map(([key, { firstDetectedMs, lastUsedMs }]) => [key, firstDetectedMs, lastUsedMs]),
});

/** A record's time on the wall clock of `takenAt`; never after it, so that nothing is younger than new. */
export function wallTimeOf(timeMs: number, takenAt: Instant): number {
  const ageMs = Math.max(0, takenAt.sinceBootMs - timeMs);
  return Math.max(0, takenAt.wallTimeMs - ageMs);
}
