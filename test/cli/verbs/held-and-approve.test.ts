import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { clusterOutput, type Output } from '../../../packages/decision/handler.ts';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { HeldList } from '../../../schemas/reports/policy-list.ts';
import { clusterDecision } from '../../fixtures/cluster.ts';
import { expiry, expiryCandidate, NOW_MS } from '../../fixtures/expiry.ts';
import { candidate, ownership } from '../../fixtures/ownership.ts';
import { podCandidate, pods } from '../../fixtures/pods.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type OwnLog, ownLog } from '../fleetgc.ts';
import { jsonOf, readTopic } from '../read-topic.ts';

type Verdict = ClusterDecision['verdicts'][number];
const held = (rule: string, facts: Verdict['facts']): Omit<Verdict, 'position'> => ({
  action: 'hold',
  rule,
  facts,
});
const ofOwner = (uid: string, objects: number) => ({
  ownerUid: uid,
  ownerKind: 'ConfigMap',
  ownerName: `name-${uid}`,
  ownerNamespace: 'ns',
  objects,
});
const WIDE = held('S1', { ...ofOwner('o', 1_200), limit: 1_000 });
const KEPT = { action: 'keep', rule: 'D10', facts: {} } as const;

/** A log with one fact for each list of verdicts, on the same objects, and its decision. */
async function decided(...decisions: readonly (readonly Omit<Verdict, 'position'>[])[]): Promise<OwnLog> {
  const own = await ownLog();
  for (const [number, verdicts] of decisions.entries()) await decide(own, number, verdicts);
  return own;
}

type Topic = 'clusterOwnership' | 'clusterPods' | 'clusterExpiry';

/** A fact about so many objects, as the agent tells it. */
function factOn(topic: Topic, id: string, uids: readonly string[]): Output {
  const named = uids.map((uid) => ({ object: { uid, name: uid } }));
  switch (topic) {
    case 'clusterOwnership':
      return clusterOutput(topic, ownership({ id, candidates: named.map((each) => candidate(each)) }));
    case 'clusterPods':
      return clusterOutput(topic, pods({ id, candidates: named.map((each) => podCandidate(each)) }));
    case 'clusterExpiry':
      return clusterOutput(topic, expiry({ id, candidates: named.map((each) => expiryCandidate(each)) }));
  }
}

async function decide(
  { log }: OwnLog,
  number: number,
  verdicts: readonly Omit<Verdict, 'position'>[],
  topic: Topic = 'clusterOwnership',
  outcome: ClusterDecision['outcome'] = 'nothing-to-do',
): Promise<void> {
  const uids = verdicts.map((_, index) => `x${index}`);
  await log.publish([outgoing(factOn(topic, `${topic}-${number}`, uids))]);
  const [record] = (await readTopic(log, TOPICS[topic].name)).slice(-1);
  const { input } = clusterDecision();
  const decision = clusterDecision({
    id: `decision-${topic}-${number}`,
    input: {
      ...input,
      topic: TOPICS[topic].name,
      partition: record?.partition ?? 0,
      offset: String(record?.offset),
    },
    outcome,
    verdicts: verdicts.map((verdict, position) => ({ ...verdict, position })),
  });
  await log.publish([outgoing(clusterOutput('clusterDecisions', decision))]);
}

const approvals = async ({ log }: OwnLog) => (await readTopic(log, 'gc.policies')).map(jsonOf);

test('[cluster S7] what is held is told with its rule, its width and the command that approves it', async () => {
  const own = await decided([
    WIDE,
    WIDE,
    held('S1', { ownerKind: 'Secret', ofKind: 6_000, limit: 5_000 }),
    held('S2', { kind: 'Namespace' }),
    held('S3', { why: 'half went', ...ofOwner('p', 3), ofKind: 9 }),
    held('S3', { why: 'half went', ...ofOwner('q', 4), ofKind: 10 }),
    held('S3', { why: 'the cluster was restored to an older state' }),
    KEPT,
  ]);
  const { stdout, exitCode } = await own.run('held');
  const log = `--log embedded --log-path ${own.path}`;
  expect(exitCode).toBe(0);
  expect(stdout.match(/fleetgc .*/g)).toEqual([
    `fleetgc approve c1 o --objects 1200 ${log}`,
    `fleetgc approve c1 Secret --as owner-kind --objects 6000 ${log}`,
    `fleetgc approve c1 Namespace --as held-kind --objects 1 ${log}`,
    `fleetgc approve c1 ConfigMap --as owner-kind --objects 10 ${log}`,
  ]);
  expect(stdout).toContain(
    'S1  owner ConfigMap ns/name-o (o): more than 1000 objects; 2 objects held since ',
  );
  expect(stdout).toContain('No approval ends it.');
  expect(HeldList.parse(JSON.parse((await own.run('held', '-o', 'json')).stdout))).toMatchObject({
    clusters: [{ cluster: 'c1', holds: [{ rule: 'S1', objects: 2 }, {}, {}, {}, {}] }],
  });
  expect((await own.run('held', '--cluster', 'other')).stdout).toBe('');
});

