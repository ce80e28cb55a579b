import { expect, test, vi } from 'vitest';
import { readOwnerGraph } from '../../../packages/read-model/objects.ts';
import { openStore } from './support/test-store.ts';

test('an owner graph is found by the objects in it, however many others the cluster has', () => {
  using store = openStore();
  const { db } = store;
  db.exec(`INSERT INTO cluster_owners VALUES
    ('c1', 'o', 'd', 1, 1, 'ConfigMap', 'owner', 'gone'), ('c1', 'o', 'e', 2, 2, 'ConfigMap', 'owner', 'gone')`);
  const prepared = vi.spyOn(db, 'prepare');
  const graph = readOwnerGraph(db, { cluster: 'c1', uid: 'o' }, null);
  const asked = new Set(prepared.mock.calls.map(([sql]) => sql));
  prepared.mockRestore();
  expect(graph?.edges.map(({ dependent }) => dependent)).toEqual(['d', 'e']);
  const looks = [...asked].flatMap((sql) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail)),
  );
  expect(looks.filter((look) => /cluster_owners/.test(look))).not.toEqual([]);
  // By the cluster alone: all that it has would be gone through, for each of the objects.
  expect(looks.filter((look) => /\(cluster=\?\)/.test(look) || /^SCAN (?!CONSTANT ROW)/.test(look))).toEqual(
    [],
  );
  expect(looks.filter((look) => look.includes('FOR ORDER BY'))).toHaveLength(1);
});
