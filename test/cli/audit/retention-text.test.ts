import { expect, test } from 'vitest';
import { retentionText } from '../../../cli/views/audit/archive/follow-archive.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';

const HOUR_MS = 3_600_000;
const lag = (lagHours: number) => ({
  topic: TOPICS.diskStats.name,
  lagMs: lagHours * HOUR_MS,
  retentionMs: 24 * HOUR_MS,
  leftMs: (24 - lagHours) * HOUR_MS,
});

test.each([
  {
    hours: 13,
    says: 'what came in the last 13 h may not be archived yet, and the log keeps it for 24 h; 11 h are left',
  },
  { hours: 23.5, says: '30 min are left' },
  { hours: 24, says: 'records may be lost already' },
])('$hours h of a day: $says', ({ hours, says }) => {
  expect(retentionText(lag(hours))).toContain(says);
});

test('of what is kept for ever there is nothing to say', () => {
  expect(retentionText({ ...lag(1), retentionMs: null, leftMs: null })).toBeNull();
});
