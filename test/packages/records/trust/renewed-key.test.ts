import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import type { SigningKey } from '../../../../packages/records/trust/key-pair.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { RenewedKey, type Signing, watchRenewedKey } from '../../../../packages/records/trust/renewed-key.ts';
import { certified, newKey, revoked, rootsOf, SIGNED_AT_MS, signingWith } from '../../../fixtures/trust.ts';
import { logLines } from '../../../support/log-lines.ts';

const [root, first, second] = [newKey(), newKey(), newKey()];
const DAY_MS = 86_400_000;
/** Until nodes know a new key. */
const KNOWN_MS = 30_000;

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** A process that signs, with time and what is known of keys in the hand of the test. */
function signing(over: Partial<Signing> = {}) {
  const ring = new KeyRing(rootsOf(root));
  ring.add(certified(root, first));
  const state = { lying: first as SigningKey | null, problem: null as string | null, nowMs: SIGNED_AT_MS };
  const sleepers: Sleeper[] = [];
  const listeners: (() => void)[] = [];
  const reloads: (() => void)[] = [];
  const lines = logLines();
  const keys = {
    ring: () => ring,
    problem: () => state.problem,
    onChange: (listener: () => void) => void listeners.push(listener),
  };
  const renewed = new RenewedKey({
    signing: {
      ...signingWith(first),
      read: async () => {
        // Each reading makes another object of the same key.
        if (state.lying !== null) return { ...state.lying };
        throw new FleetGcError('KEY_UNUSABLE', 'the key file decider.pem cannot be used: it is gone');
      },
      everyMs: 10_000,
      onReload: (listener) => {
        reloads.push(listener);
        return () => void reloads.splice(reloads.indexOf(listener), 1);
      },
      ...over,
    },
    keys,
    nowMs: () => state.nowMs,
    wait: (ms, signal) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      sleepers.push({ untilMs: state.nowMs + ms, wake: resolve });
      signal.addEventListener('abort', () => resolve());
      return promise;
    },
    logger: pino({}, lines),
  });
  onTestFinished(() => renewed[Symbol.asyncDispose]());
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const metrics = createMetrics();
  watchRenewedKey(metrics, renewed, keys);
  return {
    renewed,
    state,
    reloads,
    metrics,
    lines: lines.lines,
    say: (statement: Parameters<KeyRing['add']>[0]) => {
      ring.add(statement);
      for (const listener of listeners) listener();
    },
    pass: async (ms: number) => {
      const endMs = state.nowMs + ms;
      for (;;) {
        await settle();
        const next = sleepers.toSorted((a, b) => a.untilMs - b.untilMs)[0];
        if (next === undefined || next.untilMs > endMs) break;
        sleepers.splice(sleepers.indexOf(next), 1);
        state.nowMs = next.untilMs;
        next.wake();
      }
      state.nowMs = endMs;
    },
  };
}

const warnings = (lines: readonly string[]) => lines.filter((line) => line.includes('"level":40'));

test('another key that lies there signs when a root vouches for it, and all had time to know', async () => {
  const { renewed, state, say, pass } = signing();
  say(certified(root, second));
  state.lying = second;
  await pass(10_000);
  expect(renewed.key().keyId).toBe(first.keyId);
  expect(renewed.pending()).toBeNull();
  await pass(KNOWN_MS);
  expect(renewed.key().keyId).toBe(second.keyId);
  expect(renewed.problem()).toBeNull();
});

test('a key that nobody vouches for waits, is told of once, and signs soon after somebody does', async () => {
  const { renewed, state, say, pass, lines } = signing();
  state.lying = second;
  await pass(60_000);
  expect(renewed.key().keyId).toBe(first.keyId);
  expect(renewed.problem()).toBeNull();
  expect(renewed.pending()).toBe(
    `${second.keyId} is to sign from now on, and cannot: no root vouches for ${second.keyId}: nobody believes what it signs. ${first.keyId} goes on signing`,
  );
  expect(warnings(lines)).toHaveLength(1);
  say(certified(root, second));
  await pass(KNOWN_MS);
  expect(renewed.key().keyId).toBe(second.keyId);
});

