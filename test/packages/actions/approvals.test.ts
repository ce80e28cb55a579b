import { expect, test } from 'vitest';
import { approvalOf, endedApprovals } from '../../../packages/actions/approve.ts';
import { objectionToStating } from '../../../packages/policy/may-state.ts';
import { createPolicyKnowledge } from '../../../packages/policy/policy-knowledge.ts';
import { createPolicyReading, setsOfEntries } from '../../../packages/policy/policy-reading.ts';
import { readStoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { type Principal, TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import {
  type ApprovalRecord,
  approvalKey,
  approvalsInForce,
  MAX_APPROVAL_MS,
} from '../../../schemas/policy/approval.ts';
import { keyOfPolicyNamed, pauseKey } from '../../../schemas/policy/policy.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { approval, approvedObjects, approvedOwner, approvedOwners } from '../../fixtures/approval.ts';
import { CLUSTER, clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { deletionOutput, deletionRecord, EVERY_NODE, pauseRecord } from '../../fixtures/policy.ts';
import { outgoing, recordOf } from '../../support/logs/log-record.ts';
import { SILENT } from '../../support/silent.ts';

const GIVEN = approval(approvedOwner('o', 3));
const output = (event: ApprovalRecord) => ({ topic: 'policies', key: approvalKey(event), event }) as const;
const written = (event: ApprovalRecord = GIVEN) => recordOf(output(event));
const broken = () => ({ ...written(), value: Buffer.from('{') });

function readingOf(...records: readonly ReturnType<typeof written>[]) {
  const reading = createPolicyReading(TRUST_OFF, new SeenGenerations());
  for (const [offset, record] of records.entries()) reading.add({ ...record, offset: BigInt(offset) });
  return reading;
}
const approvalsOf = (...records: readonly ReturnType<typeof written>[]) =>
  setsOfEntries(readingOf(...records).entries.values());

test('[cluster S7] an approval is part of the set for clusters and of its hash, and of none for nodes', () => {
  const [without, having] = [approvalsOf(), approvalsOf(written())];
  expect([having.cluster.approvals, having.node.approvals]).toEqual([[GIVEN], []]);
  expect(having.node.hash).toBe(without.node.hash);
  expect(having.cluster.hash).not.toBe(without.cluster.hash);
  expect(approvalsOf(written({ ...GIVEN, untilMs: GIVEN.untilMs + 1 })).cluster.hash).not.toBe(
    having.cluster.hash,
  );
});

test('[cluster S7] one that cannot be read approves nothing, and holds nothing', () => {
  const reading = readingOf(written(), broken());
  const knowledge = createPolicyKnowledge({ logger: SILENT, seen: new SeenGenerations() }, () => undefined);
  knowledge.begin();
  knowledge.adopt(reading);
  expect(knowledge.sets().cluster).toMatchObject({ approvals: [], pauses: [] });
  expect([knowledge.problem(), knowledge.unreadable()]).toEqual([null, null]);
  expect(knowledge.counts()).toEqual({ policies: 0, pauses: 0, unreadableApprovals: 1 });
  for (const over of [{ untilMs: GIVEN.approvedAtMs + MAX_APPROVAL_MS + 1 }, { untilMs: GIVEN.approvedAtMs }])
    expect(approvalsOf(written({ ...GIVEN, ...over })).cluster.approvals).toEqual([]);
});

test('[cluster S7] under the key of another it approves nothing; its end is a record', () => {
  expect(
    approvalsOf({ ...written(), key: approvalKey(approval(approvedOwner('p', 3))) }).cluster.approvals,
  ).toEqual([]);
  expect(approvalsOf(written(), recordOf(deletionOutput(approvalKey(GIVEN)))).cluster.approvals).toEqual([]);
});

test('[cluster S7] many that cannot be read hold nothing, and one that is gone neither', () => {
  const many = Array.from({ length: 1_100 }, (_, number) => ({
    ...broken(),
    key: approvalKey(approval(approvedOwner(`o${number}`, 1))),
  }));
  expect(readingOf(...many).isOverfull()).toBe(false);
  const knowledge = createPolicyKnowledge({ logger: SILENT, seen: new SeenGenerations() }, () => undefined);
  for (const reading of [readingOf(written()), readingOf()]) {
    knowledge.begin();
    knowledge.adopt(reading);
  }
  expect([knowledge.problem(), knowledge.sets().cluster.approvals]).toEqual([null, []]);
});

test('[cluster S7] it holds in its cluster alone, and until its time', () => {
  const inForce = (atMs: number, identity = CLUSTER) => approvalsInForce([GIVEN], identity, atMs).length;
  expect([inForce(GIVEN.untilMs - 1), inForce(GIVEN.untilMs)]).toEqual([1, 0]);
  expect([
    inForce(0, { ...CLUSTER, cluster: 'x' }),
    inForce(0, { ...CLUSTER, clusterInstance: 'x' }),
  ]).toEqual([0, 0]);
});

test('operators and dashboards may approve, of some clusters only there, and no other key may', () => {
  const by = (role: KeyRole, clusters: string[]): Principal => ({
    kind: 'key',
    keyId: '0'.repeat(32),
    role,
    clusters,
    generation: 1,
  });
  const mayApprove = (principal: Principal) =>
    [GIVEN, deletionRecord(approvalKey(GIVEN))].map((event) => objectionToStating(principal, event) === null);
  expect(mayApprove(by('operator', []))).toEqual([true, true]);
  expect(mayApprove(by('operator', [CLUSTER.cluster]))).toEqual([true, true]);
  expect(mayApprove(by('operator', ['another']))).toEqual([false, false]);
  expect(mayApprove(by('dashboard', []))).toEqual([true, true]);
  expect(mayApprove(by('dashboard', ['another']))).toEqual([false, false]);
  expect(mayApprove(by('pauser', []))).toEqual([false, false]);
  expect(mayApprove(by('decider', []))).toEqual([false, false]);
});

test('the key of a dashboard says what people do with what others have set, and nothing that says what may be removed', () => {
  const dashboard: Principal = {
    kind: 'key',
    keyId: '0'.repeat(32),
    role: 'dashboard',
    clusters: [],
    generation: 1,
  };
  const says = {
    pause: pauseRecord(),
    'end of a pause': deletionRecord(pauseKey(EVERY_NODE)),
    approval: GIVEN,
    'end of an approval': deletionRecord(approvalKey(GIVEN)),
    policy: appliedPolicy(),
    'policy for clusters': clusterPolicyRecord(),
    'end of a policy': deletionRecord('default'),
    'end of a policy for clusters': deletionRecord(keyOfPolicyNamed('cluster', 'default')),
    'end of what is no key': deletionRecord('!approval nobody'),
    'end of what is no pause': deletionRecord('!pauses'),
  };
  const may = Object.entries(says).filter(([, event]) => objectionToStating(dashboard, event) === null);
  expect(may.map(([what]) => what)).toEqual(['pause', 'end of a pause', 'approval', 'end of an approval']);
});

test('generations of approvals are forgotten when all of them have ended, and those of pauses that stand are not', () => {
  const seen = new SeenGenerations();
  const [key, pause] = [approvalKey(GIVEN), '!pause'];
  seen.saw(
    'policies',
    new Map([
      [key, 1_000],
      [pause, 1_000],
    ]),
  );
  const adopt = (): void => {
    const knowledge = createPolicyKnowledge({ logger: SILENT, seen }, () => undefined);
    knowledge.begin();
    knowledge.adopt(readingOf(recordOf({ topic: 'policies', key: pause, event: pauseRecord() })));
  };
  adopt();
  expect(seen.of('policies', key)).toBe(1_000);
  seen.passed(1_000 + MAX_APPROVAL_MS + 1);
  adopt();
  expect([seen.of('policies', key), seen.of('policies', pause)]).toEqual([0, 1_000]);
});

test('those that ended a day ago are told apart, so that nobody keeps them', async () => {
  const { log } = await ownLog();
  const given = [
    approvedOwner('o', 1),
    approvedOwners('ConfigMap', 1),
    approvedObjects('Namespace', 'n'),
  ].map((what, number) =>
    approvalOf({ ...CLUSTER, what, forMs: 60_000, by: '', reason: '', nowMs: number * 3_600_000 }),
  );
  await log.publish(given.map((event) => outgoing(output(event))));
  const stored = await readStoredPolicies(log, new AbortController().signal);
  expect(stored.approvals.size).toBe(3);
  const [first, second] = given.map(approvalKey);
  expect(endedApprovals(stored, CLUSTER.cluster, 86_400_000 + 3_700_000)).toEqual(
    expect.arrayContaining([first, second]),
  );
  expect(endedApprovals(stored, CLUSTER.cluster, 86_400_000 + 3_700_000)).toHaveLength(2);
  expect(endedApprovals(stored, 'another', Number.MAX_SAFE_INTEGER)).toEqual([]);
});
