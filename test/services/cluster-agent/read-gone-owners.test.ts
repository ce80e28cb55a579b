import { expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { TRUST_OFF } from '../../../packages/trust/trust.ts';
import type { Ownership, OwnershipReference } from '../../../schemas/events/ownership.ts';
import { readGoneOwners } from '../../../services/cluster-agent/read-gone-owners.ts';
import { CLUSTER, clusterObject } from '../../fixtures/cluster.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { timedLog } from '../audit/support/timed-log.ts';

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
      id: `fact-${++facts}`,
      ...CLUSTER,
      session: '00000000-0000-4000-8000-000000000001',
      seq: 0,
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
  return readGoneOwners({ identity: CLUSTER, log, trust: TRUST_OFF }, signal);
}

test.each([
  { how: 'mass-relisted', orphaned: false },
  { how: 'kind-going', orphaned: false },
  { how: 'watched', orphaned: true },
] as const)('[cluster S3, S6] how an owner went is known again after a restart: %o', async (gone) => {
  const found = await read(fact([reference({ gone })]));
  const { namespace } = clusterObject();
  expect([...found]).toEqual([
    ['owner', { kind: CONFIG_MAP, namespace, name: 'owner', ...gone, within: null }],
  ]);
});

test('[cluster S3] what is told last of an owner counts', async () => {
  const held = reference({ gone: { how: 'kind-going', orphaned: false } });
  const back = reference({ state: 'held', gone: null });
  expect((await read(fact([held]), fact([reference()]))).size).toBe(0);
  expect((await read(fact([held]), fact([back]))).size).toBe(0);
  expect((await read(fact([reference()]), fact([held]))).size).toBe(1);
  expect((await read(fact([held]), fact([reference({ state: 'unseen', gone: null })]))).size).toBe(1);
});

test('[cluster S4] one that describes it wrongly does not say where it was', async () => {
  const gone = { how: 'kind-going', orphaned: false } as const;
  expect((await read(fact([reference({ state: 'elsewhere', gone })]))).size).toBe(0);
});

test('what another cluster, or an earlier installation of it, told does not count', async () => {
  const gone = [reference({ gone: { how: 'kind-going', orphaned: false } })];
  expect((await read(fact(gone, { cluster: 'other' }))).size).toBe(0);
  expect((await read(fact(gone, { clusterInstance: 'another-installation' }))).size).toBe(0);
});