test.each([
  {
    name: 'of another role',
    statement: () => certified(root, second, { role: 'operator' }),
    why: /as operator, not as decider/,
  },
  {
    name: 'that has ended',
    statement: () => certified(root, second, { notAfterMs: SIGNED_AT_MS + 1 }),
    why: /expired/,
  },
  { name: 'that was revoked', statement: () => revoked(root, second), why: /was revoked/ },
])('a key $name never signs', async ({ statement, why }) => {
  const { renewed, state, say, pass } = signing();
  say(statement());
  state.lying = second;
  await pass(2 * KNOWN_MS);
  expect(renewed.key().keyId).toBe(first.keyId);
  expect(renewed.pending()).toMatch(why);
});

test('a key that is revoked while all get to know it does not sign', async () => {
  const { renewed, state, say, pass } = signing();
  say(certified(root, second));
  state.lying = second;
  await pass(10_000);
  say(revoked(root, second));
  await pass(2 * KNOWN_MS);
  expect(renewed.key().keyId).toBe(first.keyId);
});

test('where nobody believes the old key, nothing is waited for', async () => {
  const { renewed, state, say, pass } = signing();
  say(certified(root, second));
  say(revoked(root, first));
  expect(renewed.problem()).toMatch(/was revoked/);
  state.lying = second;
  await pass(10_000);
  expect(renewed.key().keyId).toBe(second.keyId);
  expect(renewed.problem()).toBeNull();
});

test('while nobody knows whose keys count, nothing changes', async () => {
  const { renewed, state, say, pass } = signing();
  say(certified(root, second));
  Object.assign(state, { lying: second, problem: 'the keys are not read yet' });
  await pass(60_000);
  expect(renewed.key().keyId).toBe(first.keyId);
  expect(renewed.pending()).toContain('the keys are not read yet');
  state.problem = null;
  await pass(10_000 + KNOWN_MS);
  expect(renewed.key().keyId).toBe(second.keyId);
});

test('a file that is gone or half written changes nothing', async () => {
  const { renewed, state, pass, lines } = signing();
  state.lying = null;
  await pass(60_000);
  expect(renewed.key().keyId).toBe(first.keyId);
  expect(renewed.problem()).toBeNull();
  expect(renewed.pending()).toBe(
    `the key file decider.pem cannot be used: it is gone. ${first.keyId}, which was read before, goes on signing`,
  );
  expect(warnings(lines)).toHaveLength(1);
  state.lying = first;
  await pass(10_000);
  expect(renewed.pending()).toBeNull();
  expect(warnings(lines)).toHaveLength(1);
});

test('who puts the old key back in time keeps it', async () => {
  const { renewed, state, say, pass } = signing();
  say(certified(root, second));
  state.lying = second;
  await pass(10_000);
  state.lying = first;
  await pass(2 * KNOWN_MS);
  expect(renewed.key().keyId).toBe(first.keyId);
});

test('the same key again is no other key', async () => {
  const { renewed, pass, lines } = signing();
  await pass(2 * KNOWN_MS);
  expect(renewed.key()).toBe(first);
  expect(lines).toEqual([]);
});

test('a third key that lies there in place of the second is waited for anew, and the second never signs', async () => {
  const third = newKey();
  const { renewed, state, say, pass, lines } = signing();
  for (const key of [second, third]) say(certified(root, key));
  state.lying = second;
  await pass(10_000);
  state.lying = third;
  await pass(KNOWN_MS);
  expect(renewed.key().keyId).toBe(first.keyId);
  await pass(10_000);
  expect(renewed.key().keyId).toBe(third.keyId);
  const [told, ...more] = lines.map((line) => JSON.parse(line));
  expect(told).toMatchObject({
    keyId: third.keyId,
    before: first.keyId,
    msg: expect.stringMatching(/signs/),
  });
  expect(more).toEqual([]);
});

test('a key that ends while all get to know it does not sign', async () => {
  const { renewed, state, say, pass, reloads } = signing({ everyMs: DAY_MS });
  say(certified(root, second, { notAfterMs: SIGNED_AT_MS + KNOWN_MS - 1 }));
  state.lying = second;
  for (const reload of reloads) reload();
  await pass(KNOWN_MS);
  expect(renewed.key().keyId).toBe(first.keyId);
});

test('who ends while all get to know a key does not take it, and reads no more', async () => {
  let reads = 0;
  const { renewed, say, pass } = signing({
    read: async () => {
      reads += 1;
      return second;
    },
  });
  say(certified(root, second));
  await pass(10_000);
  expect(reads).toBe(1);
  await renewed[Symbol.asyncDispose]();
  expect({ reads, keyId: renewed.key().keyId }).toEqual({ reads: 1, keyId: first.keyId });
});

