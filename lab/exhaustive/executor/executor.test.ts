import { describe, expect, test } from 'vitest';
import { QUICK } from '../searches.ts';

describe('nothing goes wrong at any moment', () => {
  test.each(QUICK.filter(({ of }) => of === 'executor'))('$name', async ({ explore }) => {
    const explored = await explore();
    expect(explored.violations).toEqual([]);
    expect(explored.isComplete).toBe(true);
    expect(explored.states).toBeGreaterThan(1_000);
  });
});
