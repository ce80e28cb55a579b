import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { judgingApart } from '../../../../packages/records/trust/process-trust.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import {
  type DistrustReason,
  RequiredTrust,
  signsFactsAlone,
  TRUST_OFF,
} from '../../../../packages/records/trust/trust.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { KeyRole } from '../../../../schemas/keys/key-statement.ts';
import { certified, FLEET, newKey, onLog, revoked, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';

const DAY_MS = 86_400_000;
const [root, decider, operator, stranger] = [newKey(), newKey(), newKey(), newKey()];

interface Setting {
  readonly statements?: readonly LogRecord[];
  readonly nowMs?: number;
}

const GOOD = [certified(root, decider), certified(root, operator, { role: 'operator' })];

function trust({ statements = GOOD, nowMs = SIGNED_AT_MS }: Setting = {}): RequiredTrust {
  const ring = new KeyRing(rootsOf(root));
  for (const statement of statements) ring.add(statement);
  return new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => nowMs });
}

const written = (topic: TopicId, key = 'eu/web-1'): OutgoingRecord => ({
  topic: TOPICS[topic].name,
  key,
  value: Buffer.from('{"says":"something"}'),
  headers: { ce_id: 'one' },
});

interface Signing {
  readonly key?: typeof decider;
  readonly fleet?: string;
  readonly generation?: number | null;
  readonly timestampMs?: number;
}

const command = ({
  key = decider,
  fleet = FLEET,
  generation = null,
  timestampMs = SIGNED_AT_MS,
}: Signing = {}) => onLog(signRecord(written('commands'), { key, fleet, generation }), timestampMs);

const policy = ({
  key = operator,
  fleet = FLEET,
  generation = 1,
  timestampMs = SIGNED_AT_MS,
}: Signing = {}) => onLog(signRecord(written('policies', 'web'), { key, fleet, generation }), timestampMs);

test('an order of a decider and a policy of an operator are believed', () => {
  expect(trust().authenticate('commands', command())).toEqual({
    ok: true,
    principal: { kind: 'key', keyId: decider.keyId, role: 'decider', clusters: [], generation: null },
  });
  expect(trust().authenticate('policies', policy())).toMatchObject({
    ok: true,
    principal: { role: 'operator' },
  });
});

test('what services tell needs no signature, and off nothing does', () => {
  for (const topic of ['decisions', 'deadLetters'] as const)
    expect(trust().authenticate(topic, onLog(written(topic)))).toMatchObject({ ok: true });
  expect(TRUST_OFF.authenticate('commands', onLog(written('commands')))).toMatchObject({ ok: true });
});

test('a revocation counts when the log has it, though the clock of its root is ahead', () => {
  const HOUR_MS = DAY_MS / 24;
  const ahead = { issuedAtMs: SIGNED_AT_MS + 12 * HOUR_MS, timestampMs: SIGNED_AT_MS + HOUR_MS };
  const believes = trust({ statements: [...GOOD, revoked(root, operator, ahead)] });
  expect(believes.authenticate('policies', policy({ timestampMs: SIGNED_AT_MS }))).toMatchObject({
    ok: true,
  });
  expect(
    believes.authenticate('policies', policy({ timestampMs: SIGNED_AT_MS + 2 * HOUR_MS })),
  ).toMatchObject({
    ok: false,
    distrust: { cause: 'untrusted-key', message: expect.stringContaining('was revoked') },
  });
});

