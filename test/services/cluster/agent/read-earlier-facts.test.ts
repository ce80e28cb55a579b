import { expect, test } from 'vitest';
import { clusterOutput } from '../../../../packages/decision/handler.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import type { Ownership, OwnershipReference } from '../../../../schemas/events/ownership.ts';
import { readEarlierFacts } from '../../../../services/cluster/agent/earlier-facts.ts';
import { CLUSTER, clusterObject } from '../../../fixtures/cluster.ts';
import { candidate } from '../../../fixtures/ownership.ts';
import { timedLog } from '../../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../../support/logs/log-record.ts';

const CONFIG_MAP = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps', namespaced: true };
const signal = new AbortController().signal;
let facts = 0;

const reference = (over: Partial<OwnershipReference> = {}): OwnershipReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'owner',
  uid: 'owner',
  controller: false,
  blockOwnerDeletion: false,
  state: 'gone',
  resolved: CONFIG_MAP,
  gone: { how: 'watched', orphaned: false },
  ...over,
});
const fact = (references: readonly OwnershipReference[], over: Partial<Ownership> = {}) =>
  outgoing(
    clusterOutput('clusterOwnership', {
      type: 'fleetgc.cluster.ownership',
      version: 1,
      id: `fact-${facts}`,
      ...CLUSTER,
      session: '00000000-0000-4000-8000-000000000001',
      seq: facts++,
      takenAt: { serverMs: 1_800_000_000_000, spreadMs: 0 },
      unsyncedKinds: [],
      failedGroups: [],
      totals: { kinds: 1, objects: 1 },
      wentBack: false,
      settled: [],
      candidates: [
        {
          object: { ...clusterObject(), deletionTimestamp: null, finalizers: [], keptBy: null },
          references: [...references],
          dependents: { count: 0, blocking: 0, oneWaits: false },
          cascades: [],
        },
      ],
      ...over,
    }),
  );
async function read(...records: ReturnType<typeof fact>[]) {
  const { log, publishAt } = await timedLog();
  for (const [position, record] of records.entries()) await publishAt(1_000 + position, record);
  return readEarlierFacts({ identity: CLUSTER, log, trust: TRUST_OFF }, signal);
}

test.each([
  { how: 'mass-relisted', orphaned: false },
  { how: 'kind-going', orphaned: false },
  { how: 'watched', orphaned: true },
] as const)('[cluster S3, S6] how an owner went is known again after a restart: %o', async (gone) => {
  const found = await read(fact([reference({ gone })]));
  const { namespace } = clusterObject();
  expect([...found.gone]).toEqual([
    ['owner', { kind: CONFIG_MAP, namespace, name: 'owner', ...gone, within: null, isDeletionSeen: false }],
  ]);
});

test('[cluster S3] what is told last of an owner counts', async () => {
  const held = reference({ gone: { how: 'kind-going', orphaned: false } });
  const back = reference({ state: 'held', gone: null });
  expect((await read(fact([held]), fact([reference()]))).gone.size).toBe(0);
  expect((await read(fact([held]), fact([back]))).gone.size).toBe(0);
  expect((await read(fact([reference()]), fact([held]))).gone.size).toBe(1);
  expect((await read(fact([held]), fact([reference({ state: 'unseen', gone: null })]))).gone.size).toBe(1);
});

test('[cluster S1, S3] a fact that was put back onto the log makes nothing forgotten that newer ones told', async () => {
  const going = reference({ gone: { how: 'kind-going', orphaned: false } });
  const cascades = [{ ownerUid: 'owner', ownerKind: 'ConfigMap', objects: 9, ofKind: 9, within: null }];
  const [back, watched, restored] = [
    fact([reference({ state: 'held', gone: null })]),
    fact([reference()]),
    fact([], { wentBack: true, candidates: [] }),
  ];
  const newest = fact([], {
    candidates: [candidate({ object: { resourceVersion: '70' }, references: [going], cascades })],
  });
  const other = fact([], { session: '00000000-0000-4000-8000-000000000002', seq: 0 });
  const found = await read(back, watched, restored, newest, other, back, watched, restored);
  expect([...found.gone.keys()]).toEqual(['owner']);
  expect(found.widths.get('owner')?.objects).toBe(9);
  expect([found.newest.get('ConfigMap'), found.restoredAtMs]).toEqual(['70', null]);
});

