import { expect, test } from 'vitest';
import { readKeys } from '../../../../packages/records/trust/key-source.ts';
import { certified, newKey, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { ScriptedLog } from '../../../support/logs/scripted-log.ts';

const [root, decider, stranger] = [newKey(), newKey(), newKey()];

test('all of the topic is read: what roots said, and what is none of that', async () => {
  const log = new ScriptedLog();
  const reading = readKeys(log, rootsOf(root), new AbortController().signal);
  const foreign = certified(stranger, decider);
  log.readings[0]
    ?.records(foreign, certified(root, decider), certified(root, decider, { issuedAtMs: SIGNED_AT_MS + 1 }))
    .caughtUp()
    .end();
  const { ring, unreadable } = await reading;
  expect(log.readings[0]?.request).toMatchObject({ topic: 'gc.keys', from: 'earliest', to: 'end' });
  expect(ring.keys().map(({ keyId }) => keyId)).toEqual([decider.keyId]);
  expect(unreadable).toEqual([
    { offset: String(foreign.offset), key: decider.keyId, why: expect.stringContaining('is no root') },
  ]);
});

test('of what is none, a thousand are told', async () => {
  const log = new ScriptedLog();
  const reading = readKeys(log, rootsOf(root), new AbortController().signal);
  const foreign = certified(stranger, decider);
  log.readings[0]?.records(...Array.from({ length: 1_001 }, () => foreign)).end();
  expect((await reading).unreadable).toHaveLength(1_000);
});

test.each([
  { length: 200, told: 'x'.repeat(200) },
  { length: 201, told: `${'x'.repeat(200)}…` },
])('a record key of $length characters is told up to 200', async ({ length, told }) => {
  const log = new ScriptedLog();
  const reading = readKeys(log, rootsOf(root), new AbortController().signal);
  log.readings[0]?.records({ ...certified(stranger, decider), key: 'x'.repeat(length) }).end();
  expect((await reading).unreadable).toMatchObject([{ key: told }]);
});