describe('where the log did not say when it took a record', () => {
  const byWriter = (record: LogRecord): LogRecord => ({ ...record, isDatedByWriter: true });

  test('it counts while its key is good', () => {
    const believes = trust({ nowMs: SIGNED_AT_MS + DAY_MS });
    expect(believes.authenticate('policies', byWriter(policy()))).toMatchObject({ ok: true });
  });

  test('a revoked key does not date what it signs back', () => {
    const stolen = revoked(root, operator, { issuedAtMs: SIGNED_AT_MS + DAY_MS });
    const believes = trust({ statements: [...GOOD, stolen], nowMs: SIGNED_AT_MS + 2 * DAY_MS });
    expect(believes.authenticate('policies', policy())).toMatchObject({ ok: true });
    expect(believes.authenticate('policies', byWriter(policy()))).toMatchObject({
      ok: false,
      distrust: {
        cause: 'untrusted-key',
        message: expect.stringMatching(/was revoked \(lost\), and .*message.timestamp.type/),
      },
    });
  });

  test('nor does a key that has ended', () => {
    const believes = trust({ nowMs: SIGNED_AT_MS + 40 * DAY_MS });
    expect(believes.authenticate('policies', policy())).toMatchObject({ ok: true });
    expect(believes.authenticate('policies', byWriter(policy()))).toMatchObject({
      distrust: { message: expect.stringMatching(/has expired at .*, and .*message.timestamp.type/) },
    });
  });

  test('a generation is not ahead because its writer says that it is late', () => {
    const ahead = { generation: SIGNED_AT_MS + 3 * DAY_MS, timestampMs: SIGNED_AT_MS + 3 * DAY_MS };
    expect(trust().authenticate('policies', policy(ahead))).toMatchObject({ ok: true });
    expect(trust().authenticate('policies', byWriter(policy(ahead)))).toMatchObject({
      distrust: { message: expect.stringContaining('a day ahead') },
    });
  });

  test('whoever asks later takes its time for it, and a revoked key proves nothing', () => {
    const recorded = (...statements: readonly LogRecord[]): RequiredTrust => {
      const ring = new KeyRing(rootsOf(root));
      for (const statement of [...GOOD, ...statements]) ring.add(statement);
      return new RequiredTrust({
        ring: () => ring,
        problem: () => null,
        nowMs: () => 0,
        judges: 'as-recorded',
      });
    };
    const dated = byWriter(policy({ generation: SIGNED_AT_MS }));
    expect(recorded().authenticate('policies', dated)).toMatchObject({ ok: true });
    const stolen = revoked(root, operator, { issuedAtMs: SIGNED_AT_MS + DAY_MS });
    expect(recorded(stolen).authenticate('policies', policy())).toMatchObject({ ok: true });
    expect(recorded(stolen).authenticate('policies', dated)).toMatchObject({
      ok: false,
      distrust: { reason: 'revoked' },
    });
  });

  test('it proves no time', () => {
    const ring = new KeyRing(rootsOf(root));
    for (const statement of GOOD) ring.add(statement);
    const times: number[] = [];
    const believes = new RequiredTrust({
      ring: () => ring,
      problem: () => null,
      nowMs: () => SIGNED_AT_MS,
      onBelieved: ({ timestampMs }) => times.push(timestampMs),
    });
    for (const record of [byWriter(policy({ timestampMs: SIGNED_AT_MS + 1 })), policy()])
      expect(believes.authenticate('policies', record)).toMatchObject({ ok: true });
    expect(times).toEqual([SIGNED_AT_MS]);
  });
});

const FACTS = ['diskStats', 'inventory', 'results'] as const;
const OF_CLUSTERS = [
  'clusterOwnership',
  'clusterExpiry',
  'clusterPods',
  'clusterCommands',
  'clusterRemoved',
  'clusterResults',
  'clusterCensus',
] as const;
const SIGNED = [...FACTS, ...OF_CLUSTERS, 'observe', 'commands', 'policies', 'keys', 'heads'] as const;

const fact = (topic: TopicId, { key = stranger, timestampMs = SIGNED_AT_MS, at = 'eu/web-1' } = {}) =>
  onLog(signRecord(written(topic, at), { key, fleet: FLEET, generation: null }), timestampMs);

const nodeKeyFor = (over: { readonly clusters?: readonly string[]; readonly nodes?: readonly string[] }) => ({
  statements: [...GOOD, certified(root, stranger, { role: 'node', ...over })],
});

test('where facts are required, a node signs its own', () => {
  for (const topic of FACTS) {
    const believes = trust(nodeKeyFor({ clusters: ['eu'], nodes: ['web-1'] }));
    expect(believes.authenticate(topic, fact(topic))).toMatchObject({
      ok: true,
      principal: { role: 'node' },
    });
    expect(believes.authenticate(topic, onLog(written(topic)))).toMatchObject({
      distrust: { cause: 'unsigned' },
    });
    expect(believes.authenticate(topic, fact(topic, { key: decider }))).toMatchObject({
      distrust: { cause: 'untrusted-key', message: expect.stringContaining('is that of a decider') },
    });
  }
});

test.each([
  { at: 'eu/web-2', over: { clusters: ['eu'], nodes: ['web-1'] }, message: /is for the nodes web-1 alone/ },
  { at: 'us/web-1', over: { clusters: ['eu'], nodes: ['web-1'] }, message: /is for the clusters eu alone/ },
  { at: 'us/web-1', over: { clusters: ['eu'] }, message: /is for the clusters eu alone/ },
  { at: 'web-1', over: { clusters: ['eu'], nodes: ['web-1'] }, message: /is for the clusters eu alone/ },
  { at: 'eu/x/web-1', over: { clusters: ['eu'], nodes: ['web-1'] }, message: /is for the clusters eu alone/ },
])('a stolen key of a node does not speak for $at', ({ at, over, message }) => {
  expect(trust(nodeKeyFor(over)).authenticate('inventory', fact('inventory', { at }))).toEqual({
    ok: false,
    distrust: { cause: 'untrusted-key', reason: 'not-allowed', message: expect.stringMatching(message) },
  });
});

