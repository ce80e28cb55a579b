import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Sample, verdictOf } from './verdict.ts';

const MINUTE_MS = 60_000;
const TOLERANCE = { ratio: 0.05, absolute: 10 };

const samplesOf = (values: readonly number[]): readonly Sample[] =>
  values.map((value, index) => ({ atMs: index * MINUTE_MS, value }));

const counted = (count: number, value: (index: number) => number): readonly Sample[] =>
  samplesOf(Array.from({ length: count }, (_, index) => value(index)));

test('what rises all the time grows, however slowly, once it is above what is tolerated', () => {
  const { verdict, slopePerHour } = verdictOf(
    counted(60, (index) => 100 + index),
    TOLERANCE,
  );
  expect(verdict).toBe('grows');
  expect(slopePerHour).toBeCloseTo(60);
});

test('what goes up and down, has peaks at its end, or falls is flat', () => {
  expect(
    verdictOf(
      counted(60, (index) => 100 + (index % 3) * 25),
      TOLERANCE,
    ).verdict,
  ).toBe('flat');
  expect(
    verdictOf(
      counted(60, (index) => (index > 55 ? 1_000 : 100)),
      TOLERANCE,
    ).verdict,
  ).toBe('flat');
  expect(
    verdictOf(
      counted(60, (index) => 1_000 - index),
      TOLERANCE,
    ).verdict,
  ).toBe('flat');
});

test('a step in the middle that stays is growth', () => {
  expect(
    verdictOf(
      counted(60, (index) => (index < 25 ? 100 : 200)),
      TOLERANCE,
    ).verdict,
  ).toBe('grows');
});

test('whatever stays within what is tolerated is flat', () => {
  const values = fc.array(fc.double({ min: 1_000, max: 1_049, noNaN: true }), {
    minLength: 8,
    maxLength: 60,
  });
  fc.assert(fc.property(values, (some) => verdictOf(samplesOf(some), TOLERANCE).verdict === 'flat'));
});

test('a handful of samples says nothing', () => {
  expect(() =>
    verdictOf(
      counted(7, () => 1),
      TOLERANCE,
    ),
  ).toThrow('7 samples say nothing');
});