test('[cluster S7] what a later decision does not hold is not held', async () => {
  const own = await decided([WIDE, WIDE], [WIDE, KEPT]);
  expect((await own.run('held')).stdout).toContain('; 1 object held since ');
});

test('a name that somebody else chose rewrites nothing on the terminal of who approves it', async () => {
  const own = await decided([held('S1', { ...ofOwner('o\u001b', 2), ownerName: 'x\u001b[2J\n\u009b1A' })]);
  const told = [
    await own.run('held'),
    await own.run('approve', 'c1', 'o\u001b', '--dry-run'),
    await own.run('approve', 'c1', 'o\u001b'),
    await own.run('approve', 'c1', 'o\u001b', '--withdraw'),
    await own.run('approve', 'c1', 'o\u001b', '--withdraw'),
  ];
  expect(told.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 1]);
  for (const { stdout, stderr } of told) expect(stdout + stderr).not.toMatch(/(?!\n)\p{Cc}/u);
  expect(told[2]?.stdout).toContain('x\\u{1b}[2J\\u{a}\\u{9b}1A');
});

test('[cluster S7] an approval says what was looked at, and is ended by a record of its own', async () => {
  const own = await decided([WIDE]);
  expect((await own.run('approve', 'c1', 'o', '--dry-run')).stdout).toMatch(
    /^would be approved: owner ConfigMap/,
  );
  expect(await approvals(own)).toEqual([]);
  const { exitCode, stdout } = await own.run(
    'approve',
    'c1',
    'o',
    '--for',
    '2h',
    '--reason',
    'seen',
    '--by',
    'me',
  );
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/^approved: owner .* in cluster c1, 1200 objects, until /),
  ]);
  const [record] = await approvals(own);
  const { uid, ...name } = { kind: 'owner', uid: 'o', objects: 1_200 };
  expect(record).toMatchObject({
    type: 'fleetgc.approval',
    cluster: 'c1',
    what: { ...name, uid },
    reason: 'seen',
    by: 'me',
  });
  expect((await own.run('held')).stdout).toMatch(
    /cluster c1: approved until .*: owner ConfigMap .*, by me, seen\n$/,
  );
  expect((await own.run('approve', 'c1', 'o', '--withdraw')).stdout).toMatch(/^withdrawn: owner ConfigMap/);
  expect(await approvals(own)).toMatchObject([{}, { type: 'fleetgc.policy-deletion', wasHeld: true }]);
  expect((await own.run('approve', 'c1', 'o', '--withdraw')).exitCode).toBe(1);
});

test.each([
  [['c1', 'unknown'], 1, 'nothing is held in cluster c1 because of unknown'],
  [['c1', 'ConfigMa'], 1, 'because of ConfigMa; did you mean ConfigMap? fleetgc held'],
  [['other', 'o'], 1, 'nothing is held in cluster other because of o'],
  [
    ['c1', 'o', '--objects', '1199'],
    1,
    'it has grown from 1199 to 1200 objects since, and nothing was approved',
  ],
  [['c1', 'ConfigMap'], 2, 'ConfigMap means several: say --as '],
  [['c1', 'o', '--for', '721h'], 2, 'must be at least 1m and at most 720h'],
  [['c1', 'o', '--for', '5s'], 2, 'must be at least 1m and at most 720h'],
])('[cluster S7] approve %j approves nothing', async (args, exitCode, says) => {
  const own = await decided([
    WIDE,
    held('S2', { kind: 'ConfigMap' }),
    held('S1', { ownerKind: 'ConfigMap', ofKind: 6_000, limit: 5_000 }),
  ]);
  const ended = await own.run('approve', ...args);
  expect(ended.exitCode).toBe(exitCode);
  expect(ended.stderr).toContain(says);
  expect(await approvals(own)).toEqual([]);
});

