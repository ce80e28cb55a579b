import type { Logger } from 'pino';
import type { NodeClock } from '../../../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../../../packages/machine/filesystem.ts';
import type { StateDirectory } from '../../../../packages/machine/state-directory.ts';
import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { FilesystemReadings } from '../../../../schemas/events/filesystem.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { openBestEffortFile } from '../best-effort-file.ts';
import {
  DISK_HISTORY_BYTES,
  DISK_HISTORY_FILE,
  DiskHistoryFile,
  fold,
  isWorthPublishing,
  NO_DISK_HISTORY,
  type PublishedReadings,
  reloadDiskHistory,
} from './disk-stats.ts';

/** What a disk-stats event says of the disks. */
export type DiskFacts = Pick<DiskStats, 'takenAt' | 'filesystems' | 'history'>;

/** Samples the filesystems and remembers how full they were. */
interface DiskWatch {
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
