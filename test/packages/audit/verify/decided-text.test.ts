import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FrozenDecider, findDecider } from '../../../../packages/audit/deciders/deciders.ts';
import { onDecisions } from '../../../../packages/audit/events/recorded-decision.ts';
import { readPolicyHistory } from '../../../../packages/audit/policies/policy-history.ts';
import { decideAgain, provedByText } from '../../../../packages/audit/verify/decisions.ts';
import { Inputs } from '../../../../packages/audit/verify/inputs.ts';
import { canonicalJson, sha256Hex } from '../../../../packages/canonical/ids.ts';
import { imageGcHandler } from '../../../../packages/deciders/image-gc/decider.ts';
import { policySet, policySetRecord } from '../../../../packages/decision/policy-set.ts';
import { decisionId } from '../../../../packages/decision/record.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR } from '../../../fixtures/time.ts';
import { onLog, outgoing } from '../../../support/logs/log-record.ts';
import { runs } from '../../../support/property-runs.ts';
import { logOf } from '../support/archives.ts';
import { DECIDED_AFTER_MS, look } from './decision-support.ts';
import { ALL, findings } from './support.ts';

const running = new AbortController().signal;
const POLICY = appliedPolicy({ imageMaximumGCAgeMs: HOUR });
const SET = policySet('node', [POLICY], []);
const images = [image('a'), image('b')];
const MESSAGE = look(5, { images, reclaim: reclaim() });
const position = {
  topic: MESSAGE.topic,
  partition: MESSAGE.partition,
  offset: String(MESSAGE.offset),
  sha256: sha256Hex(MESSAGE.value ?? ''),
};
const event = inventory({ id: 'look-5', images, reclaim: reclaim() });
const [[given] = []] = imageGcHandler(() => SET)({ event, position });
if (given === undefined) throw new Error('nothing was decided');
const RECORD: LogRecord = {
  ...onLog(outgoing(given)),
  partition: MESSAGE.partition,
  timestampMs: MESSAGE.timestampMs + DECIDED_AFTER_MS,
};
const TEXT = String(RECORD.value);

const history = [
  { topic: 'policyVersions', key: POLICY.hash, event: POLICY },
  { topic: 'policyVersions', key: SET.hash, event: policySetRecord(SET) },
] as const;

async function parts(messages: readonly LogRecord[] = [MESSAGE]) {
  const { collector, counts, deviations, gaps } = findings();
  const log = logOf([
    ...messages,
    ...history.map((output, at) => ({ ...onLog(outgoing(output)), offset: BigInt(at) })),
  ]);
  const deciding = {
    ...ALL,
    deletes: true,
    policies: await readPolicyHistory(log, running),
    inForce: { problemOf: () => null },
    findDecider,
    inputs: new Inputs(log, 0, { signal: running }),
    findings: collector,
  };
  return { deciding, told: () => ({ ...counts, deviations: deviations(), gaps: gaps() }) };
}

const proved = async (record: LogRecord) => await provedByText(record, (await parts()).deciding);
const withText = (text: string | Buffer): LogRecord => ({ ...RECORD, value: Buffer.from(text) });

/** What who parses the record comes to. */
async function readWhole(record: LogRecord) {
  const read = onDecisions(record, JSON.parse(String(record.value)));
  if (!read.ok || read.event.kind !== 'decision') return null;
  const { deciding, told } = await parts();
  const again = await decideAgain(read.event.decision, deciding);
  return { decision: read.event.decision, again, ...told() };
}

test('what its decider writes again is known without being parsed, as if it had been', async () => {
  const { deciding, told } = await parts();
  const nothing = told();
  const found = await provedByText(RECORD, deciding);
  const { decision, again, verified, deviations } = (await readWhole(RECORD)) ?? {};

  expect(found).toEqual({ decision, again });
  expect(found?.decision.value).toEqual(JSON.parse(TEXT));
  expect({ verified, deviations }).toEqual({ verified: 1, deviations: [] });
  // Who takes it counts it.
  expect(told()).toEqual(nothing);
});

test('one byte that is another, is more or is missing is no proof', async () => {
  const bytes = Buffer.from(TEXT);
  const change = fc.record({
    at: fc.nat(bytes.length - 1),
    byte: fc.nat(255),
    removed: fc.nat(1),
    added: fc.nat(1),
  });
  await fc.assert(
    fc.asyncProperty(change, async ({ at, byte, removed, added }) => {
      const tail = bytes.subarray(at + removed);
      const changed = Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]).subarray(0, added), tail]);
      fc.pre(!changed.equals(bytes));
      expect(await proved(withText(changed))).toBeNull();
    }),
    runs(400),
  );
});

const reversed = (text: string): string =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).toReversed()));

test.each([
  ['with its members in another order', reversed],
  ['with white space', (text: string) => JSON.stringify(JSON.parse(text), null, 1)],
  [
    'with a number that is written otherwise',
    (text: string) => text.replace(/"version":1}$/, '"version":1.0}'),
  ],
  ['with a character as an escape', (text: string) => text.replace('"image-gc"', '"\\u0069mage-gc"')],
])('an equal record %s is no proof by its text, and verified once it is parsed', async (_name, rewrite) => {
  const record = withText(rewrite(TEXT));
  expect(JSON.parse(String(record.value))).toEqual(JSON.parse(TEXT));
  expect(String(record.value)).not.toBe(TEXT);

  expect(await proved(record)).toBeNull();
  expect(await readWhole(record)).toMatchObject({ verified: 1, deviations: [] });
});

