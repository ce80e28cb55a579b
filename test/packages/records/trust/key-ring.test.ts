import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { signRecord, VerifiedSignatures } from '../../../../packages/records/trust/signature.ts';
import { revocation } from '../../../../packages/records/trust/statement.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import {
  certified,
  FLEET,
  newKey,
  onLog,
  revoked,
  rootsOf,
  SIGNED_AT_MS,
  stated,
} from '../../../fixtures/trust.ts';

const [root, successor, other, key] = [newKey(), newKey(), newKey(), newKey()];
const DAY_MS = 86_400_000;

function ringOf(...records: readonly LogRecord[]): KeyRing {
  const ring = new KeyRing(rootsOf(root));
  for (const record of records) ring.add(record);
  return ring;
}

test('a root of the file certifies a key', () => {
  const ring = ringOf(certified(root, key, { role: 'operator', clusters: ['eu'] }));
  expect(ring.find(key.keyId)).toMatchObject({
    keyId: key.keyId,
    publicKey: key.publicKey,
    role: 'operator',
    clusters: ['eu'],
    certifiedBy: root.keyId,
    revocation: null,
  });
  expect(ring.find(other.keyId)).toBeUndefined();
});

test('a root names the nodes that a key speaks for', () => {
  const ring = ringOf(certified(root, key, { role: 'node', clusters: ['eu'], nodes: ['web-1'] }));
  expect(ring.find(key.keyId)).toMatchObject({ role: 'node', clusters: ['eu'], nodes: ['web-1'] });
  const all = ringOf(certified(root, key, { role: 'node', clusters: ['eu'] }));
  expect(all.find(key.keyId)).toMatchObject({ nodes: [] });
});

test.each<{ name: string; record: LogRecord; why: RegExp }>([
  {
    name: 'names nodes for another role',
    record: certified(root, key, { role: 'decider', clusters: ['eu'], nodes: ['web-1'] }),
    why: /nodes can be named for a key of role node/,
  },
  {
    name: 'names nodes of no cluster',
    record: certified(root, key, { role: 'node', nodes: ['web-1'] }),
    why: /only together with their clusters/,
  },
  {
    name: 'names too many',
    record: certified(root, key, {
      role: 'node',
      clusters: ['eu'],
      nodes: Array.from({ length: 1_000 }, (_, index) => `web-${index}`),
    }),
    why: /at most 1000/,
  },
  { name: 'a stranger signed', record: certified(other, key), why: /no root/ },
  {
    name: 'was signed for another fleet',
    record: certified(root, key, {}, { fleet: 'test' }),
    why: /not that of/,
  },
  { name: 'has no generation', record: certified(root, key, {}, { generation: null }), why: /no generation/ },
  {
    name: 'was changed afterwards',
    record: { ...certified(root, key), value: certified(root, other).value },
    why: /not that of/,
  },
  {
    name: 'lies under another key',
    record: { ...certified(root, key), key: other.keyId },
    why: /not that of/,
  },
  { name: 'has no signature', record: { ...certified(root, key), headers: {} }, why: /missing/ },
  {
    name: 'has half a signature',
    record: { ...certified(root, key), headers: { ce_fleetgckeyid: root.keyId } },
    why: /malformed/,
  },
  {
    name: 'is larger than a statement can be',
    record: { ...certified(root, key), value: Buffer.alloc(600_000, 0x20) },
    why: /too large/,
  },
])('a statement counts for nothing that $name', ({ record, why }) => {
  const ring = new KeyRing(rootsOf(root));
  expect(ring.add(record)).toMatchObject({ kind: 'refused', why: expect.stringMatching(why) });
  expect(ring.keys()).toEqual([]);
  expect(ring.generations.size).toBe(0);
});

test('the id of a key follows from the key: nobody certifies one key under the id of another', () => {
  const mixed = certified(root, key);
  const statement = { ...JSON.parse(String(mixed.value)), keyId: other.keyId };
  const record = resigned({ ...mixed, key: other.keyId, value: Buffer.from(JSON.stringify(statement)) });
  expect(new KeyRing(rootsOf(root)).add(record)).toMatchObject({
    kind: 'refused',
    why: expect.stringMatching(/does not follow/),
  });
});