test('[cluster S3] a version that is no number does not hide those that are', async () => {
  const told = (resourceVersion: string) =>
    fact([], { candidates: [candidate({ object: { resourceVersion } })] });
  expect((await read(told('70'), told('x'), told('8'))).newest.get('ConfigMap')).toBe('70');
});

test('[cluster S4] one that describes it wrongly does not say where it was', async () => {
  const gone = { how: 'kind-going', orphaned: false } as const;
  expect((await read(fact([reference({ state: 'elsewhere', gone })]))).gone.size).toBe(0);
});

test('what another cluster, or an earlier installation of it, told does not count', async () => {
  const gone = [reference({ gone: { how: 'kind-going', orphaned: false } })];
  expect((await read(fact(gone, { cluster: 'other' }))).gone.size).toBe(0);
  expect((await read(fact(gone, { clusterInstance: 'another-installation' }))).gone.size).toBe(0);
});

test('[cluster S6] an owner that orphans is known to have done so, also where nobody saw it go', async () => {
  const { namespace } = clusterObject();
  const asTold = {
    kind: CONFIG_MAP,
    namespace,
    name: 'owner',
    how: 'watched',
    orphaned: true,
    within: null,
    isDeletionSeen: false,
  };
  const byDependent = await read(fact([reference({ state: 'orphaning', gone: null })]));
  expect([...byDependent.gone]).toEqual([['owner', asTold]]);
  const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['orphan'] };
  const itself = candidate({ object: { uid: 'owner', name: 'owner', ...deleting } });
  const bySelf = await read(fact([], { candidates: [itself] }));
  expect([...bySelf.gone]).toEqual([['owner', asTold]]);
});

test('[cluster S1] of how much goes with an owner the most counts that was told since it was there', async () => {
  const told = (objects: number, over: Partial<OwnershipReference> = {}) => {
    const cascades = [{ ownerUid: 'owner', ownerKind: 'ConfigMap', objects, ofKind: objects, within: null }];
    return fact([], { candidates: [candidate({ references: [reference(over)], cascades })] });
  };
  const back = () => fact([reference({ state: 'held', gone: null })]);
  const widths = async (...facts: ReturnType<typeof fact>[]) => [...(await read(...facts)).widths];
  expect(await widths(told(5), told(9), told(2))).toEqual([['owner', { kind: 'ConfigMap', objects: 9 }]]);
  expect(await widths(told(9), back())).toEqual([]);
  expect(await widths(told(9), back(), told(2))).toEqual([['owner', { kind: 'ConfigMap', objects: 2 }]]);
});

test('[cluster S3] since when facts say that the cluster was restored, and the newest version of each kind since then', async () => {
  const told = (serverMs: number, wentBack: boolean, resourceVersion: string) =>
    fact([], {
      takenAt: { serverMs, spreadMs: 0 },
      wentBack,
      candidates: [candidate({ object: { resourceVersion } })],
    });
  const found = async (...facts: ReturnType<typeof fact>[]) => {
    const { newest, restoredAtMs } = await read(...facts);
    return [newest.get('ConfigMap'), restoredAtMs];
  };
  expect(await found(told(1, false, '70'), told(2, false, '9'))).toEqual(['70', null]);
  const restored = [told(1, false, '70'), told(2, true, '50'), told(3, true, '40')];
  expect(await found(...restored)).toEqual(['50', 2]);
  expect(await found(...restored, told(4, false, '60'))).toEqual(['60', null]);
});
