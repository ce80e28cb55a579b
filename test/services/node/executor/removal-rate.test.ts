import { expect, test } from 'vitest';
import {
  lostRate,
  type RemovalRate,
  removalsInLastHour,
  withRemoval,
} from '../../../../services/node/executor/local-rules.ts';
import { HOUR, instant, MINUTE } from '../../../fixtures/time.ts';

const NONE: RemovalRate = { bootId: '', minutes: [] };
const at = (sinceBootMs: number, bootId = 'a') => instant({ bootId, sinceBootMs });

test('counts the removals of the last hour', () => {
  let rate = NONE;
  for (const minute of [0, 0, 10, 59]) rate = withRemoval(rate, at(minute * MINUTE));
  expect(removalsInLastHour(rate, at(59 * MINUTE))).toBe(4);
  expect(removalsInLastHour(rate, at(HOUR))).toBe(4);
  expect(removalsInLastHour(rate, at(HOUR + MINUTE))).toBe(2);
  expect(removalsInLastHour(rate, at(2 * HOUR))).toBe(0);
});

test('counts a whole hour, also where it began in the middle of a minute', () => {
  const rate = withRemoval(NONE, at(59_900));
  expect(removalsInLastHour(rate, at(HOUR + 59_800))).toBe(1);
  expect(removalsInLastHour(rate, at(HOUR + 60_000))).toBe(0);
});

test('does not grow with the removals', () => {
  let rate = NONE;
  for (let n = 0; n < 500; n++) rate = withRemoval(rate, at(n * MINUTE));
  expect(rate.minutes).toHaveLength(61);
});

test('goes on over a reboot as if it had taken no time', () => {
  const before = withRemoval(withRemoval(NONE, at(100 * MINUTE)), at(130 * MINUTE));
  expect(removalsInLastHour(before, at(0, 'b'))).toBe(2);
  expect(removalsInLastHour(before, at(31 * MINUTE, 'b'))).toBe(1);
  const after = withRemoval(before, at(20 * MINUTE, 'b'));
  expect(removalsInLastHour(after, at(20 * MINUTE, 'b'))).toBe(3);
  expect(removalsInLastHour(after, at(79 * MINUTE, 'b'))).toBe(1);
});

test('nobody knows it for an hour after the journal was lost, also over a reboot and with removals since', () => {
  const lost = lostRate(at(100 * MINUTE));
  const since = withRemoval(lost, at(159 * MINUTE));
  for (const rate of [lost, since]) {
    expect(removalsInLastHour(rate, at(160 * MINUTE))).toBeNull();
  }
  expect(removalsInLastHour(lost, at(161 * MINUTE))).toBe(0);
  expect(removalsInLastHour(since, at(161 * MINUTE))).toBe(1);
  expect(removalsInLastHour(lost, at(60 * MINUTE, 'b'))).toBeNull();
  expect(removalsInLastHour(lost, at(61 * MINUTE, 'b'))).toBe(0);
});
