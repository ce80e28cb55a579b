import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import {
  exportDocument,
  policyDocumentText,
  readPolicyDocument,
} from '../../../../packages/policy/policy-document.ts';
import { keyOf } from '../../../../packages/records/parse/record-key.ts';
import type { SigningKey } from '../../../../packages/records/trust/key-pair.ts';
import type { TrustChoice } from '../../../../packages/records/trust/process-trust.ts';
import { SeenGenerations } from '../../../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { PolicyTopicRecord } from '../../../../schemas/policy/policy.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { pauseRecord } from '../../../fixtures/policy.ts';
import {
  certified,
  FLEET,
  newKey,
  onLog,
  revoked,
  rootsOf,
  SIGNED_AT_MS,
  signingWith,
} from '../../../fixtures/trust.ts';
import { lying, outgoing, unsignedDocument } from './support/function-events.ts';
import { openTestFunction, ScriptedSource } from './support/open-function.ts';

const imageGc = await loadFunction('image-gc');

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const [root, operator, pauser, stranger, ofCluster] = [newKey(), newKey(), newKey(), newKey(), newKey()];
const decider = newKey();
const KEYS = [
  certified(root, operator, { role: 'operator' }),
  certified(root, pauser, { role: 'pauser' }),
  certified(root, decider),
  certified(root, ofCluster, { role: 'operator', clusters: ['prod'] }),
];
const TRUST: TrustChoice = {
  kind: 'required',
  roots: rootsOf(root),
  signing: signingWith(decider),
  facts: 'off',
  seen: new SeenGenerations(),
  learnsFrom: null,
};
const POLICY = appliedPolicy();
const PAUSE = pauseRecord();

const signedBy =
  (key: SigningKey, generation: number) =>
  (record: OutgoingRecord): OutgoingRecord =>
    signRecord(record, { fleet: FLEET, key, generation });

const onTopic = (event: PolicyTopicRecord, by = operator, generation = SIGNED_AT_MS): LogRecord =>
  onLog(signedBy(by, generation)({ ...outgoing('policies', event), key: keyOf('policies', event) }));

interface Document {
  readonly keys?: readonly LogRecord[];
  readonly policies?: readonly LogRecord[];
  readonly atMs?: number;
  readonly sign?: (head: OutgoingRecord) => OutgoingRecord;
}

function document({
  keys = KEYS,
  policies = [onTopic(POLICY)],
  atMs = SIGNED_AT_MS,
  sign = signedBy(operator, atMs),
}: Document = {}): Buffer {
  const writing = policyDocumentText({ exportedAtMs: atMs, keys, policies, sign });
  if (!writing.ok) throw new Error(writing.tooMuch);
  return Buffer.from(writing.text);
}

interface Clock {
  nowMs: number;
}

const open = async (
  first: Buffer,
  {
    clock = { nowMs: SIGNED_AT_MS },
    trust = TRUST,
  }: { readonly clock?: Clock; readonly trust?: TrustChoice } = {},
) => {
  const source = new ScriptedSource(first);
  const opened = await openTestFunction(imageGc, { source, trust, maxAgeMs: DAY_MS, now: () => clock.nowMs });
  const { policies } = opened.open;
  const look = async (next: Parameters<ScriptedSource['put']>[0]) => {
    source.put(next);
    await policies.look(new AbortController().signal);
    return policies;
  };
  return { ...opened, policies, look, clock };
};

test('the policies of a document that an operator signed are in force', async () => {
  const { policies } = await open(document());
  expect(policies.problem()).toBeNull();
  expect(policies.current.node().policies).toEqual([POLICY]);
});

test('what counts is the set of the event log: with its hash', async () => {
  const { policies } = await open(document({ policies: [onTopic(POLICY), onTopic(PAUSE)] }));
  const unsigned = await open(unsignedDocument([POLICY, PAUSE], SIGNED_AT_MS), { trust: { kind: 'off' } });
  expect(policies.current.node().hash).toBe(unsigned.policies.current.node().hash);
});

