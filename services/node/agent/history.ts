import type { Logger } from 'pino';
import type { FixedFile, ReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { DAY_MS, MINUTE_MS } from '../../../packages/process/durations.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import {
  IMAGE_HISTORY_BYTES,
  IMAGE_HISTORY_FILE,
  ImageHistoryFile,
} from '../../../schemas/state/image-history.ts';

/** The records of all images, and the detection that saw them last. */
export interface ImageHistory {
  readonly at: Instant;
  readonly records: ImageRecords;
}

/**
 * Beyond it nobody knows what the clock or the images did meanwhile.
 * @limit Downtime of an agent after which its image history no longer counts.
 */
const LONGEST_BELIEVED_GAP_MS = DAY_MS;

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
const isBelievable = (at: Instant, now: Instant): boolean => {
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
const keptHistory = (file: ImageHistoryFile): ImageHistory => ({
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

/** What is remembered of an image, in milliseconds since boot; negative before this boot. */
interface ImageRecord {
  readonly firstDetectedMs: number;
  /** `null`: no detection ever saw it in use. */
  readonly lastUsedMs: number | null;
}

/** By `imageKey`. */
export type ImageRecords = ReadonlyMap<string, ImageRecord>;

interface DetectedImage {
  readonly id: string;
  readonly runtimeHandler: string;
}

/** An image that was removed at this time, as far as that can be told. */
export interface RemovedImage {
  readonly id: string;
  readonly bootId: string;
  readonly sinceBootMs: number;
}

/**
 * The records without those of images that went after they were detected (C4): what is listed under their ids now is
 * another image. Of a removal before this boot that much is known: it was before all that was detected since.
 */
function withoutRemoved(
  records: ImageRecords,
  removed: readonly RemovedImage[],
  bootId: string,
): ImageRecords {
  const wentMs = new Map(
    removed.map((image) => [image.id, image.bootId === bootId ? image.sinceBootMs : 0] as const),
  );
  const hasGone = (key: string, { firstDetectedMs }: ImageRecord): boolean =>
    firstDetectedMs <= (wentMs.get(key.split(',', 1)[0] ?? key) ?? Number.NEGATIVE_INFINITY);
  return new Map([...records].filter(([key, record]) => !hasGone(key, record)));
}

/** The image id, with the runtime handler where the runtime names one (C2). */
export const imageKey = ({ id, runtimeHandler }: DetectedImage): string =>
  runtimeHandler === '' ? id : `${id},${runtimeHandler}`;

/**
 * One detection (C3, C4). `inUse` holds image ids, `nowMs` is taken after the last listing: an image that appeared
 * while the runtime answered must not count as older than it is, and one that was in use then as longer unused.
 */
export function detect(
  records: ImageRecords,
  images: readonly DetectedImage[],
  inUse: ReadonlySet<string>,
  nowMs: number,
): ImageRecords {
  return new Map(
    images.map((image) => {
      const record = records.get(imageKey(image)) ?? { firstDetectedMs: nowMs, lastUsedMs: null };
      return [imageKey(image), inUse.has(image.id) ? { ...record, lastUsedMs: nowMs } : record];
    }),
  );
}

/** A time in which one detection followed the other without a break, in milliseconds since that boot. */
export interface Watch {
  readonly bootId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** From here on the wall clock ran as the time since boot does, which nobody can set. */
  readonly steadySince: Instant;
}

/**
 * So often a kubelet looks at what is in use (B2, C7): a use that is shorter may go unseen by both.
 * @limit Gap between usage checks after which the minimum age starts again (B2, C7).
 */
const LONGEST_BREAK_MS = 5 * MINUTE_MS;
/** Reading two clocks takes a moment on a busy machine; nobody waits for so short an age. */
const LARGEST_JITTER_MS = 2_000;

/** The watch with one more detection. After a longer break, and in another boot, it begins anew: what was then nobody saw. */
export function watchedUntil(before: Watch | null, now: Instant): Watch {
  const { bootId, sinceBootMs } = now;
  const goesOn = before !== null && before.bootId === bootId && isShort(sinceBootMs - before.untilMs);
  if (!goesOn) return { bootId, sinceMs: sinceBootMs, untilMs: sinceBootMs, steadySince: now };
  const steadySince = isSteady(before.steadySince, now) ? before.steadySince : now;
  return { ...before, untilMs: sinceBootMs, steadySince };
}

const isShort = (breakMs: number): boolean => breakMs >= 0 && breakMs <= LONGEST_BREAK_MS;

/** Whether the wall clock shows at both what passed in between. */
const isSteady = (since: Instant, now: Instant): boolean =>
  since.bootId === now.bootId &&
  Math.abs(now.wallTimeMs - since.wallTimeMs - (now.sinceBootMs - since.sinceBootMs)) <= LARGEST_JITTER_MS;

/**
 * Since when the wall clock of `takenAt` has certainly not been set, by that clock: what it stamped before may be younger than
 * it says. `takenAt` itself where the clock was set since.
 */
export const clockSteadySinceMs = ({ steadySince }: Watch, takenAt: Instant): number =>
  isSteady(steadySince, takenAt) ? steadySince.wallTimeMs : takenAt.wallTimeMs;

/** The image records of this node, kept over restarts (M1, M2). */
export interface SeenImages {
  /** One successful detection; a failed one does not call (C6). `now` is taken after the last listing. */
  detect(images: readonly DetectedImage[], inUse: ReadonlySet<string>, now: Instant): Detected;
  /** As of the last detection: since when nobody has set the wall clock, in epoch milliseconds on that of `takenAt`. */
  clockSteadySinceMs(takenAt: Instant): number;
}

/** The same, kept over restarts. */
export interface History extends SeenImages {
  /** Why the records of an earlier agent could not be used, in one sentence; `null` when they could. */
  readonly unreadable: string | null;
  /** Writes what changed when it is time, apart from detections; at the end of the process whatever the time. */
  save(when: 'due' | 'end'): void;
}

export interface Detected {
  readonly records: ImageRecords;
  /** Since when one detection followed the other without a break, in milliseconds since boot. */
  readonly watchedSinceMs: number;
}

/** New and vanished images are written with the next save, a later "last used" at most so often. */
const SAVE_EVERY_MS = 60_000;

interface HistoryParts {
  readonly state: Pick<StateDirectory, 'open'>;
  /** The agent's start. */
  readonly now: Instant;
  /** Images that were removed lately. */
  readonly removed: () => readonly RemovedImage[];
  readonly logger: Logger;
}

/** Where nothing usable was kept, every image counts as just detected. */
export function openHistory({ state, now, removed, logger }: HistoryParts): History {
  const kept = openBestEffortFile(
    () => state.open(IMAGE_HISTORY_FILE, IMAGE_HISTORY_BYTES, ImageHistoryFile),
    'image history',
    logger,
  );
  const initial: ImageHistory = kept.found ? reload(kept.found, now) : { at: now, records: new Map() };
  let history = initial;
  let watch = kept.found ? keptWatch(kept.found) : watchedUntil(null, now);
  let saved = initial;
  // The executor reads the file too: it is to know of this agent, and of this boot, from the first detection on.
  // Across a jump of the wall clock it would count every image as just detected, look after look.
  const isDue = (): boolean =>
    saved === initial ||
    isOld(saved, history) ||
    !haveSameImages(saved, history) ||
    !isBelievable(saved.at, history.at);
  return {
    unreadable: kept.unreadable,
    detect: (images, inUse, at) => {
      const known = withoutRemoved(recordsAt(history, at), removed(), at.bootId);
      history = { at, records: detect(known, images, inUse, at.sinceBootMs) };
      watch = watchedUntil(watch, at);
      return { records: history.records, watchedSinceMs: watch.sinceMs };
    },
    clockSteadySinceMs: (takenAt) => clockSteadySinceMs(watch, takenAt),
    save: (when) => {
      const isWanted = history !== saved && (when === 'end' || isDue());
      if (isWanted && kept.write(toFile(history, watch))) saved = history;
    },
  };
}

const isOld = (saved: ImageHistory, { at }: ImageHistory): boolean =>
  at.sinceBootMs - saved.at.sinceBootMs >= SAVE_EVERY_MS;

const haveSameImages = ({ records: a }: ImageHistory, { records: b }: ImageHistory): boolean =>
  a.size === b.size && [...a.keys()].every((key) => b.has(key));

const keptWatch = ({ at, watchedSinceMs, clockSteadySince }: ImageHistoryFile): Watch => ({
  bootId: at.bootId,
  sinceMs: watchedSinceMs,
  untilMs: at.sinceBootMs,
  steadySince: clockSteadySince,
});

/** What an executor in a process of its own reads: the records are the agent's, who writes what changes within a minute. */
export function readHistory({ state, now, removed }: ReadHistoryParts): SeenImages {
  const file = state.openReadOnly(IMAGE_HISTORY_FILE, ImageHistoryFile);
  let watch = watchedUntil(null, now);
  return {
    detect: (images, inUse, at) => {
      const found = readOrNull(file);
      const records: ImageRecords = found === null ? new Map() : recordsAt(keptHistory(found), at);
      watch = watchedUntil(found === null ? null : keptWatch(found), at);
      const known = withoutRemoved(records, removed(), at.bootId);
      return { records: detect(known, images, inUse, at.sinceBootMs), watchedSinceMs: watch.sinceMs };
    },
    clockSteadySinceMs: (takenAt) => clockSteadySinceMs(watch, takenAt),
  };
}

interface ReadHistoryParts extends Pick<HistoryParts, 'now' | 'removed'> {
  readonly state: Pick<StateDirectory, 'openReadOnly'>;
}

/** What cannot be read is not known: every image counts as just detected then. */
function readOrNull(file: ReadOnlyFile<ImageHistoryFile>): ImageHistoryFile | null {
  try {
    return file.read();
  } catch {
    return null;
  }
}

/** A value of the state directory that its owner can go on without. */
interface BestEffortFile<T> {
  /** What an earlier process wrote; `null` when there is nothing usable. */
  readonly found: T | null;
  /** Why what is there could not be used; `null` when it could, or nothing was there. */
  readonly unreadable: string | null;
  /** Whether it was written. A failure is logged once until it works again. */
  write(value: T): boolean;
}

/** A full or broken disk costs the memory over a restart and nothing else. */
export function openBestEffortFile<T>(
  open: () => FixedFile<T>,
  what: string,
  logger: Logger,
): BestEffortFile<T> {
  const { file, found, unreadable } = tryToRead(open);
  if (unreadable !== null) logger.error({ problem: unreadable }, `${what}: starting afresh`);
  let working = true;
  return {
    found,
    unreadable,
    write: (value) => {
      try {
        (file ?? open()).write(value);
        if (!working) logger.info(`${what}: written again`);
        working = true;
      } catch (error) {
        if (working)
          logger.error({ problem: messageOf(error) }, `${what}: cannot be written, kept in memory`);
        working = false;
      }
      return working;
    },
  };
}

interface Opened<T> {
  readonly file: FixedFile<T> | null;
  readonly found: T | null;
  readonly unreadable: string | null;
}

function tryToRead<T>(open: () => FixedFile<T>): Opened<T> {
  let file: FixedFile<T> | null = null;
  try {
    file = open();
    return { file, found: file.read(), unreadable: null };
  } catch (error) {
    return { file, found: null, unreadable: messageOf(error) };
  }
}

const messageOf = (error: unknown): string => toFleetGcError(error).message;