test('a key of a cluster speaks for all its nodes', () => {
  const believes = trust(nodeKeyFor({ clusters: ['eu'] }));
  for (const at of ['eu/web-1', 'eu/web-2'])
    expect(believes.authenticate('inventory', fact('inventory', { at }))).toMatchObject({ ok: true });
});

test('a key of role cluster speaks for its own clusters, and never for their nodes; nor a key of nodes for a cluster', () => {
  const ofCluster = trust({
    statements: [...GOOD, certified(root, stranger, { role: 'cluster', clusters: ['eu'] })],
  });
  const about = (topic: TopicId, at: string) => fact(topic, { at });
  for (const topic of ['clusterOwnership', 'clusterExpiry', 'clusterPods', 'clusterResults'] as const) {
    expect(ofCluster.authenticate(topic, about(topic, 'eu'))).toMatchObject({ ok: true });
    expect(ofCluster.authenticate(topic, about(topic, 'us'))).toMatchObject({ ok: false });
    expect(trust(nodeKeyFor({ clusters: ['eu'] })).authenticate(topic, about(topic, 'eu'))).toMatchObject({
      ok: false,
    });
  }
  expect(ofCluster.authenticate('inventory', fact('inventory'))).toMatchObject({ ok: false });
  expect(ofCluster.authenticate('clusterCommands', about('clusterCommands', 'eu'))).toMatchObject({
    ok: false,
  });
});

test('a fact that waited while its key ended stays true; one that came later is none', () => {
  const endMs = SIGNED_AT_MS + 30 * DAY_MS;
  const later = trust({ ...nodeKeyFor({}), nowMs: endMs + DAY_MS });
  expect(later.authenticate('inventory', fact('inventory', { timestampMs: endMs - 1 }))).toMatchObject({
    ok: true,
  });
  expect(later.authenticate('inventory', fact('inventory', { timestampMs: endMs }))).toMatchObject({
    distrust: { cause: 'untrusted-key', message: expect.stringContaining('expired') },
  });
});

test('facts may be judged more mildly than orders, and never instead of them', () => {
  const apart = judgingApart(trust(), TRUST_OFF);
  for (const topic of [
    ...FACTS,
    'clusterOwnership',
    'clusterExpiry',
    'clusterPods',
    'clusterResults',
  ] as const)
    expect(apart.authenticate(topic, onLog(written(topic)))).toMatchObject({ ok: true });
  for (const topic of ['commands', 'clusterCommands', 'observe', 'policies', 'keys'] as const)
    expect(apart.authenticate(topic, onLog(written(topic)))).toMatchObject({ ok: false });
  expect(apart.objectionTo('commands', null, 'eu/web-1')).toContain('no signature');
});

const CAUSES: Readonly<Partial<Record<DistrustReason, string>>> = {
  unsigned: 'unsigned',
  malformed: 'bad-signature',
  changed: 'bad-signature',
  stranger: 'untrusted-key',
  revoked: 'untrusted-key',
  expired: 'untrusted-key',
  'not-allowed': 'untrusted-key',
};

test.each<{
  name: string;
  record: LogRecord;
  topic?: TopicId;
  setting?: Setting;
  reason: DistrustReason;
  message: RegExp;
}>([
  {
    name: 'without a signature',
    record: onLog(written('commands')),
    reason: 'unsigned',
    message: /no signature/,
  },
  {
    name: 'with a malformed one',
    record: onLog({ ...written('commands'), headers: { ce_fleetgcsignature: 'x' } }),
    reason: 'malformed',
    message: /malformed/,
  },
  {
    name: 'of a key that nobody knows',
    record: command({ key: stranger }),
    reason: 'stranger',
    message: /no root/,
  },
  {
    name: 'of a key of another role',
    record: command({ key: operator }),
    reason: 'not-allowed',
    message: /operator/,
  },
  {
    name: 'for another fleet',
    record: command({ fleet: 'test' }),
    reason: 'changed',
    message: /not that of/,
  },
  {
    name: 'whose value was changed',
    record: { ...command(), value: Buffer.from('{}') },
    reason: 'changed',
    message: /not that of/,
  },
  {
    name: 'that was put under another key',
    record: { ...command(), key: 'eu/web-2' },
    reason: 'changed',
    message: /not that of/,
  },
  {
    name: 'that was put on another topic',
    record: { ...command(), topic: TOPICS.observe.name },
    topic: 'observe',
    reason: 'changed',
    message: /not that of/,
  },
  {
    name: 'of a key that has ended by our clock, whatever the log says',
    record: command({ timestampMs: SIGNED_AT_MS }),
    setting: { nowMs: SIGNED_AT_MS + 30 * DAY_MS },
    reason: 'expired',
    message: /expired/,
  },
  {
    name: 'of a revoked key, also one that the log took before',
    record: command({ timestampMs: SIGNED_AT_MS - DAY_MS }),
    setting: { statements: [...GOOD, revoked(root, decider)] },
    reason: 'revoked',
    message: /revoked \(lost\)/,
  },
  {
    name: 'of a key for other clusters',
    record: command(),
    setting: { statements: [certified(root, decider, { clusters: ['us'] })] },
    reason: 'not-allowed',
    message: /clusters us alone/,
  },
])('an order is not believed: $name', ({ record, topic = 'commands', setting, reason, message }) => {
  expect(trust(setting).authenticate(topic, record)).toEqual({
    ok: false,
    distrust: { cause: CAUSES[reason], reason, message: expect.stringMatching(message) },
  });
});