test('of two certificates of a key the one with the higher generation holds, whichever comes last', () => {
  const early = certified(root, key, { role: 'decider' }, { generation: 1 });
  const late = certified(root, key, { role: 'operator' }, { generation: 2 });
  expect(ringOf(early, late).find(key.keyId)?.role).toBe('operator');
  expect(ringOf(late, early).find(key.keyId)?.role).toBe('operator');
  expect(ringOf(late, early).generations).toEqual(new Map([[key.keyId, 2]]));
});

test('a revocation is for good, and comes before or after its certificate', () => {
  const cert = certified(root, key);
  const taken = revoked(root, key);
  for (const records of [
    [cert, taken],
    [taken, cert],
  ])
    expect(ringOf(...records).find(key.keyId)?.revocation?.reason).toBe('lost');
});

test('of two revocations the one that reaches back farther holds', () => {
  const near = revoked(root, key, { untrustedFromMs: SIGNED_AT_MS });
  const far = revoked(root, key, { untrustedFromMs: SIGNED_AT_MS - DAY_MS });
  for (const records of [
    [near, far],
    [far, near],
  ])
    expect(ringOf(certified(root, key), ...records).find(key.keyId)?.revocation?.untrustedFromMs).toBe(
      SIGNED_AT_MS - DAY_MS,
    );
});

test('a successor certifies as its root does, until its certificate ends', () => {
  const asRoot = certified(root, successor, { role: 'root', notAfterMs: SIGNED_AT_MS + DAY_MS });
  const inTime = certified(successor, key, {}, { timestampMs: SIGNED_AT_MS + DAY_MS - 1 });
  const late = certified(successor, key, {}, { timestampMs: SIGNED_AT_MS + DAY_MS });
  expect(ringOf(asRoot, inTime).find(key.keyId)?.certifiedBy).toBe(successor.keyId);
  expect(ringOf(asRoot, late).find(key.keyId)).toBeUndefined();
  expect(ringOf(inTime).find(key.keyId)).toBeUndefined();
});

test('where the log did not say when it took a record, a successor certifies nobody, and takes back all the same', () => {
  const asRoot = certified(root, successor, { role: 'root', notAfterMs: SIGNED_AT_MS + DAY_MS });
  const byWriter = (record: LogRecord): LogRecord => ({ ...record, isDatedByWriter: true });
  const dated = byWriter(certified(successor, key));
  expect(ringOf(asRoot, dated).find(key.keyId)).toBeUndefined();
  expect(new KeyRing(rootsOf(root)).add(dated)).toMatchObject({ kind: 'refused' });
  expect(ringOf(byWriter(certified(root, key))).find(key.keyId)).toBeDefined();
  const back = byWriter(revoked(successor, key));
  expect(ringOf(asRoot, certified(root, key), back).isRevoked(key.keyId)).toBe(true);
});

test('a key that is no root certifies nobody', () => {
  const ring = ringOf(certified(root, other, { role: 'operator' }), certified(other, key));
  expect(ring.find(key.keyId)).toBeUndefined();
});

test('the same statement again changes nothing, however often it comes', () => {
  const ring = ringOf();
  const statement = certified(root, key);
  expect(ring.add(statement).kind).toBe('changed');
  expect(ring.add({ ...statement, offset: statement.offset + 1n }).kind).toBe('repeated');
});

test('what bears the signature of another statement is no repetition of it: it says nothing', () => {
  const statement = certified(root, key);
  const ring = ringOf(statement);
  const taken = revoked(root, key);
  for (const forged of [
    { ...taken, headers: { ...taken.headers, ce_fleetgcsignature: signatureOf(statement) } },
    { ...statement, value: Buffer.from('{}') },
    { ...statement, key: other.keyId },
    { ...statement, headers: { ...statement.headers, ce_fleetgcgeneration: String(SIGNED_AT_MS + 1) } },
  ])
    expect(ring.add(forged)).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('its signature is not that of'),
    });
});

test('what was said before its root was revoked may come again: it is no other statement', () => {
  const statement = certified(root, key);
  const ring = new KeyRing(rootsOf(root, successor));
  for (const record of [statement, revoked(successor, root)]) ring.add(record);
  expect(ring.add(statement).kind).toBe('repeated');
});

const signatureOf = ({ headers }: LogRecord): string => headers.ce_fleetgcsignature ?? '';

