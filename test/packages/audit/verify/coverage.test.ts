import { expect, test } from 'vitest';
import { coverageOf } from '../../../../packages/audit/verify/coverage.ts';
import { outputEvents } from '../../../../packages/audit/verify/decisions.ts';
import { createCollector, mergeFound } from '../../../../packages/audit/verify/findings.ts';
import { DAY, HOUR, MINUTE, NOW } from '../../../fixtures/time.ts';

const whole = { range: { fromMs: null, toMs: null }, keptSinceMs: {}, deletesAtMs: null };
const NEVER_MISSING = Number.NEGATIVE_INFINITY;

test('where nothing was deleted and all was read, nothing may be missing', () => {
  for (const topic of ['decisions', 'commands', 'policies', 'diskStats'] as const)
    expect(coverageOf(whole)(topic)).toBe(NEVER_MISSING);
});

test('what leads to something in a range is read for a while before it, and nothing else is', () => {
  const covered = coverageOf({ ...whole, range: { fromMs: NOW, toMs: null } });
  expect(covered('decisions')).toBe(NOW - 10 * MINUTE);
  expect(covered('commands')).toBe(NOW - DAY);
  expect(covered('observe')).toBe(NOW - DAY);
  expect(covered('results')).toBe(NOW);
});

test('what retention may have deleted may be missing: an hour less than it says, as brokers are late; what is kept for ever is not', () => {
  const covered = coverageOf({ ...whole, deletesAtMs: NOW });
  expect(covered('diskStats')).toBe(NOW - DAY + HOUR);
  expect(covered('policyVersions')).toBe(NEVER_MISSING);
});

test('the oldest record that is kept, of the topic or of inventories, bounds what can be told', () => {
  const covered = coverageOf({ ...whole, keptSinceMs: { inventory: NOW, commands: NOW + 1 } });
  expect(covered('commands')).toBe(NOW + 1);
  expect(covered('decisions')).toBe(NOW);
});

test('what several partitions have shown spans all of their time', () => {
  const found = [[5, 7], [3, 4], []].map((passed) => {
    const collector = createCollector();
    for (const ms of passed) collector.passed(ms);
    return collector.found();
  });
  expect(mergeFound(found)).toMatchObject({ firstRecordMs: 3, lastRecordMs: 7 });
  expect(mergeFound(found.slice(2))).toMatchObject({ firstRecordMs: null, lastRecordMs: null });
});

test('of what a decider gave, what has no type or id is no event', () => {
  const good = { type: 'a', id: 'b', more: 1 };
  const given = [good, { type: 'a' }, { id: 'b' }, { type: 1, id: 'b' }, { type: 'a', id: 2 }, {}];
  expect(outputEvents(given.map((event) => ({ event, text: '' })))).toEqual([good]);
});
