import type { CheckProgress } from '../../packages/archive/check-archive.ts';
import type { InventoryTimes, ReadingProgress } from '../../packages/audit/events/reading.ts';
import { timeText } from '../../packages/text/time-text.ts';
import type { Progress } from '../framework/verb.ts';

/** Reports how far a long reading is, how fast, and how long it will take. */
export const readingProgress =
  ({ report, elapsedMs }: Progress): ((progress: ReadingProgress) => void) =>
  ({ done, of, records }) =>
    report(() => {
      const seconds = elapsedMs() / 1_000;
      const left = done === 0 ? '' : `, about ${Math.ceil((seconds / done) * (of - done))} s left`;
      const perSecond = seconds === 0 ? '' : `, ${Math.round(records / seconds)} a second`;
      return `${records} records read${perSecond}; ${Math.floor(done)} of ${of} partitions${left}`;
    });

/** Reports how far a long check of an archive is. */
export const checkingProgress =
  ({ report }: Progress): ((progress: CheckProgress) => void) =>
  ({ done, of }) =>
    report(() => `${done} of ${of} files checked`);

/** For those who asked for another time; to be put behind a sentence. */
export const keptText = (kept: InventoryTimes | null): string =>
  kept === null
    ? '; there is no inventory at any other time either'
    : `; there are inventories from ${timeText(kept.firstMs)} to ${timeText(kept.lastMs)}`;

const LONG_ID = /\b(sha256:)?([0-9a-f]{12})[0-9a-f]{52}\b/g;

/** Ids and digests as tools abbreviate them, wherever they stand in a text. */
export const shortIds = (text: string): string => text.replace(LONG_ID, '$2');
