import { expect, onTestFinished, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { FRESH_MS } from '../../../packages/log/follow-topic.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { type PauseRecord, type PolicyRecord, pauseKey } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { deletionOutput, pauseRecord } from '../../fixtures/policy.ts';
import { logLines } from '../../support/log-lines.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { ScriptedLog, type ScriptedReading } from '../../support/logs/scripted-log.ts';
import { pauseFor } from '../../support/pause-for.ts';

const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: {} };

const applied = (record: PolicyRecord, offset: number, over: Partial<LogRecord> = {}): LogRecord =>
  recordOf(
    { topic: 'policies', key: record.policy.name, event: record },
    { offset: BigInt(offset), ...over },
  );

const HALF = '\ud83d';
const IN_PROD = { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} };
const policyOfProd = () => appliedPolicy({ name: 'bad', selector: IN_PROD });

const paused = (record: PauseRecord, offset: number): LogRecord =>
  recordOf({ topic: 'policies', key: pauseKey(record.selector), event: record }, { offset: BigInt(offset) });

const rubbish = (key: string, offset: number): LogRecord => ({
  ...deleted('web', offset),
  key,
  value: Buffer.from('rubbish'),
});

const deleted = (key: string, offset: number): LogRecord =>
  recordOf(deletionOutput(key), { offset: BigInt(offset) });

interface Waiting {
  readonly ms: number;
  readonly done: () => void;
}

interface Given {
  readonly recheckMs?: number | null;
  readonly startsAfter?: Promise<void>;
}

function start({ recheckMs = null, startsAfter }: Given = {}) {
  const log = new ScriptedLog();
  const out = logLines();
  const clock = { nowMs: 0 };
  const waits: Waiting[] = [];
  const wait = (ms: number, signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waits.push({ ms, done: resolve });
    signal.addEventListener('abort', () => resolve());
    return promise;
  };
  const metrics = createMetrics();
  const source = startPolicySource({
    trust: TRUST_OFF,
    seen: new SeenGenerations(),
    log,
    logger: createLogger({ service: 'test', level: 'info' }, out),
    metrics,
    recheckMs,
    startsAfter,
    sources: { now: () => clock.nowMs, random: () => 0.5, wait },
  });
  onTestFinished(() => source[Symbol.asyncDispose]());
  const reading = (index: number): ScriptedReading => {
    const found = log.readings[index];
    if (!found) throw new Error(`the topic was read only ${log.readings.length} times`);
    return found;
  };
  const names = () => source.current.node().policies.map(({ policy }) => policy.name);
  return { log, out, clock, waits, metrics, source, reading, names };
}

