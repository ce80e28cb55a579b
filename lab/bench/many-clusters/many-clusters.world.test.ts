import { expect, test } from 'vitest';
import { openSide } from './side.ts';

const CLUSTERS = 20;
const ROLL_OUTS = 40;

test('[cluster D10, D14, D17, J3, K1] many clusters on one broker are rolled out, and nothing goes wrongly, is left over, or goes twice', async () => {
  await using side = await openSide({
    clusters: CLUSTERS,
    objects: 100,
    rollOuts: ROLL_OUTS,
    perSecond: 20,
  });
  const facts = await side.round();
  const account = side.account();
  expect(account, account.examples.join('; ')).toMatchObject({ wrong: 0, lost: 0, twice: 0 });
  // Of each roll-out at least a ReplicaSet's pods and its Secret, a Job with its ConfigMap, and a pod that was evicted.
  expect(account.removed).toBeGreaterThanOrEqual(ROLL_OUTS * 9 - CLUSTERS);
  expect(account.dropped).toBeGreaterThan(0);
  for (const count of Object.values(facts)) expect(count).toBeGreaterThan(0);
  expect((await side.told()).twice).toEqual([]);
});
