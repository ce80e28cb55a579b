import { expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { REPORT_FORMS } from '../../../packages/documents/report.ts';
import { ConcludedObjects } from '../../../packages/read-model/cluster-report.ts';
import { makeReport } from '../../../packages/read-model/report.ts';
import { keyOf } from '../../../packages/records/parse/record-key.ts';
import type { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { type ApprovalRecord, approvalKey } from '../../../schemas/policy/approval.ts';
import type { PolicyDeletion } from '../../../schemas/policy/policy.ts';
import { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { approvedOwners } from '../../fixtures/approval.ts';
import { CLUSTER, clusterDecision, clusterObject, clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { HOUR } from '../../fixtures/time.ts';
import { logOf } from '../audit/support/archives.ts';
import {
  begun,
  type ClusterHistory,
  commandIn,
  commandResult,
  objectResults,
} from '../audit/support/cluster-history.ts';

const WENT = owner('o', { state: 'gone' });
const doomed = (uid: string) => candidate({ object: { uid, name: uid }, references: [WENT] });
const wide = (uid: string) => ({
  ...doomed(uid),
  cascades: [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 2_000, ofKind: 2_000, within: null }],
});

async function reportOf({ records }: ClusterHistory, fromMs: number | null = null): Promise<AuditReport> {
  const needs = { log: logOf(records), range: { fromMs, toMs: null }, nowMs: Date.now() };
  const report = await makeReport({ ...needs, onProgress: () => undefined }, new AbortController().signal);
  expect(AuditReport.parse(report)).toEqual(report);
  return report;
}

type Told = ClusterObjectResults['objects'][number];
const told = (uid: string, over: Partial<Told>): Told => ({
  object: clusterObject({ uid }),
  rule: 'D14',
  action: 'delete',
  attempts: 1,
  requests: 1,
  owners: [],
  result: { outcome: 'removed' },
  ...over,
});

test('what was deleted is told by cluster, kind, collector and rule, and once for a record that lies there twice', async () => {
  const log = begun();
  const command = commandIn(log.decide(ownership({ candidates: [doomed('x')] })).command);
  const objects = [
    told('a', {}),
    told('b', { result: { outcome: 'accepted' } }),
    told('c', { rule: 'J8', action: 'remove-pod' }),
    told('d', { rule: 'K4', action: 'expire' }),
    told('e', { rule: 'L9', action: 'expire' }),
    told('f', { rule: 'S8', action: 'expire', ownRule: 'previews' }),
    told('g', { rule: 'D11', action: 'drop-references', result: { outcome: 'patched' } }),
    told('h', { result: { outcome: 'not-found' } }),
    told('i', { result: { outcome: 'rehearsed' } }),
    told('j', { result: { outcome: 'refused', reason: 'changed', message: '' } }),
    told('k', { result: { outcome: 'failed', reason: 'forbidden', message: '' } }),
  ];
  for (let twice = 0; twice < 2; twice++)
    log.add(clusterOutput('clusterResults', { ...objectResults(command), objects }));
  const refused = { outcome: 'refused', reason: 'expired', message: '' } as const;
  log.add(clusterOutput('clusterResults', { ...commandResult(command), result: refused }));

  const report = await reportOf(log);
  const row = { cluster: 'c1', kind: 'ConfigMap', ownRule: null, objects: 1, waiting: 0 };
  expect(report.read.nodes).toBe(0);
  expect(report.clusters).toMatchObject({
    clusters: 1,
    decisions: [{ decider: 'graph-gc', outcome: 'commanded', decisions: 1 }],
    goneAlready: 1,
    rehearsed: 1,
    refused: [{ cluster: 'c1', kind: 'ConfigMap', reason: 'changed', objects: 1 }],
    failed: [{ reason: 'forbidden', objects: 1 }],
    refusedCommands: [{ cluster: 'c1', reason: 'expired', commands: 1 }],
    changed: [{ rule: 'D11', action: 'drop-references', objects: 1 }],
  });
  expect(report.clusters.removed).toHaveLength(5);
  expect(report.clusters.removed).toEqual(
    expect.arrayContaining([
      { ...row, collector: 'garbage-collector-controller', rule: 'D14', objects: 2, waiting: 1 },
      { ...row, collector: 'pod-garbage-collector-controller', rule: 'J8' },
      { ...row, collector: 'ttl-after-finished-controller', rule: 'K4' },
      { ...row, collector: 'podcertificaterequest-cleaner-controller', rule: 'L9' },
      { ...row, collector: null, rule: 'S8', ownRule: 'previews' },
    ]),
  );
  const markdown = REPORT_FORMS.markdown(report);
  expect(markdown).toContain('6 objects deleted. Finalizers or their grace held 1 of them at first.');
  expect(markdown).toContain(
    '| `c1` | `ConfigMap` | garbage-collector-controller | nobody owns it any more | D14 | 2 |',
  );
  expect(markdown).not.toContain('## Freed');
});

test('what was held and what would have gone counts each object once, however often it was decided', async () => {
  const log = begun();
  const dry = policySet('cluster', [clusterPolicyRecord({ mode: 'dry-run' })], []);
  for (const id of ['f1', 'f2']) {
    log.decide(ownership({ id, candidates: [wide('x'), wide('y')] }));
    log.decide(ownership({ id: `${id}-dry`, candidates: [doomed('z')] }), dry);
  }
  const { clusters } = await reportOf(log);
  expect(clusters.held).toMatchObject([
    { cluster: 'c1', kind: 'ConfigMap', collector: 'garbage-collector-controller', rule: 'S1', objects: 2 },
  ]);
  expect(clusters.wouldGo).toMatchObject([{ rule: 'D14', objects: 1 }]);
  expect(clusters.unnamed).toBe(0);
});

test('what the policy does not give to FleetGC is not held, since another collector deletes it', async () => {
  const log = begun();
  const others = policySet('cluster', [clusterPolicyRecord({ collectors: [] })], []);
  log.decide(ownership({ candidates: [wide('x')] }), others);
  const { clusters } = await reportOf(log);
  expect(clusters).toMatchObject({ held: [], wouldGo: [], decisions: [{ outcome: 'not-ours' }] });
});

test('of a decision whose fact lies before the time of the report nothing is named', async () => {
  const log = begun();
  const { decision } = log.decide(ownership({ candidates: [wide('x')] }));
  const { clusters } = await reportOf(log, decision.timestampMs);
  expect(clusters).toMatchObject({ held: [], unnamed: 1 });
});

test('approvals are told with their end, also one that was withdrawn; and policies for clusters', async () => {
  const log = begun();
  const approval: ApprovalRecord = {
    type: 'fleetgc.approval',
    version: 1,
    id: 'approval-1',
    ...CLUSTER,
    what: approvedOwners('ConfigMap', 3),
    approvedAtMs: log.nowMs,
    untilMs: log.nowMs + HOUR,
    by: 'me',
    reason: 'seen',
  };
  const key = approvalKey(approval);
  const version = (event: ApprovalRecord | PolicyDeletion) =>
    log.add({ topic: 'policyVersions', key: keyOf('policyVersions', event), event });
  version(approval);
  const deletion = { type: 'fleetgc.policy-deletion', version: 1, id: 'd', key, wasHeld: true } as const;
  const { timestampMs } = version(deletion);
  version({ ...approval, id: 'approval-2' });
  const { clusters } = await reportOf(log);
  expect(clusters.approvals).toMatchObject([
    { cluster: 'c1', by: 'me', reason: 'seen', withdrawnMs: timestampMs },
    { untilMs: approval.untilMs, withdrawnMs: null },
  ]);
  expect(clusters.policyChanges).toMatchObject([{ name: 'default', policyVersion: 1, mode: 'enforce' }]);
});

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
