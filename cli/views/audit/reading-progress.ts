import type { ReadingProgress } from '../../../services/audit/events/reading.ts';

const REPORT_EVERY_MS = 5_000;

/** Tells a long reading now and then: how far it is, how fast, and how long it will take. */
export function readingProgress(
  report: (line: string) => void,
  now: () => number,
): (progress: ReadingProgress) => void {
  const startedMs = now();
  let reportedMs = startedMs;
  return ({ done, of, records }) => {
    const nowMs = now();
    if (nowMs - reportedMs < REPORT_EVERY_MS) return;
    reportedMs = nowMs;
    const seconds = (nowMs - startedMs) / 1_000;
    const left = done === 0 ? '' : `, about ${Math.ceil((seconds / done) * (of - done))} s left`;
    report(
      `${records} records read, ${Math.round(records / seconds)} a second; ${Math.floor(done)} of ${of} partitions${left}`,
    );
  };
}