test.each([
  ['a member more', (text: string) => text.replace(/"version":1}$/, '"version":1,"x":0}')],
  ['another number', (text: string) => text.replace(/"estimatedBytes":\d+/, '"estimatedBytes":7')],
  ['another rule', (text: string) => text.replace(/"rule":"[A-Z]\d+"/, '"rule":"Z1"')],
])('a record with %s is told once it is parsed', async (_name, rewrite) => {
  const record = withText(rewrite(TEXT));
  expect(String(record.value)).not.toBe(TEXT);

  expect(await proved(record)).toBeNull();
  expect(await readWhole(record)).toMatchObject({
    verified: 0,
    deviations: [expect.stringContaining('decided-differently')],
  });
});

test.each<[string, LogRecord]>([
  ['under the key of another node', { ...RECORD, key: 'prod/web-2' }],
  [
    'with headers that name another event',
    { ...RECORD, headers: { ...RECORD.headers, ce_id: 'decision-1' } },
  ],
  ['without a value', { ...RECORD, value: null }],
])('a record %s is no proof', async (_name, record) => {
  expect(await proved(record)).toBeNull();
});

test('nothing is proved without what was decided on', async () => {
  for (const messages of [[], [look(5, { images: [image('c')] })]])
    expect(await provedByText(RECORD, (await parts(messages)).deciding)).toBeNull();
});

test('nothing is proved by other bytes that would be decided on alike', async () => {
  const spaced = { ...MESSAGE, value: Buffer.from(`${MESSAGE.value} `) };
  expect(await provedByText(RECORD, (await parts([spaced])).deciding)).toBeNull();
});

/** A record that says something else, by a decider that writes just that, under the id that follows from it or another. */
async function provedAs(said: object, id?: string) {
  const { deciding } = await parts();
  const given = await findDecider('image-gc', '1');
  if (given === null) throw new Error('the decider is there');
  const event = { ...JSON.parse(TEXT), ...said };
  const { decider, input, policySetHash } = event;
  const following = decisionId({
    decider,
    input: { event: { id: input.id }, position: { sha256: input.sha256 } },
    policies: { hash: policySetHash },
    overtakenBy: undefined,
  });
  const named = { ...event, id: id ?? following };
  const text = canonicalJson(named);
  const record = { ...withText(text), headers: { ...RECORD.headers, ce_id: named.id } };
  const asked: string[] = [];
  const proved = await provedByText(record, {
    ...deciding,
    findDecider: async (...names) => {
      asked.push(names.join(' '));
      return { ...given, decide: () => [{ event: named, text }] };
    },
  });
  return { isProved: proved !== null, asked };
}

test.each<[string, object, string]>([
  ['as it is', {}, 'image-gc 1'],
  ['of a version with more digits', { decider: { name: 'image-gc', version: '12' } }, 'image-gc 12'],
  ['that is long', { reason: 'x'.repeat(100_000) }, 'image-gc 1'],
  ['that is longer', { reason: 'x'.repeat(300_000) }, 'image-gc 1'],
  ['with characters of several bytes', { reason: 'é€😀'.repeat(20) }, 'image-gc 1'],
])('a record %s is known by its text', async (_name, said, decider) => {
  expect(await provedAs(said)).toEqual({ isProved: true, asked: [decider] });
});

test('a record under an id that does not follow from it is no proof, though its decider writes it', async () => {
  expect(await provedAs({}, 'decision-1')).toMatchObject({ isProved: false });
});

test.each<[string, (text: string) => string]>([
  ['no decider', (text) => text.replace('"decider":', '"by":')],
  ['no input', (text) => text.replace('"input":', '"message":')],
  ['no set of policies', (text) => text.replace('"policySetHash":', '"policies":')],
  ['that it was overtaken', (text) => text.replace(/"outcome":"[a-z-]+"/, '"outcome":"overtaken"')],
])('of a record that names %s nobody asks a decider', async (_name, rewrite) => {
  const { deciding } = await parts();
  const record = withText(rewrite(TEXT));
  expect(String(record.value)).not.toBe(TEXT);
  let asked = 0;
  const counting = async (name: string, version: string) => {
    asked += 1;
    return await findDecider(name, version);
  };
  expect(await provedByText(record, { ...deciding, findDecider: counting })).toBeNull();
  expect(asked).toBe(0);
});

test.each<[string, () => ReturnType<FrozenDecider['decide']>]>([
  [
    'refuses what it once decided on',
    () => {
      throw new Error('it reads no such message');
    },
  ],
  ['gives nothing', () => []],
  [
    'gives a record under an id that does not follow from it',
    () => [{ event: { ...JSON.parse(TEXT), id: 'another' }, text: TEXT }],
  ],
])('nothing is proved by a decider that %s', async (_name, decide) => {
  const { deciding } = await parts();
  const given = await findDecider('image-gc', '1');
  if (given === null) throw new Error('the decider is there');
  expect(
    await provedByText(RECORD, { ...deciding, findDecider: async () => ({ ...given, decide }) }),
  ).toBeNull();
});
