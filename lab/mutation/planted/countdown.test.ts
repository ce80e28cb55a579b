import { expect, test } from 'vitest';
import { countdown, isLong } from './countdown.ts';

test('counts down', () => {
  expect(countdown(2)).toEqual(['two', 'one']);
  expect(() => countdown(3)).toThrow();
});

// Where the limit lies is left open on purpose.
test('three is long, and nothing is not', () => {
  expect([isLong(3), isLong(0)]).toEqual([true, false]);
});
