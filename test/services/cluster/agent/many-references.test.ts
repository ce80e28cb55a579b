import { expect, test } from 'vitest';
import { readMetadata } from '../../../../packages/kube-api/metadata.ts';
import { ClusterGraph } from '../../../../services/cluster/agent/graph.ts';
import { CONFIG_MAP } from '../../../fixtures/graph.ts';

const graph = (): ClusterGraph =>
  new ClusterGraph({
    nowMs: () => 0,
    onWork: () => undefined,
    onDefinition: () => undefined,
    onUnreadable: () => undefined,
    clusterInstance: null,
    onWentBack: () => undefined,
  });

/** An object that names so many owners, none of which is there. */
function naming(name: string, owners: number, from = 0) {
  const ownerReferences = Array.from({ length: owners }, (_, at) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: `o-${from + at}`,
    uid: `${name}-${from + at}`,
  }));
  const read = readMetadata({
    metadata: { name, namespace: 'ns', uid: name, resourceVersion: '1', ownerReferences },
  });
  if (read === null) throw new Error('it is an object');
  return read;
}

test('[cluster D8] of an object with 5000 owner references a part is kept in memory, and the object stays', () => {
  const object = naming('x', 5_000);
  expect(object.ownerReferences).toHaveLength(201);
  expect(object.ownerReferences.at(-1)).toMatchObject({ apiVersion: 'unreadable.fleetgc.io/v1' });
});

test('[cluster D8] all objects together keep no more references than there is room for, and what goes makes room', () => {
  const made = graph();
  for (let at = 0; at < 2_000; at++) made.put(CONFIG_MAP, naming(`x${at}`, 200));
  expect(made.index.furtherReferences).toBe(199_880);
  expect(made.index.get('x1051')?.references).toHaveLength(200);
  expect(made.index.get('x1052')?.references).toMatchObject([{ apiVersion: 'unreadable.fleetgc.io/v1' }]);
  expect(made.candidate('x1052')).toBeNull();
  made.put(CONFIG_MAP, naming('usual', 10));
  expect(made.index.get('usual')?.references).toHaveLength(10);
  made.gone(CONFIG_MAP, naming('x0', 200));
  expect(made.index.furtherReferences).toBe(199_690);
  made.put(CONFIG_MAP, naming('later', 200));
  expect(made.index.get('later')?.references).toHaveLength(200);
});

test.each([
  ['E3', 'orphan'],
  ['D17', 'foregroundDeletion'],
])(
  '[cluster %s] an owner that is deleted with %s waits for who may list it beyond what is read',
  (_, finalizer) => {
    const made = graph();
    made.put(CONFIG_MAP, {
      ...naming('owner', 0),
      deletionTimestamp: '2026-11-01T00:00:00Z',
      finalizers: [finalizer],
    });
    made.take();
    expect(made.candidate('owner')).toMatchObject({ dependents: { count: 0, blocking: 0 } });
    made.put(CONFIG_MAP, { ...naming('elsewhere', 201), namespace: 'other' });
    expect(made.candidate('owner')).not.toBeNull();
    made.put(CONFIG_MAP, naming('many', 201));
    expect(made.candidate('owner')).toBeNull();
    made.take();
    made.put(CONFIG_MAP, naming('many', 200));
    expect(made.take().candidates.map(({ object }) => object.uid)).toContain('owner');
    made.put(CONFIG_MAP, naming('more', 201));
    made.put(CONFIG_MAP, { ...naming('more', 201), deletionTimestamp: '2026-11-01T00:00:00Z' });
    expect(made.candidate('owner')).not.toBeNull();
    made.put(CONFIG_MAP, naming('last', 201));
    expect(made.candidate('owner')).toBeNull();
    made.take();
    made.gone(CONFIG_MAP, naming('last', 201));
    expect(made.take().candidates.map(({ object }) => object.uid)).toContain('owner');
  },
);