test.each<readonly [string, Buffer]>([
  ['nobody signed', document({ sign: (head) => head })],
  ['a stranger signed', document({ sign: signedBy(stranger, SIGNED_AT_MS) })],
  ['somebody signed who may only pause', document({ sign: signedBy(pauser, SIGNED_AT_MS) })],
  ['a decider signed', document({ sign: signedBy(decider, SIGNED_AT_MS) })],
  ['an operator of one cluster signed', document({ sign: signedBy(ofCluster, SIGNED_AT_MS) })],
  ['was signed at another time than it says', document({ sign: signedBy(operator, SIGNED_AT_MS - 1) })],
  ['is of tomorrow', document({ atMs: SIGNED_AT_MS + DAY_MS })],
  ['a key signed that was taken back', document({ keys: [...KEYS, revoked(root, operator)] })],
  ['is that of another fleet', document({ keys: KEYS.slice(1) })],
  ['was cut off', document().subarray(0, -10)],
  ['lacks a line', Buffer.from(document().toString('utf8').split('\n').toSpliced(1, 1).join('\n'))],
  ['is empty', Buffer.alloc(0)],
  ['is something else', Buffer.from('{"type":"fleetgc.policy-document"}\n')],
])('nothing is decided under a document that %s', async (_, bytes) => {
  const { policies, lines } = await open(bytes);
  expect(policies.problem()).toMatch(/does not count/);
  expect(() => policies.current.node()).toThrow('does not count');
  expect(lines.join('\n')).toContain('does not count');
});

test('a policy in it that no key signed holds everything, as on the event log', async () => {
  const { policies } = await open(
    document({ policies: [onTopic(POLICY), lying('policies', POLICY, { partition: 0, offset: 10_000n })] }),
  );
  expect(policies.problem()).toMatch(/carries no signature/);
});

test('a document that was out of reach, and is there again unchanged, is not told of any more', async () => {
  const { look } = await open(document());
  const away = await look({ kind: 'unreachable', why: 'nobody answers' });
  expect([away.problem(), away.notice()]).toEqual([null, expect.stringContaining('out of reach')]);
  expect((await look({ kind: 'unchanged' })).notice()).toBeNull();
});

test('a newer document takes the place of an older one, and an older one never that of a newer one', async () => {
  const paused = document({ policies: [onTopic(POLICY), onTopic(PAUSE)], atMs: SIGNED_AT_MS + HOUR_MS });
  const { look, clock } = await open(document());
  clock.nowMs += HOUR_MS;
  expect((await look(paused)).current.node().pauses).toHaveLength(1);
  const after = await look(document());
  expect(after.current.node().pauses).toHaveLength(1);
  expect(after.notice()).toMatch(/somebody put it back/);
});

test('what is gone from a newer document without having been deleted stops everything', async () => {
  const { look, clock } = await open(document({ policies: [onTopic(POLICY), onTopic(PAUSE)] }));
  clock.nowMs += HOUR_MS;
  expect((await look(document({ atMs: clock.nowMs }))).problem()).toMatch(/no longer/);
});

test('a record in it that is older than what counted before stops everything', async () => {
  const { look, clock } = await open(document({ policies: [onTopic(POLICY, operator, SIGNED_AT_MS + 5)] }));
  clock.nowMs += HOUR_MS;
  expect((await look(document({ atMs: clock.nowMs }))).problem()).toMatch(/older than what it replaces/);
});

test('what was taken back stays taken back, though a newer document says no more of it', async () => {
  const { look, clock } = await open(document({ keys: [...KEYS, revoked(root, pauser)] }));
  clock.nowMs += HOUR_MS;
  expect((await look(document({ atMs: clock.nowMs }))).problem()).toMatch(/no longer says/);
});

test('a document that is too old is not relied on, and another one is', async () => {
  const { policies, look, clock } = await open(document());
  clock.nowMs += DAY_MS;
  expect(policies.problem()).toBeNull();
  clock.nowMs += 1;
  expect(policies.problem()).toMatch(/older than --policy-max-age/);
  expect((await look({ kind: 'unchanged' })).problem()).toMatch(/older than --policy-max-age/);
  expect((await look(document({ atMs: clock.nowMs }))).problem()).toBeNull();
});

test('a clock that was set back makes no document younger, and keeps nobody from looking for another', async () => {
  const clock = { nowMs: SIGNED_AT_MS, steadyMs: 0 };
  const source = Object.assign(new ScriptedSource(document()), { everyMs: HOUR_MS });
  const { open: opened } = await openTestFunction(imageGc, {
    source,
    trust: TRUST,
    maxAgeMs: DAY_MS,
    now: () => clock.nowMs,
    monotonicNow: () => clock.steadyMs,
  });
  const { policies } = opened;
  clock.nowMs -= 30 * DAY_MS;
  clock.steadyMs += DAY_MS + 1;
  expect(policies.problem()).toMatch(/older than --policy-max-age/);
  clock.nowMs = SIGNED_AT_MS + 1;
  source.put(document({ policies: [onTopic(POLICY), onTopic(PAUSE)], atMs: SIGNED_AT_MS + 1 }));
  await policies.look(new AbortController().signal);
  expect(policies.current.node().pauses).toHaveLength(1);
});

