import { expect, onTestFinished, test } from 'vitest';
import { FRESH_MS } from '../../../packages/event-log/follow-topic.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { KeySource } from '../../../packages/trust/key-source.ts';
import { SeenGenerations } from '../../../packages/trust/seen-generations.ts';
import { RequiredTrust } from '../../../packages/trust/trust.ts';
import { certified, newKey, revoked, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { logLines } from '../../support/log-lines.ts';
import { ScriptedLog, type ScriptedReading } from '../../support/logs/scripted-log.ts';

const [root, decider] = [newKey(), newKey()];
const NODE = 'prod/web-1';

/** Lets everything happen that needs no time. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function start() {
  const log = new ScriptedLog();
  const clock = { nowMs: 0 };
  const wait = (): Promise<void> => new Promise(() => undefined);
  const keys = new KeySource({
    log,
    logger: createLogger({ service: 'test', level: 'info' }, logLines()),
    roots: rootsOf(root),
    seen: new SeenGenerations(),
    recheckMs: null,
    sources: { now: () => clock.nowMs, random: () => 0.5, wait },
  });
  onTestFinished(() => keys[Symbol.asyncDispose]());
  const trust = new RequiredTrust({
    ring: () => keys.ring(),
    problem: () => keys.problem(),
    nowMs: () => SIGNED_AT_MS + clock.nowMs,
  });
  const [reading] = log.readings;
  if (reading === undefined) throw new Error('gc.keys is not read');
  /** What an executor asks before each removal. */
  const objection = (): string | null => trust.objectionTo('commands', decider.keyId, NODE);
  return { log, clock, keys, reading, objection };
}

async function startedWithDecider() {
  const started = start();
  started.reading.records(certified(root, decider)).caughtUp();
  await settle();
  return started;
}

const told = async (reading: ScriptedReading): Promise<void> => {
  reading.stillCaughtUp();
  await settle();
};

test('a revocation counts as soon as it is read, for what is being carried out too', async () => {
  const { clock, reading, objection } = await startedWithDecider();
  expect(objection()).toBeNull();
  clock.nowMs = 5_000;
  reading.records(revoked(root, decider, { issuedAtMs: SIGNED_AT_MS + 5_000 }));
  await settle();
  expect(objection()).toMatch(/was revoked/);
});

test('a revocation that is withheld stops everything within the bound, though the log counts as connected', async () => {
  const { clock, log, reading, objection } = await startedWithDecider();
  clock.nowMs = 20_000;
  await told(reading);
  clock.nowMs = 20_000 + FRESH_MS;
  expect(objection()).toBeNull();
  clock.nowMs += 1;
  expect(log.connected).toBe(true);
  expect(objection).toThrow(
    expect.objectContaining({
      code: 'KEYS_UNREADABLE',
      message: expect.stringContaining('the keys may be out of date: for more than 30 s'),
    }),
  );
  await told(reading);
  expect(objection()).toBeNull();
});

test('keys of a log that is not connected count no more', async () => {
  const { log, objection } = await startedWithDecider();
  log.connected = false;
  expect(objection).toThrow('keys cannot be followed: no broker answers');
});

test('a revocation that reaches back farther, signed before one that lies there already, takes nothing away', async () => {
  const { keys, reading, objection } = await startedWithDecider();
  const [early, late] = [SIGNED_AT_MS + 1_000, SIGNED_AT_MS + 2_000];
  reading.records(revoked(root, decider, { issuedAtMs: late }));
  await settle();
  // It came on a stick, from a root without a network.
  reading.records(revoked(root, decider, { issuedAtMs: early, untrustedFromMs: SIGNED_AT_MS - 1_000 }));
  await settle();
  expect(keys.problem()).toBeNull();
  expect(objection()).toMatch(/was revoked/);
  expect(keys.ring().find(decider.keyId)?.revocation).toMatchObject({
    untrustedFromMs: SIGNED_AT_MS - 1_000,
  });
});
