import { expect, test } from 'vitest';
import { SimulatedCluster } from '../../../../lab/sim/api-server/cluster.ts';
import { CONFIG_MAP } from '../../../../lab/sim/api-server/objects.ts';

test('a store that is restored has the objects and versions of that time, and knows nothing of what came before', () => {
  let ids = 0;
  const { store, ...cluster } = withStore(
    new SimulatedCluster({ now: () => 0, newId: () => `uid-${++ids}` }),
  );
  cluster.make('stays');
  const saved = store.save();
  cluster.make('lost');
  cluster.remove('stays');
  store.restore(saved);
  expect(store.list(CONFIG_MAP, null).map(({ metadata }) => metadata.name)).toEqual(['stays']);
  expect(store.version).toBe(saved.version);
  expect(store.changesAfter(saved.version)).toEqual([]);
  expect(store.changesAfter(saved.version - 1)).toBeNull();
  cluster.make('new');
  expect(store.changesAfter(saved.version)?.map(({ object }) => object.metadata.name)).toEqual(['new']);
  store.restore(saved);
  expect(store.list(CONFIG_MAP, null)).toHaveLength(1);
});

const withStore = (cluster: SimulatedCluster) => ({
  store: cluster.store,
  make: (name: string) => cluster.create(CONFIG_MAP, 'default', { metadata: { name } }, false),
  remove: (name: string) =>
    cluster.delete(CONFIG_MAP, { namespace: 'default', name }, { propagation: null, isDryRun: false }),
});
