import { expect, test } from 'vitest';
import { ConcludedObjects } from '../../../../packages/read-model/cluster-report.ts';
import { clusterDecision } from '../../../fixtures/cluster.ts';

test('a decision may have been made about any number of objects of a kind', () => {
  const objects = new ConcludedObjects();
  const decision = clusterDecision();
  for (let index = 0; index < 600_000; index++)
    objects.add(decision, {
      object: { group: '', kind: 'ConfigMap', uid: String(index) },
      rule: 'D1',
      atMs: index,
    });
  expect(objects.told()).toMatchObject([{ objects: 600_000, lastMs: 599_999 }]);
});