test('a generation far ahead of its time is refused: it would leave no room for a revocation', () => {
  const statement = certified(root, key, {}, { generation: Number.MAX_SAFE_INTEGER });
  expect(ringOf().add(statement)).toMatchObject({
    kind: 'refused',
    why: expect.stringContaining('a day ahead'),
  });
});

test('a root that was revoked says nothing any more, nor do those that it makes roots then', () => {
  const ring = new KeyRing(rootsOf(root, successor));
  ring.add(certified(root, key));
  ring.add(revoked(successor, root));
  expect(ring.add(revoked(root, successor)).kind).toBe('refused');
  expect(ring.add(certified(root, other, { role: 'root' })).kind).toBe('refused');
  expect(ring.isRoot(successor.keyId)).toBe(true);
});

test('a successor does not extend itself, and a later certificate may end it', () => {
  const asRoot = certified(root, successor, { role: 'root', notAfterMs: SIGNED_AT_MS + DAY_MS });
  const extended = certified(successor, successor, { role: 'root' }, { generation: SIGNED_AT_MS + 1 });
  const late = certified(successor, key, {}, { timestampMs: SIGNED_AT_MS + 2 * DAY_MS });
  expect(ringOf(asRoot, extended, late).find(key.keyId)).toBeUndefined();
  const narrowed = certified(root, successor, { role: 'decider' }, { generation: SIGNED_AT_MS + 1 });
  expect(ringOf(asRoot, narrowed).isRoot(successor.keyId)).toBe(false);
});

test('many roots that certify each other cost no more than their number', () => {
  const roots = Array.from({ length: 9 }, newKey);
  const ring = ringOf(...roots.map((each) => certified(root, each, { role: 'root' })));
  for (const by of roots)
    for (const of of roots) ring.add(certified(by, of, { role: 'root' }, { generation: SIGNED_AT_MS - 1 }));
  ring.add(certified(root, key));
  expect(ring.find(key.keyId)).toBeDefined();
});

test('what a revoked root alone vouched for is vouched for no more; what it took back stays taken back', () => {
  const ring = ringOf(
    certified(root, successor, { role: 'root' }),
    certified(root, key),
    certified(successor, other),
    revoked(root, other),
    revoked(successor, root),
  );
  expect(ring.find(key.keyId)).toBeUndefined();
  expect(ring.isRoot(root.keyId)).toBe(false);
  // The successor was made one by the revoked root alone.
  expect(ring.isRoot(successor.keyId)).toBe(false);
  expect(ring.isRevoked(other.keyId)).toBe(true);
});

test('with both roots in the file, the successor goes on after the first was revoked', () => {
  const ring = new KeyRing(rootsOf(root, successor));
  for (const record of [certified(root, key), certified(successor, key), revoked(successor, root)])
    ring.add(record);
  expect(ring.find(key.keyId)?.certifiedBy).toBe(successor.keyId);
});

test('roots that certify each other in a ring vouch for nothing', () => {
  const ring = ringOf(
    certified(root, successor, { role: 'root' }),
    certified(successor, other, { role: 'root' }),
    certified(other, successor, { role: 'root' }),
    certified(other, key),
    revoked(successor, root),
  );
  expect(ring.find(key.keyId)).toBeUndefined();
});

test('whatever order statements and garbage come in, no key is believed that no root certified, and none that was revoked', () => {
  const certificate = certified(root, key);
  const revocation = revoked(root, key);
  const statements = [
    certificate,
    certified(other, key, { role: 'operator' }),
    certified(key, other, { role: 'root' }),
    revocation,
    revoked(other, root),
    onLog({ topic: 'gc.keys', key: key.keyId, value: Buffer.from('{}'), headers: {} }),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(statements), (records) => {
      const ring = ringOf(...records);
      expect(ring.find(other.keyId)).toBeUndefined();
      expect(ring.isRoot(root.keyId)).toBe(true);
      const found = ring.find(key.keyId);
      expect(found === undefined).toBe(!records.includes(certificate));
      if (found) expect(found.revocation !== null).toBe(records.includes(revocation));
    }),
  );
});

test.each([
  { name: 'has no value', over: { value: null }, why: /^it is no statement about a key/ },
  { name: 'is no JSON', over: { value: Buffer.from('{') }, why: /not JSON/ },
  {
    name: 'lies under the id of another key',
    over: { key: other.keyId },
    why: /^its record key is not the id/,
  },
])('a root says nothing by what $name', ({ over, why }) => {
  expect(ringOf().add(resigned({ ...certified(root, key), ...over }))).toMatchObject({
    kind: 'refused',
    why: expect.stringMatching(why),
  });
});