/** Lets everything happen that needs no time. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function startedWith(...records: readonly LogRecord[]) {
  const started = start();
  started
    .reading(0)
    .records(...records)
    .caughtUp();
  await settle();
  return started;
}

const unreadable = (message: string | RegExp) =>
  expect.objectContaining({
    code: 'POLICIES_UNREADABLE',
    retry: true,
    message: expect.stringMatching(message),
  });

test('nothing is known before the topic was read to the end it had', async () => {
  const { source, reading, names } = start();
  expect(reading(0).request).toEqual({ topic: 'gc.policies', from: 'earliest', to: 'forever' });
  reading(0).records(applied(appliedPolicy({ name: 'a' }), 0));
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('not read yet'));
  reading(0).caughtUp();
  await source.caughtUp;
  expect(names()).toEqual(['a']);
  expect(source.problem()).toBeNull();
});

test('an empty topic is no policy, and that is known', async () => {
  const { source } = await startedWith();
  expect(source.current.node()).toEqual(policySet('node', [], []));
});

test('the last record of a name holds, and a record without value deletes it', async () => {
  const { names, source, reading } = await startedWith(
    applied(appliedPolicy({ name: 'a', priority: 1 }), 0),
    applied(appliedPolicy({ name: 'b' }), 1),
    applied(appliedPolicy({ name: 'a', priority: 2 }), 2),
    applied(appliedPolicy({ name: 'c' }), 3),
    deleted('c', 4),
  );
  expect(names()).toEqual(['a', 'b']);
  expect(source.current.node().policies[0]?.policy.priority).toBe(2);
  reading(0).records(deleted('b', 5), applied(appliedPolicy({ name: 'd' }), 6));
  await settle();
  expect(names()).toEqual(['a', 'd']);
});

test('a pause holds for the nodes it selects until it is deleted', async () => {
  const pause = pauseRecord({ selector: { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} } });
  const { source, reading } = await startedWith(applied(appliedPolicy(), 0), paused(pause, 1));
  expect(pauseFor(source, NODE)).toEqual(pause);
  expect(pauseFor(source, { ...NODE, cluster: 'test' })).toBeNull();
  reading(0).records(deleted(pauseKey(pause.selector), 2));
  await settle();
  expect(pauseFor(source, NODE)).toBeNull();
});

test.each<{ name: string; record: LogRecord; message: RegExp }>([
  {
    name: 'is not JSON',
    record: applied(appliedPolicy({ name: 'bad' }), 7, { value: Buffer.from('{') }),
    message: /key "bad", partition 0, offset 7\): the value is not JSON/,
  },
  {
    name: 'has no selector',
    record: applied(appliedPolicy({ name: 'bad' }), 7, {
      value: Buffer.from('{"type":"fleetgc.policy","version":1,"id":"x","policy":{"name":"bad"}}'),
    }),
    message: /key "bad", partition 0, offset 7\): policy.priority: is missing/,
  },
  {
    name: 'is of a later version',
    record: applied(appliedPolicy({ name: 'bad' }), 7, {
      value: Buffer.from(JSON.stringify({ ...appliedPolicy({ name: 'bad' }), version: 2 })),
    }),
    message: /offset 7\): version 2 of fleetgc.policy is not known/,
  },
  {
    name: 'has another hash than its content',
    record: applied({ ...appliedPolicy({ name: 'bad' }), hash: 'a'.repeat(64) }, 7),
    message: /key "bad", partition 0, offset 7\): its hash does not match its content/,
  },
  {
    name: 'lies under the name of another',
    record: applied(appliedPolicy({ name: 'a' }), 7, { key: 'b' }),
    message: /key "b", partition 0, offset 7\): the record key is/,
  },
  {
    name: 'is of a type that is not known',
    record: applied(appliedPolicy(), 7, {
      value: Buffer.from('{"type":"fleetgc.quota","version":1,"id":"x"}'),
    }),
    message: /fleetgc.quota does not belong/,
  },
  {
    name: 'has the key of a pause with half a character in it',
    record: {
      ...paused(pauseRecord({ selector: { ...IN_PROD, clusters: [HALF] } }), 7),
      value: Buffer.from('{'),
    },
    message: /key "!pause .*", partition 0, offset 7\): the value is not JSON/,
  },
  {
    name: 'is more than is read',
    record: { ...applied(appliedPolicy({ name: 'bad' }), 7), value: Buffer.from('['.repeat(17)) },
    message: /offset 7\): the value has more levels of brackets than the 16 that are read on gc.policies/,
  },
  {
    name: 'has no key',
    record: { ...deleted('', 7), key: null },
    message: /key null, partition 0, offset 7\)/,
  },
])(
  'a record that $name and may be meant for any node makes all of them unreadable',
  async ({ record, message }) => {
    const { source, metrics } = await startedWith(applied(appliedPolicy({ name: 'good' }), 0), record);
    expect(() => source.current.node()).toThrow(unreadable(message));
    expect(() => pauseFor(source, NODE)).toThrow(unreadable(message));
    expect(source.problem()).toMatch(message);
    expect(await metrics.text()).toContain('fleetgc_policies_readable 0');
  },
);

test.each<{ name: string; record: LogRecord; says: RegExp }>([
  {
    name: 'a policy with half a character in its text',
    record: applied(policyOfProd(), 7, {
      value: Buffer.from(JSON.stringify({ ...policyOfProd(), source: HALF })),
    }),
    says: /key "bad", partition 0, offset 7\): the text at source has half a character/,
  },
  {
    name: 'a policy with a field that is not known',
    record: applied(policyOfProd(), 7, {
      value: Buffer.from(JSON.stringify({ ...policyOfProd(), force: true })),
    }),
    says: /key "bad", partition 0, offset 7\): .*force/,
  },
  {
    name: 'a pause with half a character in its reason',
    record: paused(pauseRecord({ selector: IN_PROD, reason: HALF }), 7),
    says: /key "!pause .*", partition 0, offset 7\): the text at reason has half a character/,
  },
  {
    name: 'a pause of which only the key can be read',
    record: { ...paused(pauseRecord({ selector: IN_PROD }), 7), value: Buffer.from('{') },
    says: /key "!pause .*", partition 0, offset 7\): the value is not JSON/,
  },
])('$name holds the nodes that it may select, and no others', async ({ record, says }) => {
  const { source, metrics, out, reading } = await startedWith(
    applied(appliedPolicy({ name: 'good' }), 0),
    record,
  );
  expect(pauseFor(source, NODE)?.reason).toMatch(says);
  expect(selectPolicy(source.current.node(), { ...NODE, cluster: 'test' })).toMatchObject({ kind: 'policy' });
  expect([source.problem(), source.unreadable()]).toEqual([null, expect.stringMatching(says)]);
  expect(await metrics.text()).toContain('fleetgc_policies_readable 0');
  expect(out.lines.filter((line) => says.test(line.replaceAll('\\', '')))).toHaveLength(1);

  reading(0).records(deleted(record.key ?? '', 8));
  await settle();
  expect(source.unreadable()).toBeNull();
  expect(pauseFor(source, NODE)).toBeNull();
});

test('a broken record beside a pause of the same nodes gives the same set in whatever order they came', async () => {
  const pause = (offset: number) => paused(pauseRecord({ selector: IN_PROD }), offset);
  const broken = applied(policyOfProd(), 7, {
    value: Buffer.from(JSON.stringify({ ...policyOfProd(), source: HALF })),
  });
  const first = await startedWith(pause(1), broken);
  const second = await startedWith(broken, pause(8));
  expect(first.source.current.node().hash).toBe(second.source.current.node().hash);
});

test('an unreadable record is mended by a readable one of its key, or by deleting it', async () => {
  const broken = (name: string, offset: number) =>
    applied(appliedPolicy({ name }), offset, { value: Buffer.from('{') });
  const { source, reading, names } = await startedWith(broken('a', 0), broken('b', 1));
  expect(source.problem()).toMatch(/key "a", partition 0, offset 0.*key "b", partition 0, offset 1/);
  reading(0).records(applied(appliedPolicy({ name: 'a' }), 2));
  await settle();
  expect(source.problem()).not.toMatch(/key "a"/);
  reading(0).records(deleted('b', 3));
  await settle();
  expect(names()).toEqual(['a']);
});

test('a reading that fails is tried again with a growing wait, and refuses meanwhile', async () => {
  const { source, waits, reading, names, out } = await startedWith(applied(appliedPolicy({ name: 'a' }), 0));
  reading(0).fail(new FleetGcError('LOG_UNREACHABLE', 'no broker answers'));
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('policies cannot be read: no broker answers'));
  for (const round of [1, 2, 3]) {
    waits.at(-1)?.done();
    await settle();
    if (round < 3) reading(round).fail(new FleetGcError('LOG_UNREACHABLE', 'no broker answers'));
    await settle();
  }
  expect(waits.map(({ ms }) => ms)).toEqual([300, 600, 1200]);
  expect(out.lines.filter((line) => line.includes('no broker answers'))).toHaveLength(1);
  reading(3)
    .records(applied(appliedPolicy({ name: 'a' }), 0))
    .caughtUp();
  await settle();
  expect(names()).toEqual(['a']);
});

test('a topic that may not be read says so, and is tried again', async () => {
  const { source, waits, reading } = start();
  reading(0).fail(new FleetGcError('LOG_UNAUTHORIZED', 'not allowed to read gc.policies'));
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('not allowed to read gc.policies'));
  waits[0]?.done();
  await settle();
  reading(1).caughtUp();
  await settle();
  expect(source.problem()).toBeNull();
});

test('a reading that ends by itself is a failure too', async () => {
  const { source, reading } = await startedWith(applied(appliedPolicy(), 0));
  reading(0).end();
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('ended the reading'));
});

test('a log that is not connected makes them unreadable while it lasts', async () => {
  const { log, source, names } = await startedWith(applied(appliedPolicy({ name: 'a' }), 0));
  log.connected = false;
  expect(() => source.current.node()).toThrow(unreadable('no broker answers'));
  log.connected = true;
  expect(names()).toEqual(['a']);
});

/** A source that knew `a`, `b` and a pause, and reads again what the topic holds now. */
async function readAgain(...records: readonly LogRecord[]) {
  const started = await startedWith(
    applied(appliedPolicy({ name: 'a' }), 10),
    applied(appliedPolicy({ name: 'b' }), 11),
    paused(pauseRecord(), 12),
  );
  started.reading(0).fail(new FleetGcError('LOG_UNREACHABLE', 'gone'));
  await settle();
  started.waits.at(-1)?.done();
  await settle();
  started
    .reading(1)
    .records(...records)
    .caughtUp();
  await settle();
  return started;
}