test('a key for some clusters orders nodes of these', () => {
  const statements = [certified(root, decider, { clusters: ['us', 'eu'] })];
  expect(trust({ statements }).authenticate('commands', command())).toMatchObject({ ok: true });
});

test('a policy stays in force when its key has ended or was revoked, and later ones of the key count for nothing', () => {
  const later = SIGNED_AT_MS + 40 * DAY_MS;
  const ended = trust({ nowMs: later });
  expect(ended.authenticate('policies', policy())).toMatchObject({ ok: true });
  expect(ended.authenticate('policies', policy({ timestampMs: later }))).toMatchObject({ ok: false });

  const revokedAt = SIGNED_AT_MS + DAY_MS;
  const taken = trust({
    statements: [...GOOD, revoked(root, operator, { issuedAtMs: revokedAt })],
    nowMs: later,
  });
  expect(taken.authenticate('policies', policy())).toMatchObject({ ok: true });
  expect(taken.authenticate('policies', policy({ timestampMs: revokedAt }))).toMatchObject({ ok: false });
});

test('a policy without a generation is not believed: an old one could be put back', () => {
  expect(trust().authenticate('policies', policy({ generation: null }))).toMatchObject({
    ok: false,
    distrust: { cause: 'untrusted-key', message: expect.stringContaining('without a generation') },
  });
});

test('the generation is signed', () => {
  const record = policy({ generation: 1 });
  const raised = { ...record, headers: { ...record.headers, ce_fleetgcgeneration: '2' } };
  expect(trust().authenticate('policies', raised)).toMatchObject({
    ok: false,
    distrust: { cause: 'bad-signature' },
  });
});

test('whatever one bit of a signed record is changed to, it is not believed as it was', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(7), (at, bit) => {
      const record = command();
      const value = Buffer.from(record.value ?? '');
      const index = at % value.length;
      value.writeUInt8(value.readUInt8(index) ^ (1 << bit), index);
      expect(trust().authenticate('commands', { ...record, value })).toMatchObject({ ok: false });
    }),
  );
});

test('no role but the one that may sign a topic is believed on it', () => {
  const may: Partial<Record<TopicId, readonly KeyRole[]>> = {
    observe: ['decider'],
    commands: ['decider'],
    policies: ['operator', 'pauser', 'dashboard', 'policy-controller'],
    keys: ['root'],
    diskStats: ['node'],
    inventory: ['node'],
    results: ['node'],
    clusterOwnership: ['cluster'],
    clusterExpiry: ['cluster'],
    clusterPods: ['cluster'],
    clusterCommands: ['decider'],
    clusterRemoved: ['cluster'],
    clusterResults: ['cluster'],
    clusterCensus: ['cluster'],
    heads: ['archiver', 'decider'],
  };
  for (const role of KeyRole.options) {
    const clusters = role === 'policy-controller' ? ['eu'] : [];
    const statements = [certified(root, stranger, { role, clusters })];
    for (const topic of SIGNED) {
      const record = onLog(signRecord(written(topic), { key: stranger, fleet: FLEET, generation: 1 }));
      const { ok } = trust({ statements }).authenticate(topic, record);
      expect({ role, topic, ok }).toEqual({ role, topic, ok: may[topic]?.includes(role) ?? false });
    }
  }
});

test('only nodes and clusters sign nothing but what they see', () => {
  expect(KeyRole.options.filter(signsFactsAlone).toSorted()).toEqual(['cluster', 'node']);
});

test('a head needs no generation', () => {
  const head = signRecord(written('heads', 'chain-1'), { key: decider, fleet: FLEET, generation: null });
  expect(trust().authenticate('heads', onLog(head))).toMatchObject({ ok: true });
});