test('a statement may be as large as its topic allows', () => {
  const bytes = TOPICS.keys.bounds.bytes;
  const padded = (length: number): LogRecord => {
    const statement = certified(root, key);
    return resigned({ ...statement, value: Buffer.from(String(statement.value).padEnd(length)) });
  };
  expect(ringOf().add(padded(bytes)).kind).toBe('changed');
  expect(ringOf().add(padded(bytes + 1))).toMatchObject({ why: 'it is too large for a statement' });
});

test('the newest statement was made when its root says, but not after the log took it', () => {
  const at = (issuedAtMs: number, timestampMs: number): number =>
    ringOf(certified(root, key, { issuedAtMs }, { timestampMs })).latestStatementMs;
  expect(at(SIGNED_AT_MS - 5, SIGNED_AT_MS)).toBe(SIGNED_AT_MS - 5);
  expect(at(SIGNED_AT_MS + 5, SIGNED_AT_MS)).toBe(SIGNED_AT_MS);
  expect(ringOf().latestStatementMs).toBe(0);
});

test('keys of a root that was taken back are none of those that are vouched for', () => {
  const ring = new KeyRing(rootsOf(root, successor));
  for (const record of [certified(root, key), certified(successor, other), revoked(successor, root)])
    ring.add(record);
  expect(ring.keys().map(({ keyId }) => keyId)).toEqual([other.keyId]);
});

test('a key that never was a root is none, and not one that is none any more', () => {
  const ring = ringOf(certified(root, other, { role: 'operator' }));
  expect(ring.add(certified(other, key))).toMatchObject({
    why: `${other.keyId}, which signed it, is no root`,
  });
});

test('a successor that certifies itself stays what it was', () => {
  const asRoot = certified(root, successor, { role: 'root', notAfterMs: SIGNED_AT_MS + DAY_MS });
  const extended = certified(successor, successor, { role: 'root' }, { generation: SIGNED_AT_MS + 1 });
  const ring = ringOf(asRoot, extended);
  expect(ring.isRoot(successor.keyId)).toBe(true);
  expect(ring.generations).toEqual(new Map([[successor.keyId, SIGNED_AT_MS]]));
});

test('a successor whom a root alone made one that was taken back is none, whoever else is a root', () => {
  const ring = new KeyRing(rootsOf(root, successor));
  for (const record of [certified(root, other, { role: 'root' }), revoked(successor, root)]) ring.add(record);
  expect(ring.isRoot(other.keyId)).toBe(false);
});

test('of two revocations that reach back equally far the first holds', () => {
  const said = { keyId: key.keyId, issuedAtMs: SIGNED_AT_MS, untrustedFromMs: SIGNED_AT_MS };
  const ring = ringOf(
    certified(root, key),
    stated(root, revocation({ ...said, reason: 'first' })),
    stated(root, revocation({ ...said, reason: 'second' })),
  );
  expect(ring.find(key.keyId)?.revocation?.reason).toBe('first');
});

/** Signed by the root over what it says now. */
function resigned({ topic, key: recordKey, value, headers, ...rest }: LogRecord): LogRecord {
  return {
    ...rest,
    ...signRecord(
      { topic, key: recordKey ?? '', value, headers },
      { fleet: FLEET, key: root, generation: 1 },
    ),
  };
}

test('a signature that was verified in an earlier pass proves the same bytes in the same place, and no others', () => {
  const verified = new VerifiedSignatures();
  const [statement, another] = [certified(root, key), certified(root, other)];
  const pass = () => new KeyRing(rootsOf(root), verified);
  expect(pass().add(statement)).toEqual({ kind: 'changed' });
  expect(pass().add(statement)).toEqual({ kind: 'changed' });
  expect(pass().add({ ...another, headers: statement.headers })).toMatchObject({ kind: 'refused' });
  expect(pass().add({ ...statement, value: another.value })).toMatchObject({ kind: 'refused' });
  expect(pass().add({ ...statement, key: other.keyId })).toMatchObject({ kind: 'refused' });
  expect(new KeyRing(rootsOf(other), verified).add(statement)).toMatchObject({ kind: 'refused' });
});
