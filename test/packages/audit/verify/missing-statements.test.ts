import { describe, expect, test } from 'vitest';
import { MOST_SAID, SaidStatements, verifyHeads } from '../../../../packages/audit/verify/heads.ts';
import { verifySignatures } from '../../../../packages/audit/verify/signatures.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { certified, FLEET, newKey, onLog, revoked, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { growingLog, logOf } from '../support/archives.ts';

const DAY_MS = 86_400_000;
const [root, decider, operator] = [newKey(), newKey(), newKey()];
const LATER_MS = SIGNED_AT_MS + DAY_MS;
const SAID = [
  certified(root, decider),
  certified(root, operator, { role: 'operator' }),
  certified(root, operator, { role: 'operator', issuedAtMs: LATER_MS }),
  revoked(root, operator, { issuedAtMs: LATER_MS }),
];

const NEEDS = { lines: null, living: null, roots: rootsOf(root), areRequired: false, comparedFromMs: 0 };

/** Of a decider that has read all of them, as it lies first on its topic. */
const head = (offset = 0n, key = decider, also: Readonly<Record<string, number>> = {}): LogRecord => {
  const event = {
    type: 'fleetgc.decision-head',
    version: 1,
    id: 'head-1',
    chain: 'a',
    decider: 'pressure',
    statements: {
      [decider.keyId]: SIGNED_AT_MS,
      [operator.keyId]: LATER_MS,
      [`revoked ${operator.keyId}`]: LATER_MS,
      ...also,
    },
    ranges: [
      { partition: 0, first: 0, records: 1, sha256: 'a'.repeat(64), firstAtMs: LATER_MS, lastAtMs: LATER_MS },
    ],
  } as const;
  const record = outgoing({ topic: 'heads', key: 'a', event: { ...event, ranges: [...event.ranges] } });
  const signed = signRecord(record, { fleet: FLEET, key, generation: null });
  return { ...onLog(signed, LATER_MS), offset };
};

/** What `verify` says where these statements are left, as they lie on a topic from its first offset. */
async function told(statements: readonly LogRecord[], renumber = true): Promise<readonly string[]> {
  const keys = statements.map((record) => ({
    ...record,
    offset: BigInt(renumber ? statements.indexOf(record) : SAID.indexOf(record)),
  }));
  return await toldOf([...keys, head()]);
}

async function toldOf(records: readonly LogRecord[]): Promise<readonly string[]> {
  const { found } = await verifyHeads({ ...NEEDS, log: logOf(records) }, new AbortController().signal);
  return found.deviations.first.map(({ kind, message }) => `${kind}: ${message}`);
}

test('where all statements are there, also in another order, none is missing', async () => {
  expect(await told(SAID)).toEqual([]);
  const [first, ...others] = SAID;
  expect(await told([...others.toReversed(), ...(first ? [first] : [])])).toEqual([]);
});

test('a revocation in whose place lies what bears another statement’s signature is told of', async () => {
  const [certificate, , , taken] = SAID;
  if (certificate === undefined || taken === undefined) throw new Error('there are four');
  const forged = {
    ...taken,
    headers: { ...taken.headers, ce_fleetgcsignature: certificate.headers.ce_fleetgcsignature ?? '' },
  };
  const records = [...SAID.slice(0, 3), forged].map((record, at) => ({ ...record, offset: BigInt(at) }));
  const range = { fromMs: LATER_MS + DAY_MS, toMs: null };
  const question = { roots: rootsOf(root), range, facts: 'off' } as const;
  const { found } = await verifySignatures(logOf(records), question, new AbortController().signal);
  expect(found.deviations.first).toMatchObject([
    { kind: 'not-trusted', message: expect.stringContaining('gc.keys, offset 3') },
  ]);
});

test.each([
  { gone: 1, says: [] },
  { gone: 2, says: [/^statement-missing: the certificate of .* newest has generation/] },
  { gone: 3, says: [/^statement-missing: the revocation of/] },
])('a topic that was made anew without statement $gone', async ({ gone, says }) => {
  expect(await told(SAID.toSpliced(gone, 1))).toEqual(says.map((text) => expect.stringMatching(text)));
});

