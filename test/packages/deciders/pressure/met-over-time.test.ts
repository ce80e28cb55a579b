import { describe, expect, test } from 'vitest';
import { isMet } from '../../../../packages/deciders/pressure/rules/eviction.ts';
import type { Bucket } from '../../../../schemas/events/disk-stats.ts';
import { LONGEST_GRACE_PERIOD_MS } from '../../../../schemas/policy/eviction.ts';
import { MINUTE, SECOND } from '../../../fixtures/time.ts';
import { bucket, NOW_MS } from './node-disks.ts';

interface Case {
  readonly name: string;
  readonly free: number;
  readonly past?: readonly Bucket[];
  readonly graceMs?: number;
  readonly met: boolean;
}

/** Met below 100, cleared at 150. */
const met = ({ free, past = [], graceMs = 0 }: Omit<Case, 'name' | 'met'>): boolean =>
  isMet(BigInt(free), past, {
    limits: { threshold: 100n, cleared: 150n, gracePeriodMs: graceMs },
    nowMs: NOW_MS,
  });

describe('a hard threshold', () => {
  test.each<Case>([
    { name: '[J9] is met below it', free: 99, met: true },
    { name: '[J9] is not met at it', free: 100, met: false },
    { name: '[J10] stays met below the higher limit', free: 149, past: [bucket(10 * SECOND, 99)], met: true },
    { name: '[J10] is cleared at the higher limit', free: 150, past: [bucket(10 * SECOND, 99)], met: false },
    { name: '[J10] is not met below the higher limit alone', free: 149, past: [bucket(0, 100)], met: false },
    {
      name: '[J10] stays met through buckets between the limits',
      free: 149,
      past: [bucket(30 * SECOND, 99), bucket(20 * SECOND, 120), bucket(10 * SECOND, 149)],
      met: true,
    },
    {
      name: '[J10] once cleared, is met only below the lower limit again',
      free: 149,
      past: [bucket(30 * SECOND, 99), bucket(20 * SECOND, 120, 150), bucket(10 * SECOND, 120)],
      met: false,
    },
    {
      name: '[J10] counts a bucket that went below and never cleared',
      free: 149,
      past: [bucket(10 * SECOND, 99, 149)],
      met: true,
    },
    {
      name: '[J10] counts a bucket that cleared and ended below',
      free: 149,
      past: [bucket(10 * SECOND, 90, 500, 99)],
      met: true,
    },
    {
      name: '[J10] does not count a bucket of which nobody knows whether it cleared first',
      free: 149,
      past: [bucket(10 * SECOND, 99, 150, 149)],
      met: false,
    },
    {
      name: '[J10] stays met over buckets a minute apart',
      free: 149,
      past: [bucket(2 * MINUTE, 99), bucket(MINUTE, 120)],
      met: true,
    },
    {
      name: '[J10] is forgotten over a time in which nobody looked',
      free: 149,
      past: [bucket(2 * MINUTE + 10 * SECOND, 99), bucket(MINUTE, 120)],
      met: false,
    },
    {
      name: '[J10] is forgotten with a past that is over',
      free: 149,
      past: [bucket(MINUTE + 1, 99)],
      met: false,
    },
    {
      name: '[J8] is not met by a past that lies in the future',
      free: 149,
      past: [bucket(-1, 99)],
      met: false,
    },
  ])('$name', ({ met: expected, ...given }) => {
    expect(met(given)).toBe(expected);
  });
});

/** One bucket every ten seconds, all of them at `value`, the first so long ago. */
const steady = (sinceMs: number, value: number): Bucket[] =>
  Array.from({ length: sinceMs / (10 * SECOND) + 1 }, (_, index) =>
    bucket(sinceMs - index * 10 * SECOND, value),
  );

