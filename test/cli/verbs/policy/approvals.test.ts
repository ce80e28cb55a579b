import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../../packages/process/durations.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import { type ApprovalRecord, approvalKey } from '../../../../schemas/policy/approval.ts';
import { PolicyList, ShownPolicy } from '../../../../schemas/reports/policy-list.ts';
import { approvedOwners } from '../../../fixtures/approval.ts';
import { CLUSTER } from '../../../fixtures/cluster.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { type OwnLog, ownLog } from '../../fleetgc.ts';
import { apply } from './apply-text.ts';

const POLICY = 'kind: ClusterPolicy\nname: clusters\nmode: enforce\n';

function approval(over: Partial<ApprovalRecord>): ApprovalRecord {
  const approvedAtMs = Date.now() - HOUR_MS;
  return {
    type: 'fleetgc.approval',
    version: 1,
    id: `approval ${over.cluster}`,
    ...CLUSTER,
    what: approvedOwners('ConfigMap', 3),
    approvedAtMs,
    untilMs: approvedAtMs + 2 * HOUR_MS,
    by: 'me',
    reason: 'seen',
    ...over,
  };
}

async function approved(...approvals: readonly ApprovalRecord[]): Promise<OwnLog> {
  const own = await ownLog();
  for (const event of approvals)
    await own.log.publish([outgoing({ topic: 'policies', key: approvalKey(event), event })]);
  return own;
}

test('[cluster S7] list tells approvals in force with their end, and none that has ended', async () => {
  const inForce = approval({});
  const own = await approved(
    inForce,
    approval({ cluster: 'c2', untilMs: inForce.approvedAtMs + HOUR_MS / 2 }),
  );
  const { stdout } = await own.run('policy', 'list');
  expect(stdout).toBe(
    `cluster c1: approved until ${timeText(inForce.untilMs)}: owners of kind ConfigMap: ns/name-o, ns/name-p, ns/name-gone, 3 objects, by me, seen\n`,
  );
  const json = PolicyList.parse(JSON.parse((await own.run('policy', 'list', '-o', 'json')).stdout));
  expect(json.approvals).toMatchObject([{ cluster: 'c1', untilMs: inForce.untilMs }]);
});

test('[cluster S7] show tells those in force in the clusters that the policy selects, and can be applied again', async () => {
  const own = await approved(approval({}), approval({ cluster: 'c2' }));
  await apply(own, `${POLICY}selector: {clusters: [c1]}\n`);
  const { stdout } = await own.run('policy', 'show', 'cluster/clusters');
  expect(stdout.match(/^# cluster .*$/gm)).toEqual([
    expect.stringContaining('# cluster c1: approved until '),
  ]);
  expect((await apply(own, stdout)).stdout).toContain('unchanged, version 1');
  const json = ShownPolicy.parse(
    JSON.parse((await own.run('policy', 'show', 'cluster/clusters', '-o', 'json')).stdout),
  );
  expect(json).toMatchObject({ approvals: [{ cluster: 'c1' }] });
});
