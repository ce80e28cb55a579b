import { expect, test } from 'vitest';
import { LONGER } from './searches.ts';

test.each(LONGER)('nothing goes wrong at any moment: $name', async ({ explore }) => {
  const explored = await explore();
  expect(explored.violations).toEqual([]);
  expect(explored.isComplete).toBe(true);
});
