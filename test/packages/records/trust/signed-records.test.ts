import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { provedGeneration } from '../../../../packages/records/trust/generation.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { WarningTrust } from '../../../../packages/records/trust/process-trust.ts';
import { claimedSignature, isOfTheFuture, signRecord } from '../../../../packages/records/trust/signature.ts';
import { signerOf, UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { KeySigner, UNSIGNED_STATE } from '../../../../packages/records/trust/state-signer.ts';
import { readSignedRecord, signedRecordText } from '../../../../packages/records/trust/statement.ts';
import {
  NOBODY_PROVED,
  objectionToSubject,
  RequiredTrust,
  SIGNED_TOPICS,
} from '../../../../packages/records/trust/trust.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { certified, FLEET, newKey, onLog, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';

const DAY_MS = 86_400_000;
const [root, decider, operator, stranger] = [newKey(), newKey(), newKey(), newKey()];
const written = (topic: TopicId, key = 'web') => ({
  topic: TOPICS[topic].name,
  key,
  value: Buffer.from('{}'),
  headers: { ce_id: 'one' },
});
const ring = new KeyRing(rootsOf(root));
ring.add(certified(root, decider));
ring.add(certified(root, operator, { role: 'operator' }));
const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
const policyOf = (generation: number | null, key = operator, timestampMs = SIGNED_AT_MS) =>
  onLog(signRecord(written('policies'), { fleet: FLEET, key, generation }), timestampMs);

describe('a statement on its way from a machine without a network', () => {
  const record = signRecord(written('keys'), { fleet: FLEET, key: root, generation: 1 });

  test('is read as it was written', () => {
    expect(readSignedRecord(signedRecordText(record), 'a line')).toEqual(record);
  });

  test('of which somebody took the value has none', () => {
    const read = readSignedRecord(signedRecordText({ ...record, value: null }), 'a line');
    expect(read.value).toEqual(Buffer.alloc(0));
  });

  test.each([
    { name: 'no JSON', line: '{' },
    { name: 'of another topic', line: signedRecordText(written('policies')) },
    {
      name: 'with more than belongs there',
      line: JSON.stringify({ ...JSON.parse(signedRecordText(record)), more: 1 }),
    },
    { name: 'too long', line: `${signedRecordText(record)}${' '.repeat(2 * TOPICS.keys.bounds.bytes)}` },
  ])('is none when $name', ({ line }) => {
    expect(() => readSignedRecord(line, 'line 3')).toThrow(
      expect.objectContaining({
        code: 'KEY_UNUSABLE',
        message: expect.stringMatching(/^line 3 is no signed statement/),
      }),
    );
  });
});

describe('the signature that headers claim', () => {
  const { headers } = policyOf(5);

  test('is told with its generation, and without one', () => {
    expect(claimedSignature(headers)).toMatchObject({
      kind: 'claimed',
      signature: { keyId: operator.keyId, generation: 5 },
    });
    expect(claimedSignature(policyOf(null).headers)).toMatchObject({ signature: { generation: null } });
    expect(claimedSignature({})).toEqual({ kind: 'none' });
  });

  test.each(['05', '-1', '1.5', '1x', 'x1', '', '9007199254740992', '99999999999999999'])(
    'is malformed with the generation %j',
    (ce_fleetgcgeneration) => {
      expect(claimedSignature({ ...headers, ce_fleetgcgeneration })).toEqual({ kind: 'malformed' });
    },
  );

  test.each(['ce_fleetgckeyid', 'ce_fleetgcsignature', 'ce_fleetgcgeneration'])(
    'is malformed with %s alone',
    (name) => {
      expect(claimedSignature({ [name]: headers[name] ?? '' })).toEqual({ kind: 'malformed' });
    },
  );

  test.each(['A', ' ', '\n'])('is malformed with a signature that begins with %j', (more) => {
    const { ce_fleetgcsignature: text = '' } = headers;
    for (const ce_fleetgcsignature of [`${more}${text}`, `${text}${more}`, text.replace('==', '=')])
      expect(claimedSignature({ ...headers, ce_fleetgcsignature })).toEqual({ kind: 'malformed' });
  });

  test.each([
    { generation: 5, written: '5' },
    { generation: null, written: null },
  ])(
    'is over the list that events.md names, with the generation $written',
    ({ generation, written: told }) => {
      const record = policyOf(generation);
      const bytes = JSON.stringify([
        'fleetgc-signature-v1',
        FLEET,
        'gc.policies',
        'web',
        operator.keyId,
        told,
        createHash('sha256').update('{}').digest('hex'),
      ]);
      const publicKey = createPublicKey({
        format: 'jwk',
        key: {
          kty: 'OKP',
          crv: 'Ed25519',
          x: Buffer.from(operator.publicKey, 'base64').toString('base64url'),
        },
      });
      const signature = Buffer.from(record.headers.ce_fleetgcsignature ?? '', 'base64');
      expect(verify(null, Buffer.from(bytes), publicKey, signature)).toBe(true);
    },
  );

  test('covers whether there is a generation: one cannot be taken away, nor given', () => {
    const versionOf = (generation: number | null) =>
      signRecord(written('policyVersions'), { fleet: FLEET, key: operator, generation });
    const { ce_fleetgcgeneration: _, ...without } = versionOf(5).headers;
    const taken = { ...versionOf(5), headers: without };
    const given = { ...versionOf(null), headers: { ...versionOf(null).headers, ce_fleetgcgeneration: '0' } };
    for (const forged of [taken, given])
      expect(trust.authenticate('policyVersions', onLog(forged))).toMatchObject({
        ok: false,
        distrust: { cause: 'bad-signature' },
      });
    expect(trust.authenticate('policyVersions', onLog(versionOf(null)))).toMatchObject({ ok: true });
  });

  test('is of the future from a day on', () => {
    expect(isOfTheFuture(SIGNED_AT_MS + DAY_MS, { timestampMs: SIGNED_AT_MS })).toBe(false);
    expect(isOfTheFuture(SIGNED_AT_MS + DAY_MS + 1, { timestampMs: SIGNED_AT_MS })).toBe(true);
  });
});

describe('the generation that a key of the fleet gave to a record', () => {
  test('is told, also of a key that may not sign it', () => {
    expect(provedGeneration(ring, policyOf(5))).toBe(5);
    expect(provedGeneration(ring, policyOf(5, decider))).toBe(5);
  });

  test.each([
    { name: 'names none', record: policyOf(null) },
    { name: 'is not signed', record: onLog(written('policies')) },
    {
      name: 'has a malformed signature',
      record: onLog({ ...written('policies'), headers: { ce_fleetgcgeneration: '5' } }),
    },
    { name: 'is signed by a stranger', record: policyOf(5, stranger) },
    { name: 'was changed', record: { ...policyOf(5), value: Buffer.from('{ }') } },
    { name: 'is a day ahead', record: policyOf(SIGNED_AT_MS + DAY_MS + 1) },
  ])('is none where the record $name', ({ record }) => {
    expect(provedGeneration(ring, record)).toBeNull();
  });
});

describe('what leaves a process', () => {
  const signer = signerOf({ fleet: FLEET, role: 'decider', key: () => decider });

  test('is signed where its role has to', () => {
    const signed = signer.sign('commands', written('commands', 'eu/web-1'));
    expect(trust.authenticate('commands', onLog(signed))).toMatchObject({ ok: true });
    expect(signed.headers).not.toHaveProperty('ce_fleetgcgeneration');
  });

  test.each(['decisions', 'results', 'policies'] as const)(
    'is not on %s, nor by who signs nothing',
    (topic) => {
      expect(signer.sign(topic, written(topic))).toEqual(written(topic));
      expect(UNSIGNED.sign(topic, written(topic))).toEqual(written(topic));
    },
  );

  test('and what needs a signature is known by its topic', () => {
    expect(SIGNED_TOPICS.toSorted()).toEqual(
      (
        [
          'diskStats',
          'inventory',
          'observe',
          'commands',
          'results',
          'clusterOwnership',
          'clusterPods',
          'clusterExpiry',
          'clusterCommands',
          'clusterRemoved',
          'clusterResults',
          'clusterCensus',
          'latestFacts',
          'policies',
          'policyVersions',
          'keys',
          'heads',
        ] as const
      )
        .map((topic) => TOPICS[topic].name)
        .toSorted(),
    );
  });
});

test.each<{ topic: TopicId; clusters: string[]; nodes: string[]; at: string | null; says: string | null }>([
  { topic: 'commands', clusters: [], nodes: [], at: null, says: null },
  { topic: 'policies', clusters: ['eu'], nodes: [], at: 'web', says: null },
  { topic: 'commands', clusters: ['eu', 'us'], nodes: [], at: 'us/web-1', says: null },
  {
    topic: 'commands',
    clusters: ['eu', 'us'],
    nodes: [],
    at: null,
    says: 'is for the clusters eu, us alone',
  },
  {
    topic: 'commands',
    clusters: ['eu', 'us'],
    nodes: [],
    at: 'asia/web-1',
    says: 'is for the clusters eu, us alone',
  },
  { topic: 'commands', clusters: ['eu'], nodes: ['a', 'b'], at: 'eu/b', says: null },
  { topic: 'commands', clusters: ['eu'], nodes: ['a', 'b'], at: 'eu/c', says: 'is for the nodes a, b alone' },
])(
  'a key for $clusters and $nodes speaks on $topic for $at: $says',
  ({ topic, clusters, nodes, at, says }) => {
    expect(objectionToSubject(topic, { clusters, nodes }, at)).toBe(says);
  },
);

describe('what an operator puts into force', () => {
  const signing = { fleet: FLEET, key: operator, trust, nowMs: SIGNED_AT_MS };
  const both = { state: written('policies'), version: written('policyVersions') };

  test('is signed on both topics with one generation, higher than all before', () => {
    for (const [seen, generation] of [
      [undefined, SIGNED_AT_MS],
      [SIGNED_AT_MS - 1, SIGNED_AT_MS],
      [SIGNED_AT_MS + 5, SIGNED_AT_MS + 6],
    ] as const) {
      const highest = new Map(seen === undefined ? [] : [['web', seen]]);
      const { state, version, principal } = new KeySigner({ ...signing, highest }).sign(both);
      expect(principal).toMatchObject({ kind: 'key', keyId: operator.keyId, generation });
      expect(trust.authenticate('policies', onLog(state))).toMatchObject({ ok: true });
      expect(trust.authenticate('policyVersions', onLog(version))).toMatchObject({
        principal: { generation },
      });
    }
  });

  test('is not written where nobody would believe it', () => {
    const highest = new Map<string, number>();
    expect(() => new KeySigner({ ...signing, key: stranger, highest }).sign(both)).toThrow(
      expect.objectContaining({
        code: 'KEY_UNUSABLE',
        message: expect.stringMatching(/no root vouches for .*Nothing was written$/),
      }),
    );
  });

  test.each([
    { name: 'of the highest generation', record: policyOf(5), counts: true },
    { name: 'of a higher one', record: policyOf(6), counts: true },
    { name: 'of a lower one', record: policyOf(4), counts: false },
    { name: 'that nobody signed', record: onLog(written('policies')), counts: false },
    {
      name: 'of a name not seen before',
      record: onLog(signRecord(written('policies', 'new'), { fleet: FLEET, key: operator, generation: 1 })),
      counts: true,
    },
  ])('what lies there $name counts: $counts', ({ record, counts }) => {
    expect(new KeySigner({ ...signing, highest: new Map([['web', 5]]) }).counts(record)).toBe(counts);
  });

  test('needs no signature where nobody asks for one', () => {
    expect(UNSIGNED_STATE.sign(both)).toEqual({ ...both, principal: NOBODY_PROVED });
    expect(UNSIGNED_STATE.counts(policyOf(null, stranger))).toBe(true);
  });
});

describe('where signatures are not required yet', () => {
  test('everything counts, and what would not is told', () => {
    const told: unknown[] = [];
    const warning = new WarningTrust(trust, (topic, { cause }, key) => told.push([topic, cause, key]));
    expect(warning.authenticate('policies', policyOf(5))).toMatchObject({ principal: { role: 'operator' } });
    expect(told).toEqual([]);
    expect(warning.authenticate('policies', onLog(written('policies')))).toEqual({
      ok: true,
      principal: NOBODY_PROVED,
    });
    expect(told).toEqual([['policies', 'unsigned', 'web']]);
    expect(warning.objectionTo()).toBeNull();
  });

  test('nobody waits for keys', () => {
    const unread = new RequiredTrust({ ring: () => ring, problem: () => 'not read yet', nowMs: () => 0 });
    const told: unknown[] = [];
    const warning = new WarningTrust(unread, (_, distrust) => told.push(distrust));
    expect(warning.authenticate('policies', policyOf(5)).ok).toBe(true);
    expect(told).toEqual([{ cause: 'untrusted-key', reason: 'keys-unreadable', message: 'not read yet' }]);
  });
});

test('an order counts later only while its key does', () => {
  expect(trust.objectionTo('commands', decider.keyId, 'eu/web-1')).toBeNull();
  expect(trust.objectionTo('decisions', null, 'eu/web-1')).toBeNull();
  expect(trust.objectionTo('commands', null, 'eu/web-1')).toBe('it carries no signature');
  expect(trust.objectionTo('commands', stranger.keyId, 'eu/web-1')).toBe(
    `no root vouches for its key ${stranger.keyId}`,
  );
  expect(trust.objectionTo('commands', operator.keyId, 'eu/web-1')).toMatch(
    /is that of a operator, who may not sign/,
  );
});

test.each([
  { role: 'node', key: 'diskStats prod/web-1', counts: true },
  { role: 'node', key: 'diskStats other/web-1', counts: false },
  { role: 'node', key: 'clusterCensus prod', counts: false },
  { role: 'cluster', key: 'clusterCensus prod', counts: true },
  { role: 'cluster', key: 'diskStats prod/web-1', counts: false },
  { role: 'node', key: 'inventory prod/web-1', counts: false },
  { role: 'decider', key: 'diskStats prod/web-1', counts: false },
] as const)('a key of role $role may say where the fact $key lies: $counts', ({ role, key, counts }) => {
  const own = newKey();
  const keys = new KeyRing(rootsOf(root));
  keys.add(certified(root, own, { role, clusters: ['prod'] }));
  const judge = new RequiredTrust({ ring: () => keys, problem: () => null, nowMs: () => SIGNED_AT_MS });
  const record = signRecord(written('latestFacts', key), { fleet: FLEET, key: own, generation: null });
  expect(judge.authenticate('latestFacts', onLog(record)).ok).toBe(counts);
});
