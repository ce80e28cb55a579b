import { HOUR_MS, MINUTE_MS } from '../../../../packages/process/durations.ts';
import type { TopicLag } from '../../../../services/audit/archive/retention-watch.ts';

const HOURS_TOLD = 48;

/** `90 min`, `13 h` or `9 d`: as near as a warning needs it. */
function roughly(durationMs: number): string {
  const hours = durationMs / HOUR_MS;
  if (hours < 2) return `${Math.floor(durationMs / MINUTE_MS)} min`;
  return hours < HOURS_TOLD ? `${Math.floor(hours)} h` : `${Math.floor(hours / 24)} d`;
}

/** That retention may overtake the archive: where, how long is left, and what to do. `null` where nothing is at stake. */
export function retentionText({ topic, lagMs, retentionMs, leftMs }: TopicLag): string | null {
  if (retentionMs === null || leftMs === null) return null;
  const lag = `${topic}: what came in the last ${roughly(lagMs)} may not be archived yet, and the log keeps it for ${roughly(retentionMs)}`;
  const left = leftMs > 0 ? `${roughly(leftMs)} are left` : 'records may be lost already';
  return `${lag}; ${left}. See what holds the archiver up (its other warnings, its disk, the broker), or keep the topic longer (retention.ms) until it has caught up`;
}