test('a reading that the end breaks off is no key that cannot be read', async () => {
  const { renewed, lines, pass } = signing({
    read: (signal) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(new FleetGcError('INTERRUPTED', 'stopped'))),
      ),
  });
  await pass(10_000);
  await renewed[Symbol.asyncDispose]();
  expect(renewed.pending()).toBeNull();
  expect(lines).toEqual([]);
});

test('it is read at once when somebody asks for it, and not after the end', async () => {
  const { renewed, state, say, pass, reloads } = signing({ everyMs: DAY_MS });
  say(certified(root, second));
  state.lying = second;
  for (const reload of reloads) reload();
  await pass(KNOWN_MS);
  expect(renewed.key().keyId).toBe(second.keyId);
  await renewed[Symbol.asyncDispose]();
  expect(reloads).toEqual([]);
});

test('the key of another node does not sign here', async () => {
  const subject = { topic: 'inventory', recordKey: 'eu/web-1' } as const;
  const { renewed, state, say, pass } = signing({ role: 'node', subject });
  say(
    certified(
      root,
      first,
      { role: 'node', clusters: ['eu'], nodes: ['web-1'] },
      { generation: SIGNED_AT_MS + 1 },
    ),
  );
  expect(renewed.problem()).toBeNull();
  say(certified(root, second, { role: 'node', clusters: ['eu'], nodes: ['web-2'] }));
  state.lying = second;
  await pass(2 * KNOWN_MS);
  expect(renewed.key().keyId).toBe(first.keyId);
  expect(renewed.pending()).toContain(`${second.keyId} is for the nodes web-2 alone, not for eu/web-1`);
});

test('a node takes a key that is for its cluster alone, though the one before is for all', async () => {
  const subject = { topic: 'inventory', recordKey: 'eu/web-1' } as const;
  const { renewed, state, say, pass } = signing({ role: 'node', subject });
  say(certified(root, first, { role: 'node' }, { generation: SIGNED_AT_MS + 1 }));
  say(certified(root, second, { role: 'node', clusters: ['eu'] }));
  state.lying = second;
  await pass(2 * KNOWN_MS);
  expect(renewed.key().keyId).toBe(second.keyId);
});

test('metrics say which key signs, until when, and what waits', async () => {
  const { state, pass, metrics } = signing();
  state.lying = second;
  await pass(10_000);
  const text = await metrics.text();
  expect(text).toContain(`fleetgc_signing_key_info{key_id="${first.keyId}"} 1`);
  expect(text).toContain('fleetgc_signing_key_believed 1');
  expect(text).toContain('fleetgc_signing_key_pending 1');
  expect(text).toContain(`fleetgc_signing_key_end_timestamp_seconds ${(SIGNED_AT_MS + 30 * DAY_MS) / 1000}`);
});

test('metrics say whether anybody believes what is signed, and that nothing waits', async () => {
  const { say, metrics } = signing();
  expect(await metrics.text()).toContain('fleetgc_signing_key_pending 0');
  say(revoked(root, first));
  expect(await metrics.text()).toContain('fleetgc_signing_key_believed 0');
});

test.each<{ name: string; before: readonly string[]; after: readonly string[]; why: RegExp | null }>([
  { name: 'fewer clusters than all', before: [], after: ['eu'], why: /it is for the clusters eu alone/ },
  { name: 'some clusters', before: [], after: ['eu', 'us'], why: /it is for the clusters eu, us alone/ },
  { name: 'other clusters', before: ['eu', 'us'], after: ['us', 'asia'], why: /it is not for eu\./ },
  { name: 'none of its clusters', before: ['eu', 'us'], after: ['asia'], why: /it is not for eu, us\./ },
  { name: 'more clusters', before: ['eu'], after: ['us', 'eu'], why: null },
  { name: 'all clusters', before: ['eu'], after: [], why: null },
])('a decider takes no key that is believed in $name while its own is believed', async (row) => {
  const { renewed, state, say, pass } = signing();
  say(certified(root, first, { clusters: row.before, issuedAtMs: SIGNED_AT_MS + 1 }));
  say(certified(root, second, { clusters: row.after }));
  state.lying = second;
  await pass(60_000);
  expect(renewed.key().keyId).toBe((row.why === null ? second : first).keyId);
  if (row.why === null) return;
  expect(renewed.pending()).toMatch(row.why);
  say(revoked(root, first));
  expect(renewed.key().keyId).toBe(second.keyId);
});
