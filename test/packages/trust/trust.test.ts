import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogRecord, OutgoingRecord } from '../../../packages/event-log/port.ts';
import { KeyRing } from '../../../packages/trust/key-ring.ts';
import { signRecord } from '../../../packages/trust/signature.ts';
import { RequiredTrust, TRUST_OFF } from '../../../packages/trust/trust.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { KeyRole } from '../../../schemas/keys/key-statement.ts';
import { certified, FLEET, newKey, onLog, revoked, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';

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

test('facts need no signature, and off nothing does', () => {
  for (const topic of ['diskStats', 'inventory', 'results', 'decisions', 'deadLetters'] as const)
    expect(trust().authenticate(topic, onLog(written(topic)))).toMatchObject({ ok: true });
  expect(TRUST_OFF.authenticate('commands', onLog(written('commands')))).toMatchObject({ ok: true });
});

test.each<{
  name: string;
  record: LogRecord;
  topic?: TopicId;
  setting?: Setting;
  cause: string;
  message: RegExp;
}>([
  {
    name: 'without a signature',
    record: onLog(written('commands')),
    cause: 'unsigned',
    message: /no signature/,
  },
  {
    name: 'with a malformed one',
    record: onLog({ ...written('commands'), headers: { ce_fleetgcsignature: 'x' } }),
    cause: 'bad-signature',
    message: /malformed/,
  },
  {
    name: 'of a key that nobody knows',
    record: command({ key: stranger }),
    cause: 'untrusted-key',
    message: /no root/,
  },
  {
    name: 'of a key of another role',
    record: command({ key: operator }),
    cause: 'untrusted-key',
    message: /operator/,
  },
  {
    name: 'for another fleet',
    record: command({ fleet: 'test' }),
    cause: 'bad-signature',
    message: /not that of/,
  },
  {
    name: 'whose value was changed',
    record: { ...command(), value: Buffer.from('{}') },
    cause: 'bad-signature',
    message: /not that of/,
  },
  {
    name: 'that was put under another key',
    record: { ...command(), key: 'eu/web-2' },
    cause: 'bad-signature',
    message: /not that of/,
  },
  {
    name: 'that was put on another topic',
    record: { ...command(), topic: TOPICS.observe.name },
    topic: 'observe',
    cause: 'bad-signature',
    message: /not that of/,
  },
  {
    name: 'of a key that has ended by our clock, whatever the log says',
    record: command({ timestampMs: SIGNED_AT_MS }),
    setting: { nowMs: SIGNED_AT_MS + 30 * DAY_MS },
    cause: 'untrusted-key',
    message: /expired/,
  },
  {
    name: 'of a revoked key, also one that the log took before',
    record: command({ timestampMs: SIGNED_AT_MS - DAY_MS }),
    setting: { statements: [...GOOD, revoked(root, decider)] },
    cause: 'untrusted-key',
    message: /revoked \(lost\)/,
  },
  {
    name: 'of a key for other clusters',
    record: command(),
    setting: { statements: [certified(root, decider, { clusters: ['us'] })] },
    cause: 'untrusted-key',
    message: /clusters us alone/,
  },
])('an order is not believed: $name', ({ record, topic = 'commands', setting, cause, message }) => {
  expect(trust(setting).authenticate(topic, record)).toEqual({
    ok: false,
    distrust: { cause, message: expect.stringMatching(message) },
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
    policies: ['operator', 'pauser'],
    keys: ['root'],
  };
  for (const role of KeyRole.options) {
    const statements = [certified(root, stranger, { role })];
    for (const topic of ['observe', 'commands', 'policies', 'keys'] as const) {
      const record = onLog(signRecord(written(topic), { key: stranger, fleet: FLEET, generation: 1 }));
      const { ok } = trust({ statements }).authenticate(topic, record);
      expect({ role, topic, ok }).toEqual({ role, topic, ok: may[topic]?.includes(role) ?? false });
    }
  }
});