test('a topic that was recreated empty is not taken for one without policies', async () => {
  const { source, metrics } = await readAgain();
  expect(() => source.current.node()).toThrow(
    unreadable(/no longer holds "a", "b", the pause of all nodes although nobody deleted it/),
  );
  expect(await metrics.text()).toContain('fleetgc_policies 2');
});

test('nor is one that lost only its pause', async () => {
  const { source } = await readAgain(
    applied(appliedPolicy({ name: 'a' }), 0),
    applied(appliedPolicy({ name: 'b' }), 1),
  );
  expect(() => pauseFor(source, NODE)).toThrow(unreadable(/no longer holds the pause of all nodes although/));
});

test('what was lost is given up when somebody writes or deletes it', async () => {
  const { source, reading, names } = await readAgain(applied(appliedPolicy({ name: 'a' }), 0));
  reading(1).records(deleted('!pause', 1));
  await settle();
  expect(source.problem()).toMatch(/no longer holds "b" although/);
  reading(1).records(applied(appliedPolicy({ name: 'b', priority: 9 }), 2));
  await settle();
  expect(names()).toEqual(['a', 'b']);
  expect(pauseFor(source, NODE)).toBeNull();
});

test('what was deleted while nobody looked is gone', async () => {
  const { names, source } = await readAgain(
    applied(appliedPolicy({ name: 'a' }), 10),
    deleted('b', 13),
    deleted('!pause', 14),
  );
  expect(names()).toEqual(['a']);
  expect(source.problem()).toBeNull();
});

