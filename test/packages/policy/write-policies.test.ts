import { expect, test } from 'vitest';
import type { LogPosition, OutgoingRecord } from '../../../packages/log/port.ts';
import { policyChanges, toAnyPolicyRecord, toPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import { deleteKeys, writePause, writePolicies } from '../../../packages/policy/write-policies.ts';
import { UNSIGNED_STATE } from '../../../packages/records/trust/state-signer.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { PolicyRecord, type PolicyRecordOf, pauseKey } from '../../../schemas/policy/policy.ts';
import { clusterPolicy } from '../../fixtures/cluster.ts';
import { EVERY_NODE, policy } from '../../fixtures/policy.ts';
import { NOW_MS, TRACEPARENT } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';

const PUBLICATION = { source: '/fleetgc/cli', nowMs: NOW_MS, trace: { traceparent: TRACEPARENT } };
const written = (name: string) => ({ policy: policy({ name }), source: `name: ${name}\n` });
const record = (name: string) => toPolicyRecord(written(name));

/** Takes records until one for `failing` comes. */
function recorder(failing?: string) {
  const published: string[] = [];
  const publish = async (records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> => {
    if (records.some(({ topic }) => topic === failing)) throw new Error('not acknowledged');
    published.push(...records.map(({ topic, key }) => `${topic} ${key}`));
    return madeUpPositions(records);
  };
  return { published, log: { publish } };
}

test('a policy holds only after its version was acknowledged', async () => {
  const { log, published } = recorder();
  const changes = policyChanges([record('a'), record('b')], new Map(), new Set());
  await writePolicies({ signer: UNSIGNED_STATE, log, publication: PUBLICATION }, changes);

  const [a, b] = changes.map(({ record }) => record.hash);
  expect(published).toEqual([
    `${TOPICS.policyVersions.name} ${a}`,
    `${TOPICS.policyVersions.name} ${b}`,
    `${TOPICS.policies.name} a`,
    `${TOPICS.policies.name} b`,
  ]);
});

test('without its version on the log a policy does not begin to hold', async () => {
  const { log, published } = recorder(TOPICS.policyVersions.name);
  const writing = writePolicies(
    { signer: UNSIGNED_STATE, log, publication: PUBLICATION },
    policyChanges([record('a')], new Map(), new Set()),
  );

  await expect(writing).rejects.toThrow('not acknowledged');
  expect(published).toEqual([]);
});

test('what is unchanged is not written', async () => {
  const { log, published } = recorder();
  const held = toPolicyRecord(written('a'));
  await writePolicies(
    { signer: UNSIGNED_STATE, log, publication: PUBLICATION },
    policyChanges([record('a')], new Map([['a', held]]), new Set()),
  );

  expect(published).toEqual([]);
});

test('what stands there and does not count is written again as it is', async () => {
  const { log, published } = recorder();
  const held = { ...toPolicyRecord(written('a')), policyVersion: 3 };
  const changes = policyChanges([record('a')], new Map([['a', held]]), new Set(['a']));
  expect(changes).toEqual([{ kind: 'written-again', record: held }]);
  await writePolicies({ signer: UNSIGNED_STATE, log, publication: PUBLICATION }, changes);
  expect(published).toEqual([`${TOPICS.policyVersions.name} ${held.hash}`, `${TOPICS.policies.name} a`]);
});

test('what somebody put there with the highest number of all is replaced by what can be read', () => {
  const held = { ...toPolicyRecord(written('a')), policyVersion: Number.MAX_SAFE_INTEGER };
  const other = toPolicyRecord({ ...written('a'), policy: policy({ name: 'a', priority: 7 }) });
  const [change] = policyChanges([other], new Map([['a', held]]), new Set(['a']));
  expect(PolicyRecord.safeParse(change?.record)).toMatchObject({ success: true });
});

test('pauses and deletions have versions too, which come first', async () => {
  const { log, published } = recorder();
  const writer = { signer: UNSIGNED_STATE, log, publication: PUBLICATION };
  await writePause(writer, EVERY_NODE, { by: 'ann', reason: 'disks are moved' });
  await deleteKeys(writer, ['a']);
  const hash = expect.stringMatching(/^gc.policy-versions [0-9a-f]{64}$/);
  expect(published).toEqual([
    hash,
    `${TOPICS.policies.name} ${pauseKey(EVERY_NODE)}`,
    hash,
    `${TOPICS.policies.name} a`,
  ]);
});

test('equal policies have equal ids and hashes, whatever their text', () => {
  const one = toPolicyRecord(written('a'));
  const other = toPolicyRecord({ ...written('a'), source: '# another\nname: a\n' });

  expect([other.id, other.hash]).toEqual([one.id, one.hash]);
});

test('what nobody would read is not written', async () => {
  const { log, published } = recorder();
  const source = ' '.repeat(TOPICS.policies.bounds.bytes);
  const changes = policyChanges([record('a'), { ...record('b'), source }], new Map(), new Set());
  await expect(
    writePolicies({ signer: UNSIGNED_STATE, log, publication: PUBLICATION }, changes),
  ).rejects.toThrow(
    /^nobody would read b: the value has \d+ bytes; on gc.policies at most 33554432 are read. Nothing was written/,
  );
  expect(published).toEqual([]);
});

test('a policy for clusters lies beside the one for nodes of its name, and is compared with its own', async () => {
  const { log, published } = recorder();
  const forClusters = toAnyPolicyRecord({
    subject: 'cluster',
    policy: clusterPolicy({ name: 'a' }),
    source: '',
  });
  const holding = new Map<string, PolicyRecordOf<SubjectKind>>([['a', record('a')]]);
  const changes = policyChanges([record('a'), forClusters], holding, new Set());
  expect(changes.map(({ kind }) => kind)).toEqual(['unchanged', 'created']);
  await writePolicies({ signer: UNSIGNED_STATE, log, publication: PUBLICATION }, changes);
  expect(published).toEqual([
    `${TOPICS.policyVersions.name} ${forClusters.hash}`,
    `${TOPICS.policies.name} cluster/a`,
  ]);
  const wider = clusterPolicy({ name: 'a', limits: { ...clusterPolicy().limits, cascade: 2_000 } });
  const [change] = policyChanges(
    [toAnyPolicyRecord({ subject: 'cluster', policy: wider, source: '' })],
    holding.set('cluster/a', forClusters),
    new Set(),
  );
  expect(change).toMatchObject({
    kind: 'changed',
    record: { policyVersion: 2 },
    settings: [{ setting: 'limits.cascade', from: 1_000, to: 2_000 }],
  });
});