describe('[J11] a soft threshold with a grace of a minute', () => {
  const graceMs = MINUTE;
  test.each<Case>([
    { name: 'is met after a minute below', free: 99, past: steady(70 * SECOND, 99), met: true },
    {
      name: 'is not met while the first sample may be younger than a minute',
      free: 99,
      past: steady(MINUTE, 99),
      met: false,
    },
    {
      name: 'is met a minute after the second bucket began',
      free: 99,
      past: [bucket(MINUTE + 1, 99), bucket(MINUTE, 99), bucket(0, 99)],
      met: true,
    },
    {
      name: 'is not met a millisecond before',
      free: 99,
      past: [bucket(MINUTE, 99), bucket(MINUTE - 1, 99), bucket(0, 99)],
      met: false,
    },
    { name: 'is not met without a past', free: 99, met: false },
    { name: 'is not met now', free: 100, past: steady(70 * SECOND, 99).slice(0, -1), met: false },
    {
      name: 'begins anew where one value was not below',
      free: 99,
      past: steady(90 * SECOND, 99).with(4, bucket(50 * SECOND, 90, 100, 90)),
      met: false,
    },
    {
      name: 'counts from the second bucket after it',
      free: 99,
      past: steady(90 * SECOND, 99).with(1, bucket(80 * SECOND, 90, 100, 90)),
      met: true,
    },
    {
      name: 'does not count from the first after it',
      free: 99,
      past: steady(90 * SECOND, 99).with(2, bucket(70 * SECOND, 90, 100, 90)),
      met: false,
    },
    {
      name: 'begins anew after a time in which nobody looked',
      free: 99,
      past: steady(3 * MINUTE, 99).filter((_, index) => index < 2 || index > 13),
      met: false,
    },
    {
      name: 'is met a minute after the second bucket of a new start',
      free: 99,
      past: steady(3 * MINUTE, 99).filter((_, index) => index < 2 || index > 10),
      met: true,
    },
    {
      name: 'is not met a minute after the first',
      free: 99,
      past: steady(3 * MINUTE, 99).filter((_, index) => index < 2 || index > 11),
      met: false,
    },
    {
      name: 'stays met below the higher limit, once past its grace',
      free: 149,
      past: [...steady(2 * MINUTE, 99).slice(0, 8), ...steady(40 * SECOND, 149)],
      met: true,
    },
    {
      name: 'does not stay met when it was not past its grace',
      free: 149,
      past: [...steady(2 * MINUTE, 99).slice(1, 8), ...steady(40 * SECOND, 149)],
      met: false,
    },
    {
      name: 'is cleared at the higher limit',
      free: 99,
      past: [...steady(2 * MINUTE, 99).slice(0, 8), bucket(40 * SECOND, 99, 150), ...steady(30 * SECOND, 99)],
      met: false,
    },
  ])('$name', ({ met: expected, ...given }) => {
    expect(met({ graceMs, ...given })).toBe(expected);
  });
});

test('[J11] time counts from a reboot at the earliest; that a threshold was met before is not forgotten', () => {
  const over = (free: number, gracePeriodMs: number) =>
    isMet(
      BigInt(free),
      [-40, -30, -20, 10, 40].map((atSeconds): Bucket => {
        const value = String(atSeconds < 0 ? 99 : free);
        return [atSeconds * SECOND, value, value, value];
      }),
      { limits: { threshold: 100n, cleared: 150n, gracePeriodMs }, nowMs: MINUTE },
    );
  expect(over(99, MINUTE)).toBe(true);
  expect(over(99, MINUTE + 1)).toBe(false);
  expect(over(149, 0)).toBe(true);
  expect(over(150, 0)).toBe(false);
});

test('[J11] the longest grace that a policy may ask for fits what nodes tell of the past', () => {
  // The bucket that began two hours ago has just gone.
  const minutes = Array.from({ length: 120 }, (_, index) => bucket((119 - index) * MINUTE, 99));
  expect(met({ free: 99, past: minutes, graceMs: LONGEST_GRACE_PERIOD_MS })).toBe(true);
  expect(met({ free: 99, past: minutes, graceMs: LONGEST_GRACE_PERIOD_MS + 1 })).toBe(false);
});
