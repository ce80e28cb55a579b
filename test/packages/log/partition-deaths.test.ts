import { expect, test } from 'vitest';
import { PartitionDeaths } from '../../../packages/log/subscription.ts';

/** A stay with a partition, and what it committed beside its place. */
function stay(deaths: number) {
  const kept: number[] = [];
  const count = new PartitionDeaths(deaths, async (found) => void kept.push(found));
  return { count, kept };
}

test('the first slice is counted before it is handled, and not any more once it was lived through', async () => {
  const { count, kept } = stay(0);
  expect(count.atMost(500)).toBe(500);
  const slice = count.forSlice();
  expect(slice.deaths).toBe(0);
  await slice.begin();
  expect(kept).toEqual([1]);
  await slice.end();
  expect(kept).toEqual([1, 0]);
});

test('a handler that fails and is tried again counts as alive', async () => {
  const { count, kept } = stay(0);
  for (let time = 0; time < 3; time += 1) {
    const slice = count.forSlice();
    await slice.begin();
    await slice.end();
  }
  expect(kept).toEqual([1, 0, 1, 0, 1, 0]);
});

test('later slices cost nothing', async () => {
  const { count, kept } = stay(0);
  count.passed(10);
  const slice = count.forSlice();
  await slice.begin();
  await slice.end();
  expect(kept).toEqual([]);
  expect(count.atMost(500)).toBe(500);
});

test('after a death records are taken and counted one by one, until those are past that may be to blame', async () => {
  const { count, kept } = stay(1);
  expect(count.forSlice().deaths).toBe(1);
  for (let record = 0; record < 500; record += 1) {
    expect(count.atMost(500)).toBe(1);
    const slice = count.forSlice();
    await slice.begin();
    await slice.end();
    count.passed(1);
    expect(count.forSlice().deaths).toBe(0);
  }
  expect(kept.slice(0, 4)).toEqual([2, 1, 1, 0]);
  expect(count.atMost(500)).toBe(500);
});

test('a slice is no longer counted only once the broker knows: what another partition does then is not blamed on it', async () => {
  const written = Promise.withResolvers<void>();
  const kept: number[] = [];
  const count = new PartitionDeaths(0, async (found) => {
    kept.push(found);
    if (found === 0) await written.promise;
  });
  const slice = count.forSlice();
  await slice.begin();
  let hasEnded = false;
  const ending = slice.end().then(() => {
    hasEnded = true;
  });
  await Promise.resolve();
  expect([kept, hasEnded]).toEqual([[1, 0], false]);
  written.resolve();
  await ending;
  expect(hasEnded).toBe(true);
});
