import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pressureHandler } from '../../../../packages/deciders/pressure/decider.ts';
import { Observe } from '../../../../schemas/events/observe.ts';
import { EvictionThreshold, LARGEST_PERCENT } from '../../../../schemas/policy/eviction.ts';
import { input } from '../../../fixtures/input.ts';
import { policySet } from '../../../fixtures/policy.ts';
import { runs } from '../../../support/property-runs.ts';
import { disks, SINGLE, threshold } from './node-disks.ts';

const LARGEST = 2n ** 64n - 1n;
const digits = fc.bigInt({ min: 0n, max: LARGEST }).map(String);
const percent = fc.double({ min: 0, max: LARGEST_PERCENT, noNaN: true });
const minimumReclaim = fc.oneof(
  percent.map((value) => ({ percent: value })),
  fc
    .constantFrom(1, 100, 150, 1e20, LARGEST_PERCENT, 1e39, Number.MIN_VALUE)
    .map((value) => ({ percent: value })),
  digits.map((quantity) => ({ quantity })),
);

test('[B15, J9, J10] whatever a stored policy asks to have free again, the order can be read', async () => {
  let ordered = 0;
  await fc.assert(
    fc.asyncProperty(minimumReclaim, digits, async (amount, capacityBytes) => {
      const wanted = EvictionThreshold.safeParse({
        ...threshold('nodefs.available', { value: { percent: 50 } }),
        minimumReclaim: amount,
      });
      if (!wanted.success) return;
      const stats = disks(SINGLE, { nodefs: { availableBytes: '0', capacityBytes } });
      const policies = policySet({ evictionThresholds: [wanted.data] });
      const [, [order] = []] = await pressureHandler(() => policies)(input('diskStats', stats));
      ordered += order ? 1 : 0;
      if (order) expect(Observe.safeParse(order.event).error).toBeUndefined();
    }),
    runs(500),
  );
  expect(ordered).toBeGreaterThan(runs(500).numRuns / 10);
});

test('[B15] a percentage that 32 bits do not hold is none', () => {
  const given = threshold('nodefs.available', { minimumReclaim: { percent: 1e40 } });
  expect(EvictionThreshold.safeParse(given).success).toBe(false);
});
