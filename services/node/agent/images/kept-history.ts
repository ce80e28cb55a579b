import type { Logger } from 'pino';
import type { ReadOnlyFile } from '../../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../../packages/machine/state-directory.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import {
  IMAGE_HISTORY_BYTES,
  IMAGE_HISTORY_FILE,
  ImageHistoryFile,
} from '../../../../schemas/state/image-history.ts';
import { openBestEffortFile } from '../best-effort-file.ts';
import {
  clockSteadySinceMs,
  type DetectedImage,
  detect,
  type ImageHistory,
  type ImageRecords,
  isBelievable,
  keptHistory,
  type RemovedImage,
  recordsAt,
  reload,
  toFile,
  type Watch,
  watchedUntil,
  withoutRemoved,
} from './image-history.ts';

/** The image records of this node, kept over restarts (M1, M2). */
export interface History {
  /** Why the records of an earlier agent could not be used, in one sentence; `null` when they could. */
  readonly unreadable: string | null;
  /** One successful detection; a failed one does not call (C6). `now` is taken after the last listing. */
  detect(images: readonly DetectedImage[], inUse: ReadonlySet<string>, now: Instant): Detected;
  /** As of the last detection: since when nobody has set the wall clock, in epoch milliseconds on that of `takenAt`. */
  clockSteadySinceMs(takenAt: Instant): number;
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
export function readHistory({
  state,
  now,
  removed,
}: ReadHistoryParts): Pick<History, 'detect' | 'clockSteadySinceMs'> {
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
