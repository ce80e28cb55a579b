import { expect, test } from 'vitest';
import { RecordJudge } from '../../../packages/audit/signed-events.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import { approval, approvedOwner } from '../../fixtures/approval.ts';
import { imageRemoval } from '../../fixtures/command.ts';
import { certified, FLEET, newKey, onLog, revoked, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { outgoing } from '../../support/logs/log-record.ts';

const DAY_MS = 86_400_000;
const [root, decider, stranger] = [newKey(), newKey(), newKey()];
const removal = outgoing(nodeOutput('commands', imageRemoval(['sha256:a'])));
const signed = (key = decider, timestampMs = SIGNED_AT_MS): LogRecord =>
  onLog(signRecord(removal, { fleet: FLEET, key, generation: null }), timestampMs);

interface Known {
  readonly statements?: readonly LogRecord[];
  readonly nowMs?: number;
}

function judge({ statements = [certified(root, decider)], nowMs = SIGNED_AT_MS + DAY_MS }: Known = {}) {
  const [ring, again] = [new KeyRing(rootsOf(root)), new KeyRing(rootsOf(root))];
  for (const statement of statements) for (const each of [ring, again]) each.add(statement);
  return new RecordJudge({ ring, statements: again, nowMs });
}

const by = { keyId: decider.keyId, role: 'decider', name: 'a key' };

test('a record that a good key signed is good, whenever it says that it was written', () => {
  for (const timestampMs of [SIGNED_AT_MS, 0, SIGNED_AT_MS + 1_000 * DAY_MS])
    expect(judge().judge(signed(decider, timestampMs))).toEqual({
      verdict: 'good',
      signedBy: by,
      message: null,
    });
});

test.each([
  ['unsigned', onLog(removal)],
  ['malformed', { ...signed(), headers: { ...signed().headers, ce_fleetgcsignature: 'x' } }],
  ['stranger', signed(stranger)],
  ['changed', { ...signed(), value: Buffer.from('{}') }],
  ['changed', { ...signed(), key: 'prod/other' }],
  ['not-allowed', { ...signed(), topic: 'gc.policies' }],
] as const)('a record is told as %s', (verdict, record) => {
  expect(judge().judge(record)).toMatchObject({ verdict, signedBy: null, message: expect.any(String) });
});

test('a key that has ended proves nothing but what the time of the record says', () => {
  const later = judge({ nowMs: SIGNED_AT_MS + 40 * DAY_MS });
  expect(later.judge(signed())).toMatchObject({
    verdict: 'good-then',
    signedBy: by,
    message: expect.stringMatching(/has expired at .*; it was good at the time that the event bears/),
  });
  expect(later.judge(signed(decider, SIGNED_AT_MS + 35 * DAY_MS))).toMatchObject({ verdict: 'expired' });
  expect(later.judge({ ...signed(), value: Buffer.from('{}') })).toMatchObject({ verdict: 'changed' });
});

test('nor does one that was revoked', () => {
  const taken = revoked(root, decider, { issuedAtMs: SIGNED_AT_MS + DAY_MS });
  const after = judge({ statements: [certified(root, decider), taken], nowMs: SIGNED_AT_MS + 2 * DAY_MS });
  expect(after.judge(signed())).toMatchObject({
    verdict: 'good-then',
    message: expect.stringContaining('was revoked (lost)'),
  });
  expect(after.judge(signed(decider, SIGNED_AT_MS + 2 * DAY_MS))).toMatchObject({ verdict: 'revoked' });
});

test('what is signed and says something else in its headers is no event', () => {
  const record = { ...signed(), headers: { ...signed().headers, ce_id: 'other' } };
  expect(judge().judge(record)).toMatchObject({
    verdict: 'no-event',
    signedBy: by,
    message: expect.stringContaining('ce_id'),
  });
  expect(judge({ nowMs: SIGNED_AT_MS + 40 * DAY_MS }).judge(record)).toMatchObject({ verdict: 'no-event' });
});

test.each([
  ['pauser', 'a key that may only pause signed it, and it is no pause'],
  ['operator', null],
] as const)('whether a %s may approve is told, and not only whether the key is good', (role, message) => {
  const key = newKey();
  const event = approval(approvedOwner('o', 3));
  const record = outgoing({ topic: 'policies', key: approvalKey(event), event });
  const signedApproval = onLog(
    signRecord(record, { fleet: FLEET, key, generation: SIGNED_AT_MS }),
    SIGNED_AT_MS,
  );
  const judging = judge({ statements: [certified(root, key, { role })], nowMs: SIGNED_AT_MS });
  expect(judging.judge(signedApproval)).toEqual({
    verdict: message === null ? 'good' : 'not-allowed',
    signedBy: { keyId: key.keyId, role, name: 'a key' },
    message,
  });
});

test('an operator who is for other clusters may not approve', () => {
  const key = newKey();
  const event = approval(approvedOwner('o', 3));
  const record = outgoing({ topic: 'policies', key: approvalKey(event), event });
  const judging = judge({
    statements: [certified(root, key, { role: 'operator', clusters: ['elsewhere'] })],
    nowMs: SIGNED_AT_MS,
  });
  expect(
    judging.judge(onLog(signRecord(record, { fleet: FLEET, key, generation: SIGNED_AT_MS }), SIGNED_AT_MS)),
  ).toMatchObject({
    verdict: 'not-allowed',
    message: expect.stringContaining('its key is for the clusters elsewhere alone'),
  });
});

test('a decision needs no signature, and so nobody says who wrote it', () => {
  expect(judge().judge({ ...onLog(removal), topic: 'gc.node.decisions' })).toMatchObject({
    verdict: 'nobody-signs',
    signedBy: null,
  });
});

test('a statement is good where a root of the fleet made it, also one that the event log does not have', () => {
  expect(judge().judge(certified(root, stranger))).toEqual({
    verdict: 'good',
    signedBy: { keyId: root.keyId, role: 'root', name: null },
    message: null,
  });
  expect(judge().judge(certified(stranger, decider))).toMatchObject({
    verdict: 'no-statement',
    message: expect.stringContaining('is no root'),
  });
});

test('a statement in the file makes no key good', () => {
  const judging = judge();
  judging.judge(certified(root, stranger));
  expect(judging.judge(signed(stranger))).toMatchObject({ verdict: 'stranger' });
});
