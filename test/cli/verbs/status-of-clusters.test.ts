import { expect, test } from 'vitest';
import { clusterOutput, nodeOutput } from '../../../packages/decision/handler.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import { readStatus } from '../../../packages/read-model/status.ts';
import type { Census } from '../../../schemas/events/census.ts';
import { latestFactKey } from '../../../schemas/events/latest-fact.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { policyKey } from '../../../schemas/policy/policy.ts';
import { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { census } from '../../fixtures/census.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { instant } from '../../fixtures/time.ts';
import { begun, commandIn } from '../../packages/audit/support/cluster-history.ts';
import { timedLog } from '../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { positionsOn } from '../../support/logs/positions.ts';
import { ownLog } from '../fleetgc.ts';

const WENT = owner('o', { state: 'gone' });
const cascades = [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 2_000, ofKind: 2_000, within: null }];
const record = clusterPolicyRecord({ selector: { clusters: ['c1'] } });
const policy = outgoing({ topic: 'policies', key: policyKey(record), event: record });
const told = (over: Partial<Census> = {}) =>
  outgoing(clusterOutput('clusterCensus', { ...census(), ...over }));

test('clusters are told with their policy, what is held, and what a person should look at', async () => {
  const log = begun();
  log.decide(ownership({ candidates: [candidate({ references: [WENT], cascades })] }));
  const own = await ownLog();
  await own.log.publish(log.records.map(({ key, ...each }) => ({ ...each, key: key ?? '' })));
  const findings = { ...census().findings, failedGroups: ['metrics.k8s.io'] };
  await own.log.publish([policy, told({ findings }), told({ cluster: 'c2', id: 'census-2' })]);

  const { exitCode, stdout } = await own.run('status');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('! Objects are held in 1 cluster: c1. fleetgc held tells why');
  expect(stdout).toContain('! Kinds cannot be read in 1 cluster: c1. fleetgc cluster report says which');
  expect(stdout).toContain('! 1 cluster keeps everything, since no policy selects them: c2.');
  expect(stdout).toContain('! graph-gc does not run: nothing is decided there. Start fleetgc cluster run.');
  expect(stdout).not.toContain('pressure does not run');
  expect(stdout).not.toContain('every node keeps everything');
  expect(stdout).toMatch(/^c1 +\d+s ago +default +enforce +1 +\S+Z +0 +held, unread-kinds$/m);
  expect(stdout).toMatch(/^c2 +\d+s ago +\(none\) +keeps all +0 +- +0 +-$/m);
  const status = FleetStatus.parse(JSON.parse((await own.run('status', '-o', 'json')).stdout));
  expect(status.clusters).toMatchObject([
    { cluster: 'c1', isSilent: false, objects: 1, policy: { name: 'default', mode: 'enforce' }, held: 1 },
    { cluster: 'c2', policy: null, held: 0, heldSinceMs: null },
  ]);
});

const NO_RIGHT = 'status 403, Forbidden: cannot list resource at the cluster scope';
test.each([
  { unsynced: { group: '', kind: 'Secret', reason: NO_RIGHT }, warns: false },
  { unsynced: { group: 'rbac.authorization.k8s.io', kind: 'Role', reason: NO_RIGHT }, warns: false },
  { unsynced: { group: '', kind: 'ConfigMap', reason: NO_RIGHT }, warns: true },
  { unsynced: { group: '', kind: 'Secret', reason: 'status 500, no reason: etcd is away' }, warns: true },
])(
  'a kind that the printed role leaves out is no warning while it is refused: $unsynced',
  async ({ unsynced, warns }) => {
    const own = await ownLog();
    await own.log.publish([policy, told({ findings: { ...census().findings, unsyncedKinds: [unsynced] } })]);
    const { stdout } = await own.run('status');
    expect(stdout.includes('Kinds cannot be read')).toBe(warns);
    expect(stdout.includes('unread-kinds')).toBe(warns);
  },
);

test('where nodes are heard too, each verb is named for what it decides', async () => {
  const own = await ownLog();
  const stats = outgoing(
    nodeOutput('diskStats', diskStats({}, { takenAt: instant({ wallTimeMs: Date.now() }) })),
  );
  await own.log.publish([policy, told(), stats]);
  const { stdout } = await own.run('status');
  expect(stdout).toContain('! pressure does not run: nothing is decided there. Start fleetgc run.');
  expect(stdout).toContain('! graph-gc does not run: nothing is decided there. Start fleetgc cluster run.');
});

test('a pause for the cluster is told with its reason', async () => {
  const own = await ownLog();
  await own.log.publish([policy, told()]);
  await own.run('pause', '--cluster', 'c1', '--reason', 'upgrade');
  expect((await own.run('status')).stdout).toMatch(/^c1 +\d+s ago +default +paused /m);
  const status = FleetStatus.parse(JSON.parse((await own.run('status', '-o', 'json')).stdout));
  expect(status.clusters).toMatchObject([{ pausedBecause: 'upgrade' }]);
});

test('a cluster of which nothing is heard, and commands that nobody answers', async () => {
  const { log, publishAt } = await timedLog();
  const nowMs = Date.now();
  const history = begun();
  const { command } = history.decide(ownership({ candidates: [candidate({ references: [WENT] })] }));
  const order = commandIn(command);
  await publishAt(nowMs - 6 * 60 * MINUTE_MS + MINUTE_MS, told());
  for (const { atMs, record } of await positionsOn(log, 'clusterCensus')) await publishAt(atMs, record);
  await publishAt(nowMs - 20 * MINUTE_MS, outgoing(clusterOutput('clusterCommands', order)));
  await publishAt(
    nowMs - MINUTE_MS,
    outgoing(clusterOutput('clusterCommands', { ...order, id: 'command-of-now' })),
  );
  const status = await readStatus(
    { log, roots: null, kind: 'embedded', nowMs, onProgress: () => undefined },
    new AbortController().signal,
  );
  expect(status.clusters).toMatchObject([
    {
      cluster: 'c1',
      isSilent: true,
      heardMs: nowMs - 6 * 60 * MINUTE_MS + MINUTE_MS,
      unanswered: 1,
      unansweredSinceMs: nowMs - 20 * MINUTE_MS,
    },
  ]);
  expect(status.problems).toContain(
    '1 cluster is not heard any more: c1. Nothing is collected there; does the agent run, and reach the log?',
  );
  expect(status.problems).toContainEqual(expect.stringContaining('have no answer in 1 cluster: c1.'));
});

test('the report of clusters names one whose position was deleted', async () => {
  const own = await ownLog();
  const key = latestFactKey('clusterCensus', 'gone');
  await own.log.publish([{ topic: TOPICS.latestFacts.name, key, value: null, headers: {} }]);
  for (const name of [[], ['--cluster', 'gone']]) {
    const { exitCode, stderr } = await own.run('cluster', 'report', ...name);
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/The cluster gone: its last report cannot be found, .*deleted/),
    ]);
  }
});
