import { expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { HeldList } from '../../../schemas/reports/policy-list.ts';
import { clusterDecision } from '../../fixtures/cluster.ts';
import { candidate, ownership } from '../../fixtures/ownership.ts';
import { outgoing } from '../../support/logs/log-record.ts';
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

async function decide(
  { log }: OwnLog,
  number: number,
  verdicts: readonly Omit<Verdict, 'position'>[],
): Promise<void> {
  const candidates = verdicts.map((_, index) =>
    candidate({ object: { uid: `x${index}`, name: `x${index}` } }),
  );
  const fact = ownership({ id: `ownership-${number}`, candidates });
  await log.publish([outgoing(clusterOutput('clusterOwnership', fact))]);
  const [record] = (await readTopic(log, TOPICS.clusterOwnership.name)).slice(-1);
  const decision = clusterDecision({
    id: `decision-${number}`,
    input: { ...clusterDecision().input, partition: record?.partition ?? 0, offset: String(record?.offset) },
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
