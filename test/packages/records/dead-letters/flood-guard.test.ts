import { expect, test } from 'vitest';
import {
  createFloodGuard,
  type MessageOutcome,
} from '../../../../packages/records/dead-letters/flood-guard.ts';

const MINUTE_MS = 60_000;

/** `total` messages of a key, of which the first `failed` fail. */
const messages = (key: string, total: number, failed: number): readonly MessageOutcome[] =>
  Array.from({ length: total }, (_, index) => ({ key, failed: index < failed }));

const keys = (count: number, total: number, failed: number, prefix = 'bad'): readonly MessageOutcome[] =>
  Array.from({ length: count }, (_, index) => messages(`${prefix}-${index}`, total, failed)).flat();

const reportTo = (guard = createFloodGuard()) => ({
  guard,
  report: (outcomes: readonly MessageOutcome[], atMs = 0, partition = 't/0') =>
    guard.admit(partition, atMs)(outcomes, atMs),
});

test.each<{ name: string; outcomes: readonly MessageOutcome[] }>([
  {
    name: 'one key fails always and sends a thousand times as much',
    outcomes: [...keys(1, 5_000, 5_000), ...keys(20, 5, 0, 'good')],
  },
  { name: 'four keys fail always', outcomes: keys(4, 10, 10) },
  { name: 'five keys fail one time in five', outcomes: keys(5, 5, 1) },
  {
    name: 'four keys fail always and a fifth one time in five',
    outcomes: [...keys(4, 1, 1), ...messages('fifth', 5, 1)],
  },
  { name: 'five keys of twenty-five fail always', outcomes: [...keys(5, 4, 4), ...keys(20, 4, 0, 'good')] },
  { name: 'fifty keys of a thousand fail always', outcomes: [...keys(50, 2, 2), ...keys(950, 2, 0, 'good')] },
  { name: 'messages without a key fail', outcomes: Array(100).fill({ key: null, failed: true }) },
  { name: 'nothing fails', outcomes: keys(100, 3, 0) },
])('goes on while $name', ({ outcomes }) => {
  const { guard, report } = reportTo();
  expect(report(outcomes)).toBeNull();
  expect(guard.problem()).toBeNull();
});

test.each<{ name: string; outcomes: readonly MessageOutcome[] }>([
  { name: 'five keys fail always', outcomes: keys(5, 1, 1) },
  { name: 'five keys fail one time in four', outcomes: keys(5, 4, 1) },
  { name: 'five keys of twenty-four fail always', outcomes: [...keys(5, 4, 4), ...keys(19, 4, 0, 'good')] },
  { name: 'every key of a thousand fails always', outcomes: keys(1_000, 1, 1) },
])('pauses when $name', ({ outcomes }) => {
  const { guard, report } = reportTo();
  report([], 0);
  expect(report(outcomes, MINUTE_MS)).toBe('paused');
  expect(guard.problem()).toMatch(/^paused: messages of \d+ keys cannot be processed/);
});

test('goes on while few of a large fleet fail, of which hardly anybody was heard yet', () => {
  const { report } = reportTo();
  const fleet = keys(1_000, 1, 0, 'good');
  for (let second = 0; second < 180; second++) {
    const bad = second % 60 === 0 ? keys(5, 1, 1) : [];
    expect(
      report([...fleet.filter((_, index) => index % 60 === second % 60), ...bad], second * 1_000),
    ).toBeNull();
  }
});

test('pauses in its first minute when half of all fail', () => {
  expect(reportTo().report([...keys(6, 1, 1), ...keys(6, 1, 0, 'good')])).toBeNull();
  expect(reportTo().report([...keys(7, 1, 1), ...keys(6, 1, 0, 'good')])).toBe('paused');
});

test('failures add up over a minute and over partitions, and no longer', () => {
  const early = reportTo();
  for (let i = 0; i < 4; i++) expect(early.report(messages(`k-${i}`, 1, 1), i * 1_000, `t/${i}`)).toBeNull();
  expect(early.report(messages('k-4', 1, 1), MINUTE_MS - 1, 't/4')).toBe('paused');

  const late = reportTo();
  for (let i = 0; i < 4; i++) late.report(messages(`k-${i}`, 1, 1), 0);
  expect(late.report(messages('k-4', 1, 1), MINUTE_MS)).toBeNull();
});

const paused = () => {
  const started = reportTo();
  started.report(keys(5, 1, 1));
  return started;
};

test('a paused consumer takes nothing for a minute, then one slice of each partition a minute', () => {
  const { guard } = paused();
  expect(() => guard.admit('t/0', MINUTE_MS - 1)).toThrow(/^paused/);
  guard.admit('t/0', MINUTE_MS);
  expect(() => guard.admit('t/0', MINUTE_MS + 1)).toThrow(/^paused/);
  guard.admit('t/1', MINUTE_MS + 1);
  guard.admit('t/0', 2 * MINUTE_MS);
});

test('a refused slice may be tried again', () => {
  const { guard } = paused();
  expect(() => guard.admit('t/0', 1)).toThrow(expect.objectContaining({ code: 'FLOODED', retry: true }));
});

test('a probe that fails keeps the consumer paused, and one that does not lets it go on', () => {
  const { guard, report } = paused();
  expect(report(keys(2, 1, 1), MINUTE_MS)).toBeNull();
  expect(guard.problem()).not.toBeNull();
  expect(report([...keys(1, 1, 1), ...keys(4, 1, 0, 'good')], 2 * MINUTE_MS)).toBe('resumed');
  expect(guard.problem()).toBeNull();
  guard.admit('t/0', 2 * MINUTE_MS + 1);
});

test('after a pause the count begins anew', () => {
  const { report } = paused();
  report(keys(1, 1, 0), MINUTE_MS);
  expect(report(keys(1, 1, 1), MINUTE_MS + 1)).toBeNull();
  expect(report(keys(3, 1, 1, 'worse'), MINUTE_MS + 1)).toBeNull();
  expect(report(keys(1, 1, 1, 'worst'), MINUTE_MS + 1)).toBe('paused');
});

test('a slice that was admitted before the pause does not end it', () => {
  const { guard, report } = reportTo();
  const inHand = guard.admit('t/9', 0);
  report(keys(5, 1, 1));
  expect(inHand(keys(100, 1, 0, 'good'), 1)).toBeNull();
  expect(guard.problem()).not.toBeNull();
});

test('nor does it prolong the pause', () => {
  const { guard, report } = reportTo();
  const inHand = guard.admit('t/9', 0);
  report(keys(5, 1, 1));
  expect(inHand(keys(5, 1, 1, 'worse'), 30_000)).toBeNull();
  guard.admit('t/0', MINUTE_MS);
});

test('keys without number do not fill the memory', () => {
  const { guard, report } = reportTo();
  report(keys(30_000, 1, 0));
  expect(guard.problem()).toBeNull();
});
