import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFixedFile } from '../../../../packages/files/fixed-file.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { type FactsTrust, startTrust } from '../../../../packages/records/trust/process-trust.ts';
import {
  SEEN_GENERATIONS_FILE,
  SeenFile,
  SeenGenerations,
} from '../../../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import type { Trust } from '../../../../packages/records/trust/trust.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import {
  certified,
  FLEET,
  newKey,
  onLog,
  rootsOf,
  SIGNED_AT_MS,
  signingWith,
} from '../../../fixtures/trust.ts';
import { logLines } from '../../../support/log-lines.ts';
import { ScriptedLog } from '../../../support/logs/scripted-log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const DAY_MS = 86_400_000;
const [root, short, long, operator] = [newKey(), newKey(), newKey(), newKey()];
const NODE = 'prod/web-1';
const day = (number: number): number => SIGNED_AT_MS + number * DAY_MS;

/** Of keys that end after 30 and after 90 days. */
const STATEMENTS = [
  certified(root, short, { notAfterMs: day(30) }),
  certified(root, long, { notAfterMs: day(90) }),
  certified(root, operator, { role: 'operator', notAfterMs: day(90) }),
];

/** A process of a node: what it has seen lies in a file. */
async function start(path: string, clock: { nowMs: number }) {
  const log = new ScriptedLog();
  const file = openFixedFile(path, SEEN_GENERATIONS_FILE.bytes, SeenFile);
  const silent = { signing: null, facts: 'off', learnsFrom: null } as const;
  const choice = { kind: 'required', roots: rootsOf(root), ...silent } as const;
  const process = startTrust({
    choice: { ...choice, seen: new SeenGenerations(file) },
    log,
    logger: createLogger({ service: 'test', level: 'info' }, logLines()),
    metrics: createMetrics(),
    sources: { now: () => 0, random: () => 0.5, wait: () => new Promise(() => undefined) },
    nowMs: () => clock.nowMs,
  });
  onTestFinished(() => process[Symbol.asyncDispose]());
  log.readings[0]?.records(...STATEMENTS).caughtUp();
  await process.keys?.caughtUp;
  return process.trust;
}

const believes = (trust: Trust, key: typeof short, atMs: number): boolean => {
  const record = { topic: TOPICS.commands.name, key: NODE, value: Buffer.from('{}'), headers: {} };
  const signed = signRecord(record, { fleet: FLEET, key, generation: null });
  return trust.authenticate('commands', onLog(signed, atMs)).ok;
};

const policyAt = (trust: Trust, generation: number, atMs: number): boolean => {
  const record = { topic: TOPICS.policies.name, key: 'web', value: Buffer.from('{}'), headers: {} };
  const signed = signRecord(record, { fleet: FLEET, key: operator, generation });
  return trust.authenticate('policies', onLog(signed, atMs)).ok;
};

const untilAborted = (_ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal?.addEventListener('abort', () => resolve()));

const newPath = (): string => join(temporaryDirectory(), SEEN_GENERATIONS_FILE.name);

test('a key that has ended does not count again when the clock is set back, nor after a restart', async () => {
  const [clock, path] = [{ nowMs: day(40) }, newPath()];
  const trust = await start(path, clock);
  expect(believes(trust, short, day(40))).toBe(false);
  expect(believes(trust, long, day(40))).toBe(true);
  clock.nowMs = day(10);
  expect(believes(trust, short, day(10))).toBe(false);
  expect(trust.objectionTo('commands', short.keyId, NODE)).toMatch(/has expired/);

  const restarted = await start(path, clock);
  expect(believes(restarted, short, day(10))).toBe(false);
  expect(believes(restarted, long, day(10))).toBe(true);
});

test('a machine that starts with a clock far back learns from what keys signed how late it is', async () => {
  const trust = await start(newPath(), { nowMs: 0 });
  expect(believes(trust, short, day(40))).toBe(true);
  expect(policyAt(trust, day(40), day(40))).toBe(true);
  expect(believes(trust, short, day(40))).toBe(false);
});

test.each([
  { name: 'a log that says a time far ahead', clockMs: day(1), generation: day(1), logMs: day(400) },
  { name: 'a clock of our own far ahead, for a while', clockMs: day(400), generation: day(1), logMs: day(1) },
  { name: 'a signer a day ahead', clockMs: day(1), generation: day(2) - 1, logMs: day(1) },
])('$name alone ends no key for good', async ({ clockMs, generation, logMs }) => {
  const [clock, path] = [{ nowMs: clockMs }, newPath()];
  const trust = await start(path, clock);
  policyAt(trust, generation, logMs);
  believes(trust, long, logMs);
  clock.nowMs = day(2);
  expect(believes(trust, short, day(2))).toBe(true);
  expect(believes(await start(path, clock), short, day(2))).toBe(true);
});