test('what is lost stays lost over a further reading', async () => {
  const { source, waits, reading } = await readAgain();
  reading(1).fail(new FleetGcError('LOG_UNREACHABLE', 'gone again'));
  await settle();
  waits.at(-1)?.done();
  await settle();
  reading(2)
    .records(applied(appliedPolicy({ name: 'a' }), 0))
    .caughtUp();
  await settle();
  expect(source.problem()).toMatch(/no longer holds "b", the pause of all nodes although/);
});

test('an offset that comes twice is one that begins again', async () => {
  const { source, reading } = await startedWith(applied(appliedPolicy({ name: 'a' }), 5));
  reading(0).records(applied(appliedPolicy({ name: 'b' }), 5));
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('it was recreated'));
});

test('offsets that begin again are noticed at once, and the topic is read again', async () => {
  const { source, waits, reading } = await startedWith(applied(appliedPolicy({ name: 'a' }), 5));
  reading(0).records(applied(appliedPolicy({ name: 'c' }), 0));
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('it was recreated'));
  waits.at(-1)?.done();
  await settle();
  reading(1)
    .records(applied(appliedPolicy({ name: 'c' }), 0))
    .caughtUp();
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('no longer holds "a"'));
});

test('a topic that was recreated behind a quiet reading is noticed at the next recheck', async () => {
  const { waits, source, reading, names } = start({ recheckMs: 300_000 });
  reading(0)
    .records(applied(appliedPolicy({ name: 'a' }), 5))
    .caughtUp();
  await settle();
  expect(waits.map(({ ms }) => ms)).toEqual([300_000]);
  waits[0]?.done();
  await settle();
  expect(names()).toEqual(['a']);
  reading(1).caughtUp();
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('no longer holds "a"'));
});

