import { describe, expect, test } from 'vitest';
import { clusterOutput, type Output } from '../../../packages/decision/handler.ts';
import type { Expiry } from '../../../schemas/events/expiry.ts';
import type { Ownership, OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import type { Pods } from '../../../schemas/events/pods.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { policyKey } from '../../../schemas/policy/policy.ts';
import { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { HeldList } from '../../../schemas/reports/policy-list.ts';
import { clusterDecision, clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { expiry, expiryCandidate, HOUR_MS } from '../../fixtures/expiry.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { podCandidate, pods } from '../../fixtures/pods.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { type OwnLog, ownLog } from '../fleetgc.ts';
import { jsonOf, readTopic } from '../read-topic.ts';

const SERVER_MS = Date.now() - 60_000;
const takenAt = { serverMs: SERVER_MS, spreadMs: 0 };
const GONE = { state: 'gone', gone: { how: 'watched', orphaned: false } } as const;
const NAMESPACE = { kind: 'Namespace', resource: 'namespaces', namespaced: false, namespace: '' };
const SECRET = { group: '', version: 'v1', kind: 'Secret', resource: 'secrets', namespaced: true };

type Over = Parameters<typeof candidate>[0];

/** An object that goes with an owner, and so many others. */
const goingWith = (uid: string, ownerUid: string, objects: number, over: Over = {}): OwnershipCandidate =>
  candidate({
    object: { uid, name: uid, ...over.object },
    references: over.references ?? [owner(ownerUid, GONE)],
    cascades: [{ ownerUid, ownerKind: 'ConfigMap', objects, ofKind: objects, within: null }],
    ...(over.cascades && { cascades: over.cascades }),
  });
const wide = (uid = 'x0'): OwnershipCandidate => goingWith(uid, 'o', 1_200);
const relisted = (uid: string, ownerUid: string, ofKind: number): OwnershipCandidate =>
  goingWith(uid, ownerUid, 3, {
    references: [owner(ownerUid, { state: 'gone', gone: { how: 'mass-relisted', orphaned: false } })],
    cascades: [{ ownerUid, ownerKind: 'ConfigMap', objects: 3, ofKind, within: null }],
  });

const RULE: OwnRule = {
  name: 'old',
  kinds: ['apps/Deployment', 'Secret'],
  namespaces: ['ns'],
  afterMs: HOUR_MS,
  propagation: 'Background',
  removalsPerHour: 100,
};

/** A log with a policy for clusters, and one fact after the other. */
async function holding(
  policy: Partial<ClusterPolicy>,
  ...facts: readonly (Ownership | Pods | Expiry)[]
): Promise<OwnLog> {
  const own = await ownLog();
  const record = clusterPolicyRecord({
    collectors: ['garbage-collector-controller', 'pod-garbage-collector-controller'],
    rules: [RULE],
    ...policy,
  });
  await own.log.publish([outgoing({ topic: 'policies', key: policyKey(record), event: record })]);
  for (const fact of facts) await tell(own, fact);
  return own;
}

const tell = async ({ log }: OwnLog, fact: Ownership | Pods | Expiry): Promise<unknown> =>
  log.publish([outgoing(outputOf(fact))]);

function outputOf(fact: Ownership | Pods | Expiry): Output {
  switch (fact.type) {
    case 'fleetgc.cluster.ownership':
      return clusterOutput('clusterOwnership', fact);
    case 'fleetgc.cluster.pods':
      return clusterOutput('clusterPods', fact);
    case 'fleetgc.cluster.expiry':
      return clusterOutput('clusterExpiry', fact);
  }
}

const owned = (...candidates: OwnershipCandidate[]): Ownership => ownership({ takenAt, candidates });
const onMissing = (onMissingNodes: number, ...uids: readonly string[]): Pods =>
  pods({
    takenAt,
    candidates: uids.map((uid) =>
      podCandidate({
        object: { uid, name: uid },
        node: { state: 'missing', name: `node-${uid}`, missingForMs: 60_000 },
      }),
    ),
    totals: { onMissingNodes },
  });
/** Deployments that a rule takes, so many of 1300 of them. */
const overdue = (over: number, ...overForMs: readonly number[]): Expiry =>
  expiry({
    takenAt,
    candidates: overForMs.map((forMs, index) =>
      expiryCandidate({
        object: { uid: `d${index}`, name: `d${index}` },
        facts: { of: 'object' },
        createdAtMs: SERVER_MS - HOUR_MS - forMs,
      }),
    ),
    shares: [{ kind: 'apps/Deployment', over, objects: 1_300 }],
  });

const approvals = async ({ log }: OwnLog) => (await readTopic(log, 'gc.policies')).slice(1).map(jsonOf);
const commandsIn = (text: string): readonly string[] =>
  (text.match(/fleetgc approve .*/g) ?? []).map((command) => command.replace(/ --shown [0-9a-f]{16}/, ''));
const onLog = ({ path }: OwnLog): string => `--log embedded --log-path ${path}`;

test('[cluster S7] what is held is told with its rule, its width and the command that approves it', async () => {
  const own = await holding(
    {},
    owned(
      wide('x0'),
      wide('x1'),
      goingWith('x2', 's', 1, {
        references: [owner('s', { kind: 'Secret', resolved: SECRET, ...GONE })],
        cascades: [{ ownerUid: 's', ownerKind: 'Secret', objects: 1, ofKind: 6_000, within: null }],
      }),
      goingWith('x3', 'n', 1, {
        object: { ...NAMESPACE, name: 'shop' },
        references: [owner('n', { ...GONE, resolved: { ...SECRET, ...NAMESPACE } })],
      }),
      relisted('x4', 'p', 9),
      relisted('x5', 'q', 10),
      goingWith('x6', 'little', 1),
    ),
    { ...owned(goingWith('x7', 'r', 1)), wentBack: true },
  );
  const { stdout, exitCode } = await own.run('held');
  expect(exitCode).toBe(0);
  expect(commandsIn(stdout)).toEqual([
    `fleetgc approve c1 o --objects 1200 ${onLog(own)}`,
    `fleetgc approve c1 Secret --as owner-kind --objects 6000 ${onLog(own)}`,
    `fleetgc approve c1 Namespace --as held-kind --objects 1 ${onLog(own)}`,
    `fleetgc approve c1 ConfigMap --as owner-kind --objects 10 ${onLog(own)}`,
  ]);
  expect(stdout).toContain(
    'S1  owner ConfigMap ns/name-o (o): more than 1000 objects; 2 objects held since ',
  );
  expect(stdout).toContain('objects of kind Namespace: shop: of a kind that is held');
  expect(stdout).toContain('owners of kind ConfigMap: ns/name-p, ns/name-q: half of the kind');
  expect(stdout).toContain('No approval ends it.');
  expect(stdout).toContain('not proved: signatures are not checked');
  expect(HeldList.parse(JSON.parse((await own.run('held', '-o', 'json')).stdout))).toMatchObject({
    clusters: [{ cluster: 'c1', proof: 'not-checked', holds: [{ rule: 'S1', objects: 2 }, {}, {}, {}, {}] }],
  });
  expect((await own.run('held', '--cluster', 'other')).stdout).toBe('');
});

describe('[cluster S7] what a decision says, which no key signs,', () => {
  const forged = {
    ownerUid: 'o',
    ownerKind: 'ConfigMap',
    ownerName: 'old-test',
    ownerNamespace: 'sandbox',
    objects: 1,
    limit: 0,
  };
  async function deceived(): Promise<OwnLog> {
    const own = await holding({}, owned(wide()));
    const [fact] = (await readTopic(own.log, 'gc.cluster.ownership')).slice(-1);
    const { input } = clusterDecision();
    const verdicts = [{ position: 0, action: 'hold', rule: 'S1', facts: forged } as const];
    const decision = clusterDecision({
      input: { ...input, partition: fact?.partition ?? 0, offset: String(fact?.offset) },
      outcome: 'nothing-to-do',
      verdicts,
    });
    await own.log.publish([outgoing(clusterOutput('clusterDecisions', decision))]);
    return own;
  }

  test('is not what a person is shown', async () => {
    const own = await deceived();
    const { stdout } = await own.run('held');
    expect(stdout).not.toContain('old-test');
    expect(stdout).toContain('owner ConfigMap ns/name-o (o): more than 1000 objects');
  });

  test('is not what a person approves', async () => {
    const own = await deceived();
    const narrow = await own.run('approve', 'c1', 'o', '--objects', '1');
    expect([narrow.exitCode, narrow.stderr]).toEqual([
      1,
      expect.stringContaining('1200 objects are held now, and 1 were to be approved'),
    ]);
    await own.run('approve', 'c1', 'o');
    expect(await approvals(own)).toMatchObject([
      { what: { kind: 'owner', ownerKind: 'ConfigMap', namespace: 'ns', name: 'name-o', objects: 1_200 } },
    ]);
  });
});

test('[cluster S7] the command that was shown approves nothing once another object stands behind the same name', async () => {
  const own = await holding({}, owned(wide()));
  const [, mark = ''] = /--shown ([0-9a-f]{16})/.exec((await own.run('held')).stdout) ?? [];
  const renamed = goingWith('x0', 'o', 1_200, { references: [owner('o', { name: 'payments-db', ...GONE })] });
  await tell(own, owned(renamed));
  const late = await own.run('approve', 'c1', 'o', '--objects', '1200', '--shown', mark);
  expect([late.exitCode, late.stderr]).toEqual([
    1,
    expect.stringContaining(
      'does not stand for what is held now, which is owner ConfigMap ns/payments-db (o)',
    ),
  ]);
  expect(await approvals(own)).toEqual([]);
  await tell(own, owned(wide()));
  expect((await own.run('approve', 'c1', 'o', '--objects', '1200', '--shown', mark)).exitCode).toBe(0);
});

test('[cluster S7] of two owners that objects name under one uid none is approved', async () => {
  const other = goingWith('x1', 'o', 1_200, { references: [owner('o', { name: 'payments-db', ...GONE })] });
  const own = await holding({}, owned(wide(), other));
  const ended = await own.run('approve', 'c1', 'o');
  expect([ended.exitCode, ended.stderr]).toEqual([
    2,
    expect.stringContaining(
      'name different owners under the uid o: ConfigMap ns/name-o (o), ConfigMap ns/payments-db (o)',
    ),
  ]);
  expect(await approvals(own)).toEqual([]);
});

test('[cluster S7] what a later fact does not hold is not held', async () => {
  const kept = candidate({ object: { uid: 'x1', name: 'x1' }, references: [owner('o')] });
  const own = await holding({}, owned(wide('x0'), wide('x1')), owned(wide('x0'), kept));
  expect((await own.run('held')).stdout).toContain('; 1 object held since ');
});

test('a name that somebody else chose rewrites nothing on the terminal of who approves it', async () => {
  const name = 'x\u001b[2J\n\u009b1A';
  const references = [owner('o\u001b', { name, ...GONE })];
  const own = await holding({}, owned(goingWith('x', 'o\u001b', 1_200, { references })));
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

test('[cluster S7] an approval says what was looked at, ends the hold, and is ended by a record of its own', async () => {
  const own = await holding({}, owned(wide()));
  expect((await own.run('approve', 'c1', 'o', '--dry-run')).stdout).toMatch(
    /^would be approved: owner ConfigMap/,
  );
  expect(await approvals(own)).toEqual([]);
  const said = ['--for', '2h', '--reason', 'seen', '--by', 'me'];
  const { exitCode, stdout, stderr } = await own.run('approve', 'c1', 'o', ...said);
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/^approved: owner .* in cluster c1, 1200 objects, until /),
  ]);
  expect(stderr).toContain('Signatures are not checked here');
  expect(await approvals(own)).toMatchObject([
    {
      type: 'fleetgc.approval',
      cluster: 'c1',
      what: {
        kind: 'owner',
        ownerKind: 'ConfigMap',
        namespace: 'ns',
        name: 'name-o',
        uid: 'o',
        objects: 1_200,
      },
      reason: 'seen',
      by: 'me',
    },
  ]);
  expect((await own.run('held')).stdout).toMatch(
    /^cluster c1: approved until .*: owner ConfigMap .*, by me, seen\n$/,
  );
  expect((await own.run('approve', 'c1', 'o', '--withdraw')).stdout).toMatch(/^withdrawn: owner ConfigMap/);
  expect(await approvals(own)).toMatchObject([{}, { type: 'fleetgc.policy-deletion', wasHeld: true }]);
  expect((await own.run('approve', 'c1', 'o', '--withdraw')).exitCode).toBe(1);
  expect((await own.run('held')).stdout).toContain('owner ConfigMap ns/name-o (o): more than 1000');
});

test.each([
  [['c1', 'unknown'], 1, 'nothing of the name unknown is held in cluster c1; held are: o, ConfigMap.'],
  [['c1', 'ConfigMa'], 1, 'Did you mean ConfigMap? Nothing is approved; fleetgc held'],
  [['other', 'o'], 1, 'nothing is held in cluster other, so nothing of the name o'],
  [
    ['c1', 'o', '--objects', '1199'],
    1,
    '1200 objects are held now, and 1199 were to be approved: more came since they were counted, or the number is a typing error',
  ],
  [['c1', 'ConfigMap'], 2, 'ConfigMap means several: say --as '],
  [['c1', 'o', '--for', '721h'], 2, 'must be at least 1m and at most 720h'],
  [['c1', 'o', '--for', '5s'], 2, 'must be at least 1m and at most 720h'],
  [['c1', 'o', '--shown', 'x'], 2, 'must be 16 hexadecimal digits'],
])('[cluster S7] approve %j approves nothing', async (args, exitCode, says) => {
  const ofKind = goingWith('x1', 'k', 1, {
    object: { kind: 'Secret', resource: 'secrets' },
    cascades: [{ ownerUid: 'k', ownerKind: 'ConfigMap', objects: 1, ofKind: 6_000, within: null }],
  });
  const secret = { kind: 'Secret', resource: 'secrets' };
  const own = await holding(
    { heldKinds: ['ConfigMap'] },
    owned(goingWith('x0', 'o', 1_200, { object: secret }), ofKind, goingWith('x2', 'm', 1)),
  );
  const ended = await own.run('approve', ...args);
  expect(ended.exitCode).toBe(exitCode);
  expect(ended.stderr).toContain(says);
  expect(await approvals(own)).toEqual([]);
});

describe('[cluster S7] what pod-gc and expiry-gc hold', () => {
  test('[cluster S1] of pods of missing nodes is told beside what goes with owners, with the command that approves it', async () => {
    const own = await holding({}, owned(wide()), onMissing(6_000, 'a', 'b'));
    const { stdout } = await own.run('held');
    expect(commandsIn(stdout)).toEqual([
      `fleetgc approve c1 Pod --as pods-of-missing-nodes --objects 6000 ${onLog(own)}`,
      `fleetgc approve c1 o --objects 1200 ${onLog(own)}`,
    ]);
    expect(stdout).toContain(
      'S1  pods of missing nodes: node-a, node-b: more than 5000 pods; 2 objects held since ',
    );
    expect(stdout).toContain(
      'S1  owner ConfigMap ns/name-o (o): more than 1000 objects; 1 object held since ',
    );
  });

  test('[cluster S2] of a kind that is held is told with the names of the objects', async () => {
    const own = await holding({ heldKinds: ['Pod'] }, onMissing(1, 'a', 'b'));
    const { stdout } = await own.run('held');
    expect(commandsIn(stdout)).toEqual([`fleetgc approve c1 Pod --as held-kind --objects 2 ${onLog(own)}`]);
    expect(stdout).toContain('S2  objects of kind Pod: ns/a, ns/b: of a kind that is held');
  });

  test('[cluster S3] after a restore is told, and that no approval ends it', async () => {
    const own = await holding({}, { ...onMissing(6_000, 'a'), wentBack: true });
    expect((await own.run('held')).stdout).toMatch(
      /S3 {2}the cluster was restored .*\n {6}No approval ends it\./,
    );
  });

  test('[cluster S11] by a rule is told with how much of the kind is over', async () => {
    const own = await holding({}, overdue(1_200, 60_000, 120_000));
    const { stdout } = await own.run('held');
    const command = `fleetgc approve c1 old/apps/Deployment --as rule --objects 1200 --for 12h ${onLog(own)}`;
    expect(commandsIn(stdout)).toEqual([command]);
    expect(stdout).toContain('1200 of 1300 are over; 2 objects held since ');
    const { clusters } = HeldList.parse(JSON.parse((await own.run('held', '-o', 'json')).stdout));
    expect(clusters[0]?.holds[0]).toMatchObject({
      rule: 'S11',
      what: {
        kind: 'rule',
        rule: 'old',
        ofKind: 'apps/Deployment',
        objects: 1_200,
        overByMs: SERVER_MS - 60_000,
      },
    });
  });

  test('[cluster S10] is approved for as long as the policy needs to let all of it go, and no longer than one can', async () => {
    const own = await holding(
      {},
      owned(goingWith('x0', 'o', 10_001)),
      overdue(1_200, 1),
      onMissing(9_000_000, 'a'),
    );
    const { stdout } = await own.run('held');
    expect(stdout.match(/--objects [0-9]+( --shown [0-9a-f]+)( --for [0-9]+h)?/g)).toEqual([
      expect.stringMatching(/^--objects 10001 --shown \w+ --for 2h$/),
      expect.stringMatching(/^--objects 9000000 --shown \w+ --for 720h$/),
      expect.stringMatching(/^--objects 1200 --shown \w+ --for 12h$/),
    ]);
  });

  test('[cluster S11] of which nobody counted how much it is has no command', async () => {
    const own = await holding({}, { ...overdue(1, 1), shares: [] });
    expect((await own.run('held')).stdout).toContain(
      'S11  nobody counted how much of its kind would go; 1 object held since ',
    );
  });

  test('what one service holds of an object changes nothing in what another one does', async () => {
    const own = await holding({}, owned(wide('d0')), overdue(1_200, 1));
    await tell(own, owned(candidate({ object: { uid: 'd0', name: 'd0' }, references: [owner('o')] })));
    const { stdout } = await own.run('held');
    expect(stdout).toContain('S11  rule old');
    expect(stdout).not.toContain('S1  owner');
    await tell(own, overdue(1, 1));
    expect((await own.run('held')).stdout).toBe('');
  });

  test('is not told where it is the work of others', async () => {
    const own = await holding({ collectors: ['garbage-collector-controller'] }, onMissing(6_000, 'a'));
    expect((await own.run('held')).stdout).toBe('');
  });

  test('is approved by the command that is told, as it was told last', async () => {
    const own = await holding({}, onMissing(6_000, 'a', 'b'), overdue(1_200, 1), onMissing(5_500, 'a'));
    const grown = await own.run('approve', 'c1', 'Pod', '--objects', '5499');
    expect([grown.exitCode, grown.stderr]).toEqual([
      1,
      expect.stringContaining('5500 objects are held now, and 5499 were to be approved'),
    ]);
    const as = ['--as', 'pods-of-missing-nodes', '--objects', '5500'];
    expect((await own.run('approve', 'c1', 'Pod', ...as)).stdout).toMatch(
      /^approved: pods of missing nodes: node-b, node-a in cluster c1, 5500 objects, until /,
    );
    expect((await own.run('approve', 'c1', 'old/apps/Deployment', '--for', '12h')).stdout).toMatch(
      /^approved: rule old, objects of kind apps\/Deployment that were over by .* in cluster c1, 1200 objects, until /,
    );
    expect(await approvals(own)).toMatchObject([
      { cluster: 'c1', what: { kind: 'pods-of-missing-nodes', objects: 5_500 } },
      { cluster: 'c1', what: { kind: 'rule', rule: 'old', ofKind: 'apps/Deployment', objects: 1_200 } },
    ]);
    expect((await own.run('policy', 'list')).stdout).toContain('pods of missing nodes: node-b, node-a');
    expect((await own.run('approve', 'c1', 'Pod', '--withdraw')).stdout).toBe(
      'withdrawn: pods of missing nodes: node-b, node-a in cluster c1\n',
    );
    expect((await own.run('approve', 'c1', 'old', '--withdraw')).exitCode).toBe(1);
    expect((await own.run('approve', 'c1', 'old/apps/Deployment', '--withdraw')).exitCode).toBe(0);
  });

  test('a rule that is named without its kind is not approved, and the whole name is told', async () => {
    const own = await holding({}, overdue(1_200, 1));
    const { exitCode, stderr } = await own.run('approve', 'c1', 'old', '--as', 'rule');
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('held are: old/apps/Deployment.')]);
    expect(await approvals(own)).toEqual([]);
  });

  test('is counted by status', async () => {
    const own = await holding({}, owned(wide()), onMissing(6_000, 'a'), overdue(1_200, 1, 2));
    const status = FleetStatus.parse(JSON.parse((await own.run('status', '-o', 'json')).stdout));
    expect(status.clusters).toMatchObject([{ cluster: 'c1', held: 4 }]);
  });
});
