import { expect, test } from 'vitest';
import { leastOf, mostOf } from '../../../packages/process/collections.ts';

test('the least and the most of more numbers than a call takes arguments', () => {
  const numbers = Array.from({ length: 600_000 }, (_, index) => index);
  expect([leastOf(numbers), mostOf(numbers)]).toEqual([0, 599_999]);
});

test('of none there is neither', () => {
  expect([leastOf([]), mostOf([])]).toEqual([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]);
});