test('a recheck that does not come to its end in time refuses', async () => {
  const { clock, waits, source, reading, names } = start({ recheckMs: 300_000 });
  reading(0)
    .records(applied(appliedPolicy({ name: 'a' }), 5))
    .caughtUp();
  await settle();
  waits[0]?.done();
  await settle();
  clock.nowMs = FRESH_MS;
  expect(names()).toEqual(['a']);
  clock.nowMs += 1;
  expect(() => source.current.node()).toThrow(unreadable('may be out of date'));
  reading(1)
    .records(applied(appliedPolicy({ name: 'a' }), 5))
    .caughtUp();
  await settle();
  expect(names()).toEqual(['a']);
});

test('an idle topic stays fresh; one whose log says nothing any more refuses, though it counts as connected', async () => {
  const { clock, log, source, reading, names } = await startedWith(applied(appliedPolicy({ name: 'a' }), 0));
  for (let round = 0; round < 5; round++) {
    clock.nowMs += FRESH_MS;
    expect(names()).toEqual(['a']);
    reading(0).stillCaughtUp();
    await settle();
  }
  clock.nowMs += FRESH_MS + 1;
  expect(log.connected).toBe(true);
  expect(() => source.current.node()).toThrow(
    unreadable('for more than 30 s the event log has not told whether gc.policies holds newer ones'),
  );
  // What came is not all that there is.
  reading(0).records(applied(appliedPolicy({ name: 'b' }), 1));
  await settle();
  expect(() => source.current.node()).toThrow(unreadable('may be out of date'));
  reading(0).stillCaughtUp();
  await settle();
  expect(names()).toEqual(['a', 'b']);
});

test('a recheck does not show half of what it has read', async () => {
  const { waits, reading, names } = start({ recheckMs: 300_000 });
  reading(0)
    .records(applied(appliedPolicy({ name: 'a' }), 0), applied(appliedPolicy({ name: 'b' }), 1))
    .caughtUp();
  await settle();
  waits[0]?.done();
  await settle();
  reading(1).records(applied(appliedPolicy({ name: 'a' }), 0));
  await settle();
  expect(names()).toEqual(['a', 'b']);
});

test('closing it ends the waiting for it', async () => {
  const { source, reading } = start();
  expect(reading(0)).toBeDefined();
  await source[Symbol.asyncDispose]();
  await source.caughtUp;
});

test('it waits for what it starts after, and whoever closes it does not', async () => {
  const { source, log } = start({ startsAfter: new Promise(() => {}) });

  await source[Symbol.asyncDispose]();

  expect(log.readings).toEqual([]);
});

test('records that come together are one change, which is known at once and told once', async () => {
  const { out, reading, names } = await startedWith();
  const toldNow = () => out.lines.filter((line) => line.includes('policies in force')).length;
  const before = toldNow();
  const all = ['a', 'b', 'c'].map((name, at) => applied(appliedPolicy({ name }), at));
  reading(0).records(...all);
  await settle();
  expect(toldNow()).toBe(before);
  expect(names()).toEqual(['a', 'b', 'c']);
  reading(0).stillCaughtUp();
  await settle();
  expect(toldNow()).toBe(before + 1);
});

test('what nobody asks for is told all the same', async () => {
  const { out, reading } = await startedWith();
  reading(0).records(rubbish('web', 0)).stillCaughtUp();
  await settle();
  expect(out.lines.filter((line) => line.includes('cannot be read (key'))).toHaveLength(1);
});

test.each([
  { name: 'many records', keys: Array.from({ length: 1_001 }, (_, at) => `k${at}`) },
  {
    name: 'a few with keys as long as messages',
    keys: ['a', 'b', 'c', 'd', 'e'].map((at) => at.repeat(900_000)),
  },
])('of $name that nobody can read not all are kept, and all of them hold', async ({ keys }) => {
  const started = await startedWith(applied(appliedPolicy({ name: 'web' }), 0));
  const { source, reading, waits } = started;
  reading(0).records(...keys.map((key, at) => rubbish(key, at + 1)));
  await settle();
  expect(source.problem()).toMatch(/more records that cannot be read than anybody keeps/);
  expect(waits).toEqual([]);
  // Somebody deleted them all.
  source.readAgain();
  await settle();
  reading(1)
    .records(applied(appliedPolicy({ name: 'web' }), 0), ...keys.map((key, at) => deleted(key, at + 1)))
    .caughtUp();
  await settle();
  expect(source.problem()).toBeNull();
  expect(started.names()).toEqual(['web']);
});
