import fc from 'fast-check';
import { expect, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { isLasting, pressureOf, pressureWarning } from '../../../packages/read-model/node-pressure.ts';
import type { Bucket, DiskStats } from '../../../schemas/events/disk-stats.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { runs } from '../../support/property-runs.ts';

const POLICIES = policySet(
  'node',
  [
    appliedPolicy({
      imageGCHighThresholdPercent: 80,
      imageGCLowThresholdPercent: 70,
      evictionThresholds: [],
    }),
  ],
  [],
);
const NOW_MS = 3 * HOUR;

/** Used percent of imagefs by minutes, the newest last, of a disk with 1000 bytes. */
function statsOf(used: readonly number[]): DiskStats {
  const free = (percent: number): string => String(10 * (100 - percent));
  const newest = used.at(-1) ?? 0;
  const buckets = used.slice(0, -1).map((percent, index): Bucket => {
    const atMs = NOW_MS - (used.length - 1 - index) * MINUTE;
    return [atMs, free(percent), free(percent), free(percent)];
  });
  const none = { availableBytes: [], inodesFree: [] };
  return diskStats(
    {},
    {
      takenAt: instant({ sinceBootMs: NOW_MS }),
      filesystems: filesystems({ availableBytes: free(newest) }),
      history: { nodefs: none, containerfs: none, imagefs: { availableBytes: buckets, inodesFree: [] } },
    },
  );
}

const warns = (used: readonly number[]): boolean => {
  const pressure = pressureOf(statsOf(used), POLICIES);
  return pressure !== null && isLasting(pressure);
};
const minutes = (count: number, used: number): readonly number[] => Array.from({ length: count }, () => used);

test.each([
  { name: 'full for 20 minutes', used: minutes(20, 99), isWarned: true },
  {
    name: 'full, with readings a little below the threshold in between',
    used: minutes(10, 99).flatMap((full) => [full, 79]),
    isWarned: true,
  },
  { name: 'a reclaim 20 minutes ago stopped half-way', used: [85, ...minutes(20, 75)], isWarned: true },
  {
    name: 'three returns within an hour, each after the target was reached',
    used: [...minutes(3, 60), 85, 65, ...minutes(9, 60), 85, 65, ...minutes(9, 60), 85, 65],
    isWarned: true,
  },
  { name: 'full for 5 minutes', used: [...minutes(20, 60), ...minutes(5, 99)], isWarned: false },
  { name: 'relieved', used: [...minutes(20, 99), 70], isWarned: false },
  { name: 'one return', used: [...minutes(20, 60), 85, 65, 60], isWarned: false },
  { name: 'never met', used: minutes(100, 79), isWarned: false },
])('a node is warned of by its readings: $name', ({ used, isWarned }) => {
  expect(warns(used)).toBe(isWarned);
});

test('a node that met a threshold 15 minutes ago and never had the target since is never calm', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 71, max: 100 }), { minLength: 15, maxLength: 110 }), (used) => {
      expect(warns([80, ...used])).toBe(true);
    }),
    runs(300),
  );
});

test('what is warned of says how long, how often, and what the policy does', () => {
  const textOf = (used: readonly number[]): string | null => {
    const stats = statsOf(used);
    const pressure = pressureOf(stats, POLICIES);
    return pressure && pressureWarning(pressure, stats, false).message;
  };
  expect(textOf(minutes(21, 99))).toMatch(
    /^its imagefs met a threshold of policy \S+ 20 minutes ago and has not reached the target since: fleetgc audit explain node\/prod\/web-1/,
  );
});