test('a clock that was ahead, by which the key had expired, stops nothing after it was put right', async () => {
  const clock = { nowMs: SIGNED_AT_MS + 1_000 * DAY_MS };
  let state: 'new' | 'known' = 'new';
  const source = {
    name: 'a test',
    everyMs: 0,
    forget: () => {
      state = 'new';
    },
    look: async () => {
      if (state === 'known') return { kind: 'unchanged' } as const;
      state = 'known';
      return { kind: 'bytes', bytes: document() } as const;
    },
  };
  const { open: opened } = await openTestFunction(imageGc, { source, trust: TRUST, now: () => clock.nowMs });
  expect(opened.policies.problem()).toMatch(/has expired/);
  clock.nowMs = SIGNED_AT_MS;
  await opened.policies.look(new AbortController().signal);
  expect(opened.policies.problem()).toBeNull();
});

test('what is out of reach counts until it is too old; what is gone or broken stops everything at once', async () => {
  const { look } = await open(document());
  const away = await look({ kind: 'unreachable', why: 'nobody answers' });
  expect([away.problem(), away.notice()]).toEqual([null, expect.stringContaining('out of reach')]);
  expect((await look({ kind: 'missing', why: 'there is no such file' })).problem()).toMatch(/no such file/);
  expect((await look(document({ atMs: SIGNED_AT_MS + 1 }))).problem()).toBeNull();
  expect((await look(Buffer.from('half'))).problem()).toMatch(/does not count/);
});

test('orders of a function are signed where its key counts by the document', async () => {
  const { open: opened } = await open(document());
  const handled = await opened.engine.decideOn(lying('inventory', inventory()));
  expect(handled.failure).toBeNull();
  const unknown = await open(document({ keys: KEYS.filter((_, index) => index !== 2) }));
  await expect(unknown.open.engine.decideOn(lying('inventory', inventory()))).rejects.toThrow(
    'no root vouches',
  );
});

test('whatever is changed in a document, it says the same or nothing', async () => {
  const bytes = document({ policies: [onTopic(POLICY), onTopic(PAUSE)] });
  const whole = readPolicyDocument(bytes);
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
      const changed = Buffer.from(bytes);
      changed[at] = byte;
      const reading = readPolicyDocument(changed);
      if (reading.ok)
        expect({ ...reading.document, head: null }).toMatchObject({
          ...(whole.ok && { keys: whole.document.keys, policies: whole.document.policies }),
        });
    }),
    { numRuns: 500 },
  );
});

test('what has more records than are read is not written, and the bound that it meets is named', async () => {
  const record = onTopic(POLICY);
  const many = Array.from({ length: 20_001 }, () => record);
  const writing = policyDocumentText({ exportedAtMs: 1, keys: KEYS, policies: many, sign: (head) => head });
  expect(writing).toEqual({
    ok: false,
    tooMuch: `20001 records of policies and ${KEYS.length} of keys are more than the 20000 records`,
  });
  const large = { ...record, value: Buffer.alloc(32 * 1024 * 1024, 'x') };
  expect(policyDocumentText({ exportedAtMs: 1, keys: [], policies: [large], sign: (head) => head })).toEqual({
    ok: false,
    tooMuch: expect.stringMatching(
      /^policies and keys take \d+ bytes, which is more than the 33554432 bytes$/,
    ),
  });
});

test('an export that is too large says which bound it meets, and what to do', async () => {
  const records = Array.from({ length: 20_001 }, (_, number) => {
    const record = onTopic(appliedPolicy({ name: `policy-${number}` }));
    return { ...record, offset: BigInt(number) };
  });
  const log = {
    read: async function* ({ topic }: { readonly topic: string }) {
      for (const record of topic === TOPICS.policies.name ? records : [])
        yield { kind: 'record', record } as const;
      yield { kind: 'caught-up' } as const;
    },
  };
  const exporting = exportDocument(
    log,
    { roots: null, sign: () => (head) => head, nowMs: SIGNED_AT_MS },
    new AbortController().signal,
  );
  await expect(exporting).rejects.toMatchObject({
    code: 'POLICY_INVALID',
    message: expect.stringMatching(
      /^20001 records of policies and 0 of keys are more than the 20000 records of a document .* Delete policies that nobody needs/,
    ),
  });
});
