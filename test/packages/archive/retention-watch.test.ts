import { expect, test } from 'vitest';
import { dueWarnings, watchRetention } from '../../../packages/archive/retention-watch.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 0, 1);
const STATS = TOPICS.diskStats.name;
const at = (partition: number) => ({ topic: STATS, partition });

const watchAt = (lagMs: number) => {
  const watch = watchRetention();
  watch.reached(at(3), NOW_MS - lagMs);
  return watch;
};

test.each([
  { lag: 'less than half', lagMs: 12 * HOUR_MS - 1, due: 0 },
  { lag: 'half', lagMs: 12 * HOUR_MS, due: 1 },
  { lag: 'three quarters', lagMs: 18 * HOUR_MS, due: 2 },
  { lag: 'nine tenths', lagMs: 21.6 * HOUR_MS, due: 3 },
  { lag: 'all', lagMs: 24 * HOUR_MS, due: 4 },
])('$lag of the retention behind: $due warnings', ({ lagMs, due }) => {
  const [lag, ...others] = watchAt(lagMs).lags(NOW_MS);

  expect(others).toEqual([]);
  expect(lag).toEqual({ topic: STATS, lagMs, retentionMs: 24 * HOUR_MS, leftMs: 24 * HOUR_MS - lagMs });
  expect(lag && dueWarnings(lag)).toBe(due);
});

test('each warning comes once, and again when it was well in between', () => {
  const watch = watchAt(13 * HOUR_MS);
  const nearer = (laterMs: number): number => watch.nearer(NOW_MS + laterMs).length;

  expect([nearer(0), nearer(1), nearer(6 * HOUR_MS), nearer(6 * HOUR_MS)]).toEqual([1, 0, 1, 0]);
  watch.reached(at(3), NOW_MS + 6 * HOUR_MS);
  expect([nearer(6 * HOUR_MS), nearer(18 * HOUR_MS)]).toEqual([0, 1]);
});

test('of several partitions the one that is most behind counts', () => {
  const watch = watchAt(HOUR_MS);
  watch.reached(at(4), NOW_MS - 13 * HOUR_MS);

  expect(watch.lags(NOW_MS)).toMatchObject([{ lagMs: 13 * HOUR_MS }]);
});

test('what the log keeps for ever is never in danger', () => {
  const watch = watchRetention();
  watch.reached({ topic: TOPICS.policies.name, partition: 0 }, 0);

  expect(watch.lags(NOW_MS)).toEqual([
    { topic: TOPICS.policies.name, lagMs: NOW_MS, retentionMs: null, leftMs: null },
  ]);
  expect(watch.nearer(NOW_MS)).toEqual([]);
});
