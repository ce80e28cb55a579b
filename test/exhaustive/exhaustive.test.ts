import { describe, expect, test } from 'vitest';
import { isQuickRun } from '../support/property-runs.ts';
import { LEAST } from './executor/scenario.ts';
import { ExecutorWorld } from './executor/world.ts';
import { Explorer } from './explore.ts';
import { QUICK } from './searches.ts';

describe.skipIf(isQuickRun())('nothing goes wrong at any moment', () => {
  test.each(QUICK)('$name', async ({ explore }) => {
    const explored = await explore();
    expect(explored.violations).toEqual([]);
    expect(explored.isComplete).toBe(true);
    expect(explored.states).toBeGreaterThan(1_000);
  });
});

test.each([
  { crashes: 1, repeats: 0, pauses: 0, policyChanges: 0 },
  { crashes: 0, repeats: 1, pauses: 1, policyChanges: 1 },
  { crashes: 1, repeats: 0, pauses: 1, policyChanges: 0 },
])('moves that are left out lead nowhere else: %o', async (most) => {
  const settings = { scenario: LEAST, most };
  const search = (isReduced: boolean) =>
    new Explorer(() => ExecutorWorld.begin({ ...settings, isReduced })).explore();
  const [reduced, whole] = [await search(true), await search(false)];
  expect(reduced.states).toBeLessThan(whole.states);
  expect(whole.violations).toEqual([]);
  expect(reduced.endings).toEqual(whole.endings);
});
