import { expect, test } from 'vitest';
import { Explorer } from '../explore.ts';
import { LEAST } from './scenario.ts';
import { ExecutorWorld } from './world.ts';

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