describe('a stolen key of a decider', () => {
  const keys = SAID.map((record, offset) => ({ ...record, offset: BigInt(offset) }));
  const invented = '0123456789abcdef'.repeat(2);

  test('can say what was never there, until it is revoked for that time', async () => {
    const forged = head(0n, decider, { [invented]: LATER_MS });
    const [told = '', ...others] = await toldOf([...keys, forged]);
    expect(told).toContain(`the certificate of ${invented}`);
    // So that whoever made no such statement knows which key lies.
    expect(told).toContain(`a head that ${decider.keyId} signed`);
    expect(others).toEqual([]);
    const back = { issuedAtMs: LATER_MS + DAY_MS, untrustedFromMs: LATER_MS };
    const taken = { ...revoked(root, decider, back), offset: 4n };
    expect(await toldOf([...keys, taken, forged])).toEqual([]);
  });

  test('cannot say what could not be there', async () => {
    const forged = head(0n, decider, { [operator.keyId]: LATER_MS + 2 * DAY_MS });
    const records = [...keys, forged];
    expect(await toldOf(records)).toEqual([]);
    const whole = { roots: rootsOf(root), range: { fromMs: null, toMs: null }, facts: 'off' } as const;
    const { found } = await verifySignatures(logOf(records), whole, new AbortController().signal);
    expect(found.deviations.first).toMatchObject([
      { kind: 'not-trusted', message: expect.stringContaining('a generation that is a day ahead') },
    ]);
  });

  test('cannot fill the memory of whoever verifies', () => {
    const said = new SaidStatements(new Map([[operator.keyId, 5]]));
    const record = head();
    const parsed = parseRecord('heads', record);
    if (!parsed.ok || parsed.event.type !== 'fleetgc.decision-head') throw new Error('it is no head');
    for (let index = 0; index < MOST_SAID + 5; index += 1) {
      const statements = { [String(index).padStart(32, '0')]: 1, [operator.keyId]: 5 };
      said.take({ event: { ...parsed.event, statements }, record });
    }
    expect(said.lacking()).toHaveLength(MOST_SAID);
    expect(said.isCut).toBe(true);
  });
});

test('of keys by a root that the file of roots lacks none is called missing, however many they are', async () => {
  const other = newKey();
  const many = Array.from({ length: 1_100 }, (_, index) => {
    const key = { ...newKey() };
    return { ...certified(other, key), offset: BigInt(SAID.length + index) };
  });
  const keys = SAID.map((record, offset) => ({ ...record, offset: BigInt(offset) }));
  const also = Object.fromEntries(many.map(({ key }) => [key, SIGNED_AT_MS]));
  expect(await toldOf([...keys, ...many, head(0n, decider, also)])).toEqual([]);
});

test('what is said while it verifies is not called missing', async () => {
  const keys = SAID.map((record, offset) => ({ ...record, offset: BigInt(offset) }));
  const late = newKey();
  const then = [{ ...certified(root, late), offset: 4n }, head(0n, late, { [late.keyId]: SIGNED_AT_MS })];
  for (const topic of [TOPICS.keys.name, TOPICS.heads.name]) {
    const log = growingLog(keys, { topic, then });
    const { found } = await verifyHeads({ ...NEEDS, log }, new AbortController().signal);
    expect(found.deviations.first).toEqual([]);
  }
});

test('an offset that is missing at the beginning or in the middle is told', async () => {
  for (const gone of [1, 2]) {
    const [first = ''] = await told(SAID.toSpliced(gone, 1), false);
    expect(first).toMatch(/^statement-missing: 1 record of gc\.keys before this one is not there/);
  }
  expect(TOPICS.keys).toMatchObject({ compacted: false, retentionMs: 'forever' });
});

test('a head that is missing at the beginning or in the middle is told', async () => {
  const keys = SAID.map((record, offset) => ({ ...record, offset: BigInt(offset) }));
  const offsets = (...all: readonly bigint[]): LogRecord[] => [...keys, ...all.map((offset) => head(offset))];
  expect(await toldOf(offsets(0n, 1n, 2n))).toEqual([]);
  for (const left of [offsets(1n, 2n), offsets(0n, 2n)])
    expect(await toldOf(left)).toEqual([
      expect.stringMatching(/^head-missing: 1 record of gc\.heads before this one is not there/),
    ]);
  expect(TOPICS.heads).toMatchObject({ compacted: false, retentionMs: 'forever' });
});

test('a head that was dated back, so that what it names would not be compared, is told', async () => {
  const keys = SAID.map((record, offset) => ({ ...record, offset: BigInt(offset) }));
  const told = async (timestampMs: number, comparedFromMs: number) => {
    const log = logOf([...keys, { ...head(), timestampMs }]);
    const { found } = await verifyHeads({ ...NEEDS, log, comparedFromMs }, new AbortController().signal);
    return found.unverified.first.map(({ kind }) => kind);
  };
  // It names what was written at LATER_MS.
  expect(await told(SIGNED_AT_MS + 1, LATER_MS - DAY_MS / 2)).toEqual(['head-out-of-time']);
  expect(await told(LATER_MS, LATER_MS - DAY_MS / 2)).toEqual([]);
  expect(await told(SIGNED_AT_MS + 1, LATER_MS)).toEqual([]);
});