describe('what a process asks of whom', () => {
  const written = (topic: 'commands' | 'inventory') => ({
    topic: TOPICS[topic].name,
    key: NODE,
    value: Buffer.from('{}'),
    headers: {},
  });

  function asking(
    kind: 'required' | 'warn',
    facts: FactsTrust,
    signing: ReturnType<typeof signingWith> | null = null,
  ) {
    const log = new ScriptedLog();
    const lines = logLines();
    const metrics = createMetrics();
    const process = startTrust({
      choice: { kind, roots: rootsOf(root), signing, facts, seen: new SeenGenerations(), learnsFrom: null },
      log,
      logger: createLogger({ service: 'test', level: 'info' }, lines),
      metrics,
      sources: { now: () => 0, random: () => 0.5, wait: untilAborted },
      nowMs: () => SIGNED_AT_MS,
    });
    onTestFinished(() => process[Symbol.asyncDispose]());
    log.readings[0]?.records(...STATEMENTS).caughtUp();
    const told = (): number => lines.lines.filter((line) => line.includes('it would not count if')).length;
    return { process, metrics, told, lines: lines.lines };
  }

  test.each([
    { kind: 'required', facts: 'required', orders: 'refused', said: 'refused' },
    { kind: 'required', facts: 'warn', orders: 'refused', said: 'told' },
    { kind: 'required', facts: 'off', orders: 'refused', said: 'taken' },
    { kind: 'warn', facts: 'required', orders: 'told', said: 'told' },
    { kind: 'warn', facts: 'warn', orders: 'told', said: 'told' },
    { kind: 'warn', facts: 'off', orders: 'told', said: 'taken' },
  ] as const)(
    '$kind, and of facts $facts: orders without a signature are $orders, facts $said',
    async ({ kind, facts, orders, said }) => {
      const { process, told } = asking(kind, facts);
      await process.keys?.caughtUp;
      const outcomes = (['commands', 'inventory'] as const).map((topic) => {
        const before = told();
        const { ok } = process.trust.authenticate(topic, onLog(written(topic)));
        return ok ? (told() > before ? 'told' : 'taken') : 'refused';
      });
      expect(outcomes).toEqual([orders, said]);
    },
  );

  test('what would not count is counted, and twenty of each topic are told in a minute', async () => {
    const { process, metrics, told, lines } = asking('warn', 'warn');
    await process.keys?.caughtUp;
    for (let count = 0; count < 25; count += 1)
      process.trust.authenticate('commands', onLog(written('commands')));
    expect(told()).toBe(20);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      topic: 'gc.node.commands',
      key: NODE,
      cause: 'unsigned',
    });
    process.trust.authenticate('inventory', onLog(written('inventory')));
    expect(told()).toBe(21);
    const text = await metrics.text();
    expect(text).toMatch(
      /^fleetgc_distrusted_messages_total\{topic="gc\.node\.commands",cause="unsigned"\} 25$/m,
    );
    expect(text).toMatch(
      /^fleetgc_distrusted_messages_total\{topic="gc\.node\.inventory",cause="unsigned"\} 1$/m,
    );
  });

  test('where nothing is told, nothing is counted', async () => {
    const { metrics } = asking('required', 'off');
    expect(await metrics.text()).not.toContain('distrusted_messages_total');
  });

  test('the end lets go of the key', async () => {
    const reloads: (() => void)[] = [];
    const onReload = (listener: () => void) => {
      reloads.push(listener);
      return () => void reloads.splice(reloads.indexOf(listener), 1);
    };
    const { process } = asking('required', 'off', { ...signingWith(long), onReload });
    expect(reloads).toHaveLength(1);
    await process[Symbol.asyncDispose]();
    expect(reloads).toEqual([]);
  });

  test('who has a key signs with it, and who has none does not', async () => {
    const signing = asking('required', 'off', signingWith(long));
    await signing.process.keys?.caughtUp;
    const { headers } = signing.process.signer.sign('commands', written('commands'));
    expect(headers).toMatchObject({ ce_fleetgckeyid: long.keyId });
    expect(await signing.metrics.text()).toContain(`signing_key_info{key_id="${long.keyId}"} 1`);
    const silent = asking('required', 'off');
    expect(silent.process.signingKey).toBeNull();
    expect(silent.process.signer.sign('commands', written('commands'))).toEqual(written('commands'));
  });

  test('how many keys are known, and whether they are readable, is counted', async () => {
    const { process, metrics } = asking('required', 'off');
    expect(await metrics.text()).toMatch(/keys_readable 0\n/);
    await process.keys?.caughtUp;
    const text = await metrics.text();
    expect(text).toMatch(/keys_readable 1\n/);
    expect(text).toMatch(/[^a-z]keys 3\n|_keys 3\n/);
  });

  test('where nothing is asked, everybody is believed and nothing is signed', async () => {
    const off = startTrust({
      choice: { kind: 'off' },
      log: new ScriptedLog(),
      logger: createLogger({ service: 'test', level: 'info' }, logLines()),
      metrics: createMetrics(),
      sources: { now: () => 0, random: () => 0.5, wait: () => new Promise(() => undefined) },
      nowMs: () => SIGNED_AT_MS,
    });
    expect(off).toMatchObject({ keys: null, signingKey: null, learnsFrom: null });
    expect(off.trust.authenticate('commands', onLog(written('commands'))).ok).toBe(true);
    expect(off.signer.sign('commands', written('commands'))).toEqual(written('commands'));
    await off[Symbol.asyncDispose]();
  });
});