const ofMissingNodes = (ofKind: number) => held('S1', { ownerKind: 'Node', ofKind, limit: 5_000 });
const ofRule = (over: number, dueAtMs = NOW_MS) =>
  held('S11', {
    ownRule: 'old',
    ruleSha256: 'a'.repeat(64),
    dueAtMs,
    kind: 'batch/Job',
    over,
    objects: 1_300,
  });
const onLog = ({ path }: OwnLog): string => `--log embedded --log-path ${path}`;

describe('[cluster S7] what pod-gc and expiry-gc hold', () => {
  test('[cluster S1] of pods of missing nodes is told beside what goes with owners, with the command that approves it', async () => {
    const own = await decided([WIDE]);
    await decide(
      own,
      0,
      [ofMissingNodes(6_000), ofMissingNodes(6_000), held('S2', { kind: 'Pod' })],
      'clusterPods',
    );
    await decide(own, 1, [held('S3', { why: 'the cluster was restored to an older state' })], 'clusterPods');
    await decide(
      own,
      2,
      [ofMissingNodes(6_000), ofMissingNodes(6_000), held('S2', { kind: 'Pod' })],
      'clusterPods',
    );
    const { stdout } = await own.run('held');
    expect(stdout.match(/fleetgc .*/g)).toEqual([
      `fleetgc approve c1 Pod --as pods-of-missing-nodes --objects 6000 ${onLog(own)}`,
      `fleetgc approve c1 o --objects 1200 ${onLog(own)}`,
      `fleetgc approve c1 Pod --as held-kind --objects 1 ${onLog(own)}`,
    ]);
    expect(stdout).toContain('S1  pods of missing nodes: more than 5000 pods; 2 objects held since ');
    expect(stdout).toContain(
      'S1  owner ConfigMap ns/name-o (o): more than 1000 objects; 1 object held since ',
    );
  });

  test('[cluster S3] after a restore is told, and that no approval ends it', async () => {
    const own = await ownLog();
    await decide(own, 0, [held('S3', { why: 'the cluster was restored to an older state' })], 'clusterPods');
    expect((await own.run('held')).stdout).toMatch(
      /S3 {2}the cluster was restored .*\n {6}No approval ends it\./,
    );
  });

  test('[cluster S11] by a rule is told with how much of the kind is over, each kind by itself', async () => {
    const own = await ownLog();
    const other = held('S11', { ...ofRule(30).facts, kind: 'Secret', objects: 40 });
    await decide(own, 0, [ofRule(1_200), ofRule(1_200, NOW_MS - 1), other], 'clusterExpiry');
    const { stdout } = await own.run('held');
    expect(stdout.match(/fleetgc .*/g)).toEqual([
      `fleetgc approve c1 old/batch/Job --as rule --objects 1200 ${onLog(own)}`,
      `fleetgc approve c1 old/Secret --as rule --objects 30 ${onLog(own)}`,
    ]);
    expect(stdout).toContain('1200 of 1300 are over; 2 objects held since ');
    const { clusters } = HeldList.parse(JSON.parse((await own.run('held', '-o', 'json')).stdout));
    expect(clusters[0]?.holds[0]).toMatchObject({
      rule: 'S11',
      what: { kind: 'rule', rule: 'old', ofKind: 'batch/Job', objects: 1_200, overByMs: NOW_MS },
      approve: `fleetgc approve c1 old/batch/Job --as rule --objects 1200 ${onLog(own)}`,
    });
  });

  test('[cluster S10] is approved for as long as the policy needs to let all of it go, and no longer than one can', async () => {
    const own = await decided([held('S1', { ...ofOwner('o', 10_001), limit: 1_000 }), WIDE]);
    await decide(own, 0, [ofRule(1_200)], 'clusterExpiry');
    await decide(own, 0, [ofMissingNodes(9_000_000)], 'clusterPods');
    const file = join(temporaryDirectory(), 'policy.yaml');
    const rules = [{ name: 'old', kinds: ['batch/Job'], states: ['Complete'], after: '24h' }];
    writeFileSync(file, stringify({ kind: 'ClusterPolicy', name: 'all', mode: 'dry-run', rules }));
    expect((await own.run('policy', 'apply', file)).exitCode).toBe(0);
    expect((await own.run('held')).stdout.match(/--objects [0-9]+( --for [0-9]+h)?/g)).toEqual([
      '--objects 10001 --for 2h',
      '--objects 9000000 --for 720h',
      '--objects 1200 --for 12h',
    ]);
  });

  test('[cluster S11] of which nobody counted how much it is has no command', async () => {
    const own = await ownLog();
    const uncounted = held('S11', { ownRule: 'old', dueAtMs: NOW_MS, kind: 'batch/Job' });
    await decide(own, 0, [uncounted], 'clusterExpiry');
    expect((await own.run('held')).stdout).toContain(
      'S11  nobody counted how much of its kind would go; 1 object held since ',
    );
  });

  test('what one service decides of an object changes nothing in what another one holds', async () => {
    const own = await decided([WIDE]);
    await decide(own, 0, [ofRule(20)], 'clusterExpiry');
    await decide(own, 1, [KEPT]);
    const { stdout } = await own.run('held');
    expect(stdout).toContain('S11  rule old');
    expect(stdout).not.toContain('S1  owner');
    await decide(own, 2, [KEPT], 'clusterExpiry');
    expect((await own.run('held')).stdout).toBe('');
  });

  test('is not told where it is the work of others', async () => {
    const own = await ownLog();
    await decide(own, 0, [ofMissingNodes(6_000)], 'clusterPods', 'not-ours');
    expect((await own.run('held')).stdout).toBe('');
  });

  test('is approved by the command that is told, as it was told last', async () => {
    const own = await ownLog();
    await decide(own, 0, [ofMissingNodes(6_000), ofMissingNodes(6_000)], 'clusterPods');
    await decide(own, 0, [ofRule(1_200)], 'clusterExpiry');
    await decide(own, 1, [ofMissingNodes(5_500)], 'clusterPods');
    const grown = await own.run('approve', 'c1', 'Pod', '--objects', '5499');
    expect([grown.exitCode, grown.stderr]).toEqual([
      1,
      expect.stringContaining('it has grown from 5499 to 5500'),
    ]);
    const approved = await own.run(
      'approve',
      'c1',
      'Pod',
      '--as',
      'pods-of-missing-nodes',
      '--objects',
      '5500',
    );
    expect(approved.stdout).toMatch(/^approved: pods of missing nodes in cluster c1, 5500 objects, until /);
    expect((await own.run('approve', 'c1', 'old/batch/Job', '--for', '12h')).stdout).toMatch(
      /^approved: rule old, objects of kind batch\/Job that were over by .* in cluster c1, 1200 objects, until /,
    );
    expect(await approvals(own)).toMatchObject([
      { cluster: 'c1', what: { kind: 'pods-of-missing-nodes', objects: 5_500 } },
      { cluster: 'c1', what: { kind: 'rule', rule: 'old', ofKind: 'batch/Job', objects: 1_200 } },
    ]);
    expect((await own.run('policy', 'list')).stdout).toContain('pods of missing nodes, 5500 objects');
    expect((await own.run('approve', 'c1', 'Pod', '--withdraw')).stdout).toBe(
      'withdrawn: pods of missing nodes in cluster c1\n',
    );
    expect((await own.run('approve', 'c1', 'old', '--withdraw')).exitCode).toBe(1);
    expect((await own.run('approve', 'c1', 'old/batch/Job', '--withdraw')).exitCode).toBe(0);
  });

  test('a rule that is named without its kind is not approved, and the whole name is told', async () => {
    const own = await ownLog();
    const rule = held('S11', { ...ofRule(20).facts, ownRule: 'old-jobs' });
    await decide(own, 0, [rule], 'clusterExpiry');
    const { exitCode, stderr } = await own.run('approve', 'c1', 'old-jobs');
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('did you mean old-jobs/batch/Job?')]);
    expect(await approvals(own)).toEqual([]);
  });

  test('is counted by status', async () => {
    const own = await decided([WIDE]);
    await decide(own, 0, [ofMissingNodes(6_000)], 'clusterPods');
    await decide(own, 0, [ofRule(20), ofRule(20)], 'clusterExpiry');
    const status = FleetStatus.parse(JSON.parse((await own.run('status', '-o', 'json')).stdout));
    expect(status.clusters).toMatchObject([{ cluster: 'c1', held: 4 }]);
  });
});
