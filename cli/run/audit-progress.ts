import type { CheckProgress } from '../../packages/archive/check-archive.ts';
import type { ReadingProgress } from '../../packages/audit/events/reading.ts';
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
