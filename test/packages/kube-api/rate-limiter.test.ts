import { expect, test } from 'vitest';
import { itemBackoff, rateLimiter, tokenBucket } from '../../../packages/kube-api/rate-limiter.ts';

test('[cluster F2, N4] an item waits 5 ms, doubled with each failure up to 655.36 s, then 1000 s', () => {
  const { delayMs } = itemBackoff();
  const delays = Array.from({ length: 21 }, () => delayMs('a'));
  expect(delays.slice(0, 18)).toEqual(Array.from({ length: 18 }, (_, n) => 5 * 2 ** n));
  expect(delays[17]).toBe(655_360);
  expect(delays.slice(18)).toEqual([1_000_000, 1_000_000, 1_000_000]);
});

test('[cluster F2] a thousand failures are no longer wait', () => {
  const { delayMs } = itemBackoff();
  for (let n = 0; n < 2_000; n++) delayMs('a');
  expect(delayMs('a')).toBe(1_000_000);
});

test('[cluster F2] each item has failures of its own', () => {
  const { delayMs, failures } = itemBackoff();
  delayMs('a');
  delayMs('a');
  expect([delayMs('b'), failures('a'), failures('b'), failures('c')]).toEqual([5, 2, 1, 0]);
});

test('[cluster F3, N5] the bucket starts with 100 tokens; the 101st waits 100 ms, the 102nd 200 ms', () => {
  const { reserveMs } = tokenBucket(10, 100);
  const waits = Array.from({ length: 102 }, () => reserveMs(7_000));
  expect(waits.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 0));
  expect(waits.slice(100)).toEqual([100, 200]);
});

test('[cluster F3] ten tokens come in a second, and never more than 100 are there', () => {
  const { reserveMs } = tokenBucket(10, 100);
  for (let n = 0; n < 100; n++) reserveMs(0);
  expect(Array.from({ length: 11 }, () => reserveMs(1_000)).slice(9)).toEqual([0, 100]);
  for (let n = 0; n < 100; n++) expect(reserveMs(1_000_000)).toBe(0);
  expect(reserveMs(1_000_000)).toBe(100);
});

test('[cluster F3] a clock that goes back gives no tokens, and takes none', () => {
  const { reserveMs } = tokenBucket(10, 1);
  expect([reserveMs(5_000), reserveMs(4_000), reserveMs(5_000)]).toEqual([0, 100, 200]);
});

test('[cluster F4] the longer delay counts, and both count on', () => {
  const { delayMs } = rateLimiter();
  for (let n = 0; n < 99; n++) delayMs(`item-${n}`, 0);
  expect(delayMs('a', 0)).toBe(5);
  expect(delayMs('a', 0)).toBe(100);
  expect(delayMs('a', 10_000)).toBe(20);
});

test('[cluster F5, F11] forgetting drops the failures of the item, and gives no token back', () => {
  const { delayMs, forget } = rateLimiter();
  for (let n = 0; n < 100; n++) delayMs('a', 0);
  forget('a');
  expect(delayMs('a', 0)).toBe(100);
  forget('a');
  expect(delayMs('a', 60_000)).toBe(5);
});
