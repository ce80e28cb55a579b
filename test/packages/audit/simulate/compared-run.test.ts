import { expect, test } from 'vitest';
import { RemovalSums } from '../../../../packages/audit/simulate/compare.ts';
import { freedSpace } from '../../../../packages/decision/freed-space.ts';

const measured = { filesystem: 'imagefs', beforeBytes: '100', afterBytes: '130' } as const;

test('what was measured and what was estimated are never one number', () => {
  const sums = new RemovalSums();
  sums.add('image', freedSpace(measured, 50));
  sums.add('image', freedSpace(null, 7));
  sums.add('container', freedSpace({ ...measured, afterBytes: '90' }, null));
  expect(sums.totals()).toEqual({
    removed: { images: 2, containers: 1, sandboxes: 0, logs: 0 },
    measuredBytes: 30n,
    estimatedBytes: 7n,
    unknown: 1,
  });
});
