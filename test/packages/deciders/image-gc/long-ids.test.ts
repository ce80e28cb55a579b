import { expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';

test.each([
  { name: 'characters', long: 'x'.repeat(256), short: 'x'.repeat(255) },
  { name: 'bytes as JSON', long: '\u0001'.repeat(50), short: '\u0001'.repeat(49) },
])('[P8] an image stays whose id has too many $name, and keeps no other', ({ long, short }) => {
  const used = image('used', { usedBy: [{ kind: 'container', id: 'c' }] });
  const given = inventory({ images: [image(long), image(short), used], reclaim: reclaim() });
  const { items, verdicts, holders } = decide(given, policy());

  expect(items.map(({ id }) => id)).toEqual([short]);
  expect(verdicts[0]).toMatchObject({ action: 'keep', rule: 'P8' });
  expect(holders).toContainEqual({ reason: 'not-believed', objects: 1, bytes: 10 });
});
