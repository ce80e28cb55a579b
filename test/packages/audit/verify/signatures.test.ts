import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifySignatures } from '../../../../packages/audit/verify/signatures.ts';
import { clusterOutput, nodeOutput } from '../../../../packages/decision/handler.ts';
import { policySet, policySetRecord } from '../../../../packages/decision/policy-set.ts';
import type { LogReader, LogRecord } from '../../../../packages/log/port.ts';
import { keyOf } from '../../../../packages/records/parse/record-key.ts';
import type { TimeRange } from '../../../../packages/records/read-log.ts';
import type { FactsTrust } from '../../../../packages/records/trust/process-trust.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { signerOf } from '../../../../packages/records/trust/signer.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { approvalKey } from '../../../../schemas/policy/approval.ts';
import type { PolicyTopicRecord } from '../../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { approval, approvedOwner } from '../../../fixtures/approval.ts';
import { CLUSTER, clusterCommandIntent } from '../../../fixtures/cluster.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { deletionRecord } from '../../../fixtures/policy.ts';
import { removalIntent } from '../../../fixtures/results.ts';
import { certified, FLEET, newKey, onLog, revoked, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { runs } from '../../../support/property-runs.ts';
import { growingLog, logOf } from '../support/archives.ts';

const DAY_MS = 86_400_000;
const [root, decider, operator, stranger] = [newKey(), newKey(), newKey(), newKey()];
const KEYS = [certified(root, decider), certified(root, operator, { role: 'operator' })];

const command = (key = decider, timestampMs = SIGNED_AT_MS): LogRecord =>
  onLog(
    signRecord(outgoing(nodeOutput('commands', imageRemoval(['a']))), {
      fleet: FLEET,
      key,
      generation: null,
    }),
    timestampMs,
  );

const policy = (generation: number, timestampMs = SIGNED_AT_MS): LogRecord =>
  onLog(
    signRecord(outgoing({ topic: 'policies', key: 'default', event: appliedPolicy() }), {
      fleet: FLEET,
      key: operator,
      generation,
    }),
    timestampMs,
  );

async function verified(
  records: readonly LogRecord[],
  range: TimeRange = { fromMs: null, toMs: null },
  facts: FactsTrust = 'off',
) {
  return await verifiedOn(logOf([...records]), range, facts);
}

async function verifiedOn(log: LogReader, range: TimeRange, facts: FactsTrust) {
  const { found, signedBy, unprovedFacts } = await verifySignatures(
    log,
    { roots: rootsOf(root), range, facts },
    new AbortController().signal,
  );
  return {
    deviations: found.deviations.first.map(({ kind, message, node }) => ({ kind, message, node })),
    signedBy: signedBy.map(({ topic, name, role, records }) => ({ topic, name, role, records })),
    ...(facts === 'warn' && { unprovedFacts }),
  };
}

test('who signed what is told by topic and key', async () => {
  expect(await verified([...KEYS, command(), command(), policy(1)])).toEqual({
    deviations: [],
    signedBy: [
      { topic: 'gc.node.commands', name: 'a key', role: 'decider', records: 2 },
      { topic: 'gc.policies', name: 'a key', role: 'operator', records: 1 },
    ],
  });
});

test('a key that ended or was revoked later proves what it signed before, and nothing after', async () => {
  const later = SIGNED_AT_MS + DAY_MS;
  const taken = revoked(root, decider, { issuedAtMs: later });
  expect((await verified([...KEYS, taken, command()])).deviations).toEqual([]);
  expect((await verified([...KEYS, taken, command(decider, later)])).deviations).toMatchObject([
    { kind: 'not-trusted', node: 'prod/web-1', message: expect.stringContaining('revoked') },
  ]);
  expect((await verified([...KEYS, command(decider, SIGNED_AT_MS + 30 * DAY_MS)])).deviations).toMatchObject([
    { kind: 'not-trusted', message: expect.stringContaining('expired') },
  ]);
});

test.each<{ name: string; record: LogRecord; message: RegExp }>([
  { name: 'nobody signed', record: { ...command(), headers: {} }, message: /no signature/ },
  { name: 'a stranger signed', record: command(stranger), message: /no root vouches/ },
  { name: 'was changed', record: { ...command(), value: Buffer.from('{}') }, message: /not that of/ },
])('a command that $name deviates', async ({ record, message }) => {
  expect((await verified([...KEYS, record])).deviations).toEqual([
    { kind: 'not-trusted', node: 'prod/web-1', message: expect.stringMatching(message) },
  ]);
});

test('a key that is certified while it verifies is believed', async () => {
  const late = newKey();
  const then = [certified(root, late), command(late)];
  const log = growingLog(KEYS, { topic: TOPICS.keys.name, then });
  expect(await verifiedOn(log, { fromMs: null, toMs: null }, 'off')).toMatchObject({
    deviations: [],
    signedBy: [{ topic: 'gc.node.commands', records: 1 }],
  });
});

test('a policy that was put back deviates, and a statement that no root made', async () => {
  const { deviations } = await verified([...KEYS, certified(stranger, stranger), policy(2), policy(1)]);
  expect(deviations.map(({ message }) => message)).toEqual([
    expect.stringMatching(/an old record back/),
    expect.stringMatching(/^gc\.keys, offset \d+ .*no root/),
  ]);
});

test('what the signer may not say deviates, and what was put back of before the range', async () => {
  const pauser = newKey();
  const keys = [...KEYS, certified(root, pauser, { role: 'pauser' })];
  const said = onLog(
    signRecord(outgoing({ topic: 'policies', key: 'default', event: appliedPolicy() }), {
      fleet: FLEET,
      key: pauser,
      generation: 1,
    }),
  );
  expect((await verified([...keys, said])).deviations).toMatchObject([
    { message: expect.stringContaining('may only pause') },
  ]);
  const later = SIGNED_AT_MS + DAY_MS;
  const range = { fromMs: later, toMs: null };
  expect((await verified([...KEYS, policy(2), policy(1, later)], range)).deviations).toMatchObject([
    { message: expect.stringContaining('an old record back') },
  ]);
});

test('what lies outside of the range is not looked at', async () => {
  const range = { fromMs: SIGNED_AT_MS + DAY_MS, toMs: null };
  expect(await verified([...KEYS, { ...command(), headers: {} }], range)).toEqual({
    deviations: [],
    signedBy: [],
  });
});

describe('facts of nodes', () => {
  const node = newKey();
  const certificate = certified(root, node, { role: 'node', clusters: ['prod'], nodes: ['web-1'] });
  const WHOLE = { fromMs: null, toMs: null };
  const fact = (key: typeof node | null, recordKey = 'prod/web-1'): LogRecord => {
    const record = { ...outgoing(nodeOutput('inventory', inventory())), key: recordKey };
    return onLog(key === null ? record : signRecord(record, { fleet: FLEET, key, generation: null }));
  };
  const records = [...KEYS, certificate, fact(node), fact(null), fact(node, 'prod/web-2'), fact(decider)];

  test('are read only where somebody asks', async () => {
    expect(await verified(records)).toEqual({ deviations: [], signedBy: [] });
  });

  test('are counted, by who signed them and by why they would not count', async () => {
    expect(await verified(records, WHOLE, 'warn')).toEqual({
      deviations: [],
      signedBy: [{ topic: 'gc.node.inventory', name: 'a key', role: 'node', records: 1 }],
      unprovedFacts: [
        { topic: 'gc.node.inventory', cause: 'unsigned', records: 1 },
        { topic: 'gc.node.inventory', cause: 'untrusted-key', records: 2 },
      ],
    });
  });

  test('deviate where their signatures are required', async () => {
    const { deviations, signedBy } = await verified(records, WHOLE, 'required');
    expect(deviations).toEqual([
      { kind: 'not-trusted', node: 'prod/web-1', message: 'it carries no signature' },
      { kind: 'not-trusted', node: 'prod/web-2', message: expect.stringContaining('the nodes web-1 alone') },
      { kind: 'not-trusted', node: 'prod/web-1', message: expect.stringContaining('is that of a decider') },
    ]);
    expect(signedBy).toMatchObject([{ records: 1 }]);
  });
});

describe('announcements of what is about to be removed', () => {
  const [node, cluster] = [newKey(), newKey()];
  const keys = [
    ...KEYS,
    certified(root, node, { role: 'node', clusters: ['prod'], nodes: ['web-1'] }),
    certified(root, cluster, { role: 'cluster', clusters: [CLUSTER.cluster] }),
  ];
  const WHOLE = { fromMs: null, toMs: null };

  test.each([
    {
      role: 'node',
      topic: 'results',
      key: node,
      output: nodeOutput('results', removalIntent()),
      subject: 'prod/web-1',
    },
    {
      role: 'cluster',
      topic: 'clusterResults',
      key: cluster,
      output: clusterOutput('clusterResults', clusterCommandIntent()),
      subject: CLUSTER.cluster,
    },
  ] as const)('of a $role are counted, and deviate where signatures are required', async (announced) => {
    const { role, topic, key, output, subject } = announced;
    const plain = outgoing(output);
    const signed = signerOf({ fleet: FLEET, role, key: () => key }).sign(topic, plain);
    const records = [
      ...keys,
      onLog(signed),
      onLog(plain),
      onLog(signRecord(plain, { fleet: FLEET, key: stranger, generation: null })),
      onLog(signRecord(plain, { fleet: FLEET, key: decider, generation: null })),
      onLog({ ...signed, value: Buffer.from(`${signed.value} `) }),
    ];
    const { name } = TOPICS[topic];
    const signedBy = [{ topic: name, name: 'a key', role, records: 1 }];
    expect(await verified(records, WHOLE, 'warn')).toEqual({
      deviations: [],
      signedBy,
      unprovedFacts: [
        { topic: name, cause: 'unsigned', records: 1 },
        { topic: name, cause: 'untrusted-key', records: 2 },
        { topic: name, cause: 'bad-signature', records: 1 },
      ],
    });
    expect(await verified(records, WHOLE, 'required')).toEqual({
      deviations: [/no signature/, /no root vouches/, /is that of a decider/, /not that of/].map(
        (message) => ({ kind: 'not-trusted', node: subject, message: expect.stringMatching(message) }),
      ),
      signedBy,
    });
  });
});

describe('in a range', () => {
  const [before, within, after] = [SIGNED_AT_MS, SIGNED_AT_MS + DAY_MS, SIGNED_AT_MS + 2 * DAY_MS];
  const range = { fromMs: within, toMs: after };
  const unsigned = (timestampMs: number): LogRecord => ({ ...command(stranger, timestampMs), headers: {} });

  test('only what lies in it is told', async () => {
    const { deviations, signedBy } = await verified(
      [
        ...KEYS,
        ...[before, within - 1, within, after - 1, after].flatMap((ms) => [
          command(decider, ms),
          unsigned(ms),
        ]),
      ],
      range,
    );
    expect(deviations).toHaveLength(2);
    expect(signedBy).toMatchObject([{ topic: 'gc.node.commands', records: 2 }]);
  });

  test('a policy that was put back is told by what lies before it too', async () => {
    const { deviations } = await verified([...KEYS, policy(5, before), policy(4, within)], range);
    expect(deviations).toHaveLength(1);
    expect((await verified([...KEYS, policy(5, before), policy(6, within)], range)).deviations).toEqual([]);
    const unsignedBefore = { ...policy(1, before), headers: {} };
    expect((await verified([...KEYS, unsignedBefore, policy(6, within)], range)).deviations).toEqual([]);
  });
});

const versionOf = (key: typeof decider, record: ReturnType<typeof outgoing>): LogRecord =>
  onLog(signRecord(record, { fleet: FLEET, key, generation: null }));

const versionBy = (
  key: typeof decider,
  event: PolicyTopicRecord | ReturnType<typeof policySetRecord>,
): LogRecord =>
  onLog(
    signRecord(outgoing({ topic: 'policyVersions', key: keyOf('policyVersions', event), event }), {
      fleet: FLEET,
      key,
      generation: event.type === 'fleetgc.policy-set' ? null : SIGNED_AT_MS,
    }),
  );

test('who told of policies and of sets of them is told, and who may not deviates', async () => {
  const set = policySetRecord(policySet('node', [appliedPolicy()], []));
  const [bySigner, byDecider] = [versionBy(operator, appliedPolicy()), versionBy(decider, set)];
  const { deviations, signedBy } = await verified([...KEYS, bySigner, byDecider]);
  expect(deviations).toEqual([]);
  expect(signedBy.toSorted((a, b) => (a.role < b.role ? -1 : 1))).toEqual([
    { topic: 'gc.policy-versions', name: 'a key', role: 'decider', records: 1 },
    { topic: 'gc.policy-versions', name: 'a key', role: 'operator', records: 1 },
  ]);
  const unread = versionOf(decider, {
    ...outgoing({ topic: 'policyVersions', key: set.hash, event: set }),
    value: Buffer.from('{}'),
  });
  expect((await verified([...KEYS, unread])).deviations.map(({ message }) => message)).toEqual([
    expect.stringMatching(/type/),
  ]);
  const wrong = [
    versionBy(decider, appliedPolicy()),
    versionBy(operator, set),
    { ...byDecider, headers: {} },
  ];
  expect((await verified([...KEYS, ...wrong])).deviations.map(({ message }) => message)).toEqual([
    expect.stringMatching(/the key of a decider signed it, who may not say this/),
    expect.stringMatching(/a key of role operator signed it, which tells of no set/),
    expect.stringMatching(/no signature/),
  ]);
});

describe('[cluster S7] approvals', () => {
  const [pauser, ofOthers] = [newKey(), newKey()];
  const given = approval(approvedOwner('o', 3));
  const key = approvalKey(given);
  const keys = [
    ...KEYS,
    certified(root, pauser, { role: 'pauser' }),
    certified(root, ofOthers, { role: 'operator', clusters: ['another'] }),
  ];

  const signedBy = (
    by: typeof operator,
    event: PolicyTopicRecord,
    topic: 'policies' | 'policyVersions' = 'policies',
    generation = 1,
  ): LogRecord => {
    const output = topic === 'policies' ? { topic, key, event } : { topic, key: keyOf(topic, event), event };
    return onLog(signRecord(outgoing(output), { fleet: FLEET, key: by, generation }));
  };
  const problems = async (...records: readonly LogRecord[]): Promise<string[]> =>
    (await verified([...keys, ...records])).deviations.map(({ message }) => message);

  test.each(['policies', 'policyVersions'] as const)('who may give one is told, on %s', async (topic) => {
    expect(await verified([...keys, signedBy(operator, given, topic)])).toEqual({
      deviations: [],
      signedBy: [{ topic: TOPICS[topic].name, name: 'a key', role: 'operator', records: 1 }],
    });
  });

  test.each([
    { name: 'that may only pause', by: pauser, message: /may only pause/ },
    { name: 'of a decision service', by: decider, message: /decider/ },
    { name: 'for other clusters', by: ofOthers, message: /its key is for the clusters another alone/ },
    { name: 'that no root knows', by: stranger, message: /no root vouches/ },
  ])('one by a key $name deviates, and so does its end', async ({ by, message }) => {
    const said = [given, deletionRecord(key)];
    const told = said.flatMap((event) => [signedBy(by, event), signedBy(by, event, 'policyVersions')]);
    expect(await problems(...told)).toEqual(told.map(() => expect.stringMatching(message)));
  });

  test('one that nobody signed deviates, and one that was changed since', async () => {
    const record = signedBy(operator, given);
    const wider = { ...given, what: approvedOwner('o', 4) };
    const value = outgoing({ topic: 'policies', key, event: wider }).value;
    expect(await problems({ ...record, headers: {} }, { ...record, value })).toEqual([
      'it carries no signature',
      expect.stringMatching(/not that of/),
    ]);
  });

  test('one that was put back after its end deviates', async () => {
    const withdrawn = signedBy(operator, deletionRecord(key), 'policies', 2);
    expect(await problems(signedBy(operator, given), withdrawn)).toEqual([]);
    expect(await problems(signedBy(operator, given), withdrawn, signedBy(operator, given))).toEqual([
      'it is older than what it replaced: somebody put an old record back',
    ]);
  });
});

describe('records from before there were signatures', () => {
  const HOUR_MS = 3_600_000;
  const WHOLE = { fromMs: null, toMs: null };
  const unsigned = (record: LogRecord): LogRecord => ({ ...record, headers: {} });
  /** As they lie on a topic that nobody took anything from. */
  const keys = KEYS.map((record, index) => ({ ...record, offset: BigInt(index) }));
  const old = [
    unsigned(command(decider, SIGNED_AT_MS - 2 * HOUR_MS)),
    unsigned(command(decider, SIGNED_AT_MS - HOUR_MS)),
    unsigned(policy(1, SIGNED_AT_MS - HOUR_MS)),
  ];

  async function told(records: readonly LogRecord[], range: TimeRange = WHOLE, facts: FactsTrust = 'off') {
    const { found, beforeSignatures } = await verifySignatures(
      logOf([...records]),
      { roots: rootsOf(root), range, facts },
      new AbortController().signal,
    );
    return { deviations: found.deviations.total, beforeSignatures };
  }

  test('are counted apart, and what is as old as the first statement deviates', async () => {
    expect(await told([...keys, ...old, command(), policy(2)])).toEqual({
      deviations: 0,
      beforeSignatures: {
        firstStatementMs: SIGNED_AT_MS,
        byTopic: [
          { topic: 'gc.policies', records: 1 },
          { topic: 'gc.node.commands', records: 2 },
        ],
      },
    });
    expect(await told([...keys, ...old, unsigned(command())])).toMatchObject({ deviations: 1 });
  });

  test('are facts too, where those need a signature', async () => {
    const fact = onLog({ ...outgoing(nodeOutput('inventory', inventory())) }, SIGNED_AT_MS - HOUR_MS);
    const { beforeSignatures, deviations } = await told([...keys, fact], WHOLE, 'required');
    expect(deviations).toBe(0);
    expect(beforeSignatures.byTopic).toEqual([{ topic: 'gc.node.inventory', records: 1 }]);
  });

  const early = SIGNED_AT_MS - 3 * HOUR_MS;
  test.each<{ name: string; records: readonly LogRecord[]; deviations: number }>([
    { name: 'there is no statement', records: old, deviations: 3 },
    {
      name: 'the first statement is gone',
      records: [...keys.map((record) => ({ ...record, offset: record.offset + 1n })), ...old],
      deviations: 3,
    },
    {
      name: 'a statement in the middle is gone',
      records: [...keys.map((record) => ({ ...record, offset: record.offset * 2n })), ...old],
      deviations: 3,
    },
    {
      name: 'the statements were written again later, as they are',
      records: [
        ...keys.map((record) => ({ ...record, timestampMs: SIGNED_AT_MS + DAY_MS })),
        unsigned(command(decider, SIGNED_AT_MS)),
      ],
      deviations: 1,
    },
    {
      name: 'a record as old is signed, with any key of any time',
      records: [...keys, ...old, command(decider, early)],
      deviations: 3,
    },
    {
      name: 'a record as old bears the signature of a key that nobody knows',
      records: [...keys, ...old, command(stranger, early)],
      deviations: 4,
    },
    {
      name: 'it lies after a signed record in its partition, whatever its time says',
      records: [...keys, command(decider, SIGNED_AT_MS), unsigned(command(decider, early))],
      deviations: 1,
    },
    {
      name: 'the log did not date it',
      records: [...keys, { ...unsigned(command(decider, early)), isDatedByWriter: true }],
      deviations: 1,
    },
    {
      name: 'it is a head',
      records: [
        ...keys,
        onLog({ topic: TOPICS.heads.name, key: 'x', value: Buffer.from('{}'), headers: {} }, early),
      ],
      deviations: 1,
    },
  ])('are none where $name', async ({ records, deviations }) => {
    const { beforeSignatures, ...rest } = await told(records);
    expect(rest).toEqual({ deviations });
    expect(beforeSignatures.byTopic).toEqual([]);
  });

  test('are none in a range that begins after the first statement', async () => {
    const late = unsigned(command(decider, SIGNED_AT_MS + 2 * HOUR_MS));
    const range = { fromMs: SIGNED_AT_MS + HOUR_MS, toMs: null };
    expect(await told([...keys, ...old, late], range)).toMatchObject({
      deviations: 1,
      beforeSignatures: { byTopic: [] },
    });
  });

  test('whatever signatures there are and when, no unsigned record is excused that is not older than each of them', async () => {
    const hour = fc.integer({ min: -5, max: 5 });
    const wrote = fc.record({ hour, by: fc.constantFrom('nobody', 'decider', 'stranger') });
    await fc.assert(
      fc.asyncProperty(fc.array(wrote, { maxLength: 8 }), async (written) => {
        const records = written.map(({ hour: at, by }) => {
          const record = command(by === 'stranger' ? stranger : decider, SIGNED_AT_MS + at * HOUR_MS);
          return by === 'nobody' ? unsigned(record) : record;
        });
        const signedHours = written.flatMap(({ hour: at, by }) => (by === 'nobody' ? [] : [at]));
        const firstHour = Math.min(0, ...signedHours);
        const older = written.filter(({ hour: at, by }) => by === 'nobody' && at < firstHour).length;
        const { beforeSignatures } = await told([...keys, ...records]);
        const excused = beforeSignatures.byTopic.reduce((sum, topic) => sum + topic.records, 0);
        expect(excused).toBeLessThanOrEqual(older);
      }),
      runs(200),
    );
  });
});
