import { expect, onTestFinished, test } from 'vitest';
import { FRESH_MS } from '../../../../packages/log/follow-topic.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { KeySource } from '../../../../packages/records/trust/key-source.ts';
import { SeenGenerations } from '../../../../packages/records/trust/seen-generations.ts';
import { RequiredTrust } from '../../../../packages/records/trust/trust.ts';
import { certified, newKey, revoked, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { logLines } from '../../../support/log-lines.ts';
import { ScriptedLog, type ScriptedReading } from '../../../support/logs/scripted-log.ts';

const [root, oldRoot, decider, other] = [newKey(), newKey(), newKey(), newKey()];
const NODE = 'prod/web-1';

interface Starting {
  readonly roots: readonly (typeof root)[];
  readonly seen: SeenGenerations;
  readonly recheckMs: number | null;
}

/** Lets everything happen that needs no time. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function start({ roots = [root], seen = new SeenGenerations(), recheckMs = null }: Partial<Starting> = {}) {
  const lines = logLines();
  const log = new ScriptedLog();
  const clock = { nowMs: 0 };
  const waits: (() => void)[] = [];
  const wait = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      waits.push(resolve);
      signal?.addEventListener('abort', () => resolve());
    });
  const keys = new KeySource({
    log,
    logger: createLogger({ service: 'test', level: 'info' }, lines),
    roots: rootsOf(...roots),
    seen,
    recheckMs,
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
  /** The next pass over the topic. */
  const nextPass = async (): Promise<ScriptedReading> => {
    for (const wake of waits.splice(0)) wake();
    await settle();
    const next = log.readings.at(-1);
    if (next === undefined) throw new Error('gc.keys is not read');
    return next;
  };
  return { log, clock, keys, reading, nextPass, objection, seen, lines: lines.lines };
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

/** What a process knows that has read all of this with both roots, and starts again with the new one alone. */
async function afterOldRoot(...records: readonly LogRecord[]) {
  const seen = new SeenGenerations();
  const before = start({ roots: [oldRoot, root], seen });
  before.reading.records(...records).caughtUp();
  await settle();
  expect(before.keys.problem()).toBeNull();
  await before.keys[Symbol.asyncDispose]();
  const after = start({ seen });
  after.reading.records(...records).caughtUp();
  await settle();
  return after;
}

test('what a root said that is none any more does not have to be said again: its keys count no more', async () => {
  const { keys, objection } = await afterOldRoot(
    certified(oldRoot, other),
    certified(oldRoot, decider, { issuedAtMs: SIGNED_AT_MS - 1 }),
    revoked(oldRoot, other),
    certified(root, decider),
  );
  expect(keys.problem()).toBeNull();
  expect(objection()).toBeNull();
  expect(keys.ring().find(other.keyId)).toBeUndefined();
});

test('a key that such a root took back does not come back with the new file, nor later', async () => {
  const late = await afterOldRoot(certified(oldRoot, decider), revoked(oldRoot, decider));
  expect(late.keys.problem()).toBeNull();
  late.reading.records(certified(root, decider, { issuedAtMs: SIGNED_AT_MS + 1 }));
  await settle();
  expect(late.objection).toThrow(/no longer holds all that was said of .*the file of roots has changed/);

  const both = [certified(oldRoot, decider), certified(root, decider), revoked(oldRoot, decider)];
  const { objection, reading } = await afterOldRoot(...both);
  expect(objection).toThrow(/no longer holds all/);
  reading.records(revoked(root, decider, { issuedAtMs: SIGNED_AT_MS + 1 }));
  await settle();
  expect(objection()).toMatch(/was revoked/);
});

test('a key for which such a root alone said less does not get more with the new file', async () => {
  const { objection, reading } = await afterOldRoot(
    certified(root, decider),
    certified(oldRoot, decider, { clusters: ['test'], issuedAtMs: SIGNED_AT_MS + 1 }),
  );
  expect(objection).toThrow(/no longer holds all/);
  reading.records(certified(root, decider, { issuedAtMs: SIGNED_AT_MS + 2 }));
  await settle();
  expect(objection()).toBeNull();
});

test('who waits for keys is told once of all that came together', async () => {
  const { keys, reading } = await startedWithDecider();
  let told = 0;
  keys.onChange(() => {
    told += 1;
  });
  const [first, second] = [newKey(), newKey()];
  reading.records(certified(root, first), certified(root, second)).stillCaughtUp().stillCaughtUp();
  await settle();
  expect(told).toBe(1);
  expect(keys.ring().keys()).toHaveLength(3);
});

test('what would be forgotten at a restart is not relied on', async () => {
  const full = {
    read: () => null,
    write: () => {
      throw new Error('there is no room');
    },
  };
  const seen = new SeenGenerations(full);
  const { keys, reading } = start({ seen });
  reading.records(certified(root, decider)).caughtUp();
  await settle();
  expect(keys.problem()).toBeNull();
  seen.saw('policies', new Map(Array.from({ length: 20_000 }, (_, at) => [`!pause ${at}`.padEnd(60), 1])));
  expect(keys.problem()).toMatch(/a restart would forget what came last/);
});

test('keys count as of the end of the topic, and then as each statement comes; who listens is told', async () => {
  const { keys, reading } = start();
  let told = 0;
  keys.onChange(() => {
    told += 1;
  });
  reading.records(certified(root, decider));
  await settle();
  expect({ known: keys.ring().keys().length, told }).toEqual({ known: 0, told: 0 });
  reading.caughtUp();
  await settle();
  expect({ known: keys.ring().keys().length, told }).toEqual({ known: 1, told: 1 });
  reading.records(certified(root, newKey())).stillCaughtUp();
  await settle();
  expect({ known: keys.ring().keys().length, told }).toEqual({ known: 2, told: 2 });
});

test('what is no statement changes nothing, and is told once', async () => {
  const { keys, reading, lines } = await startedWithDecider();
  let told = 0;
  keys.onChange(() => {
    told += 1;
  });
  const foreign = certified(newKey(), newKey());
  reading.records(foreign).stillCaughtUp();
  await settle();
  expect({ known: keys.ring().keys().length, told }).toEqual({ known: 1, told: 0 });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 'warn',
      topic: 'gc.keys',
      offset: String(foreign.offset),
      msg: expect.stringMatching(/^gc\.keys: no statement: [0-9a-f]{32}, which signed it, is no root$/),
    },
  ]);
});

const strange = (lines: readonly string[]): number =>
  lines.filter((line) => line.includes('gc.keys: no statement: ')).length;

test('what is no statement is not told again when all is read again, and what came since is', async () => {
  const { reading, nextPass, lines } = start();
  const foreign = certified(newKey(), newKey());
  reading.records(foreign).caughtUp();
  await settle();
  reading.fail(new Error('the broker is away'));
  await settle();
  const again = await nextPass();
  again.records(foreign).caughtUp();
  await settle();
  expect(strange(lines)).toBe(1);
  again.records(certified(newKey(), newKey()));
  await settle();
  expect(strange(lines)).toBe(2);
});

test('of what is no statement a hundred are told', async () => {
  const { reading, lines } = start();
  const foreign = certified(newKey(), newKey());
  const many = Array.from({ length: 120 }, (_, at) => ({ ...foreign, offset: BigInt(at) }));
  reading.records(...many).caughtUp();
  await settle();
  expect(strange(lines)).toBe(100);
});

test.each([0n, 1n])('a topic that goes back by %d records is read again from its start', async (back) => {
  const { log, reading, keys, nextPass } = await startedWithDecider();
  const first = certified(root, other);
  reading.records(first, { ...certified(root, newKey()), offset: first.offset - back });
  await settle();
  expect(keys.problem()).toMatch(/gc\.keys began again: it was recreated/);
  (await nextPass()).records(certified(root, decider)).caughtUp();
  await settle();
  expect(log.readings).toHaveLength(2);
  expect(keys.problem()).toBeNull();
  expect(keys.ring().keys()).toHaveLength(1);
});

test('what a pass has not come to yet is not lost while it goes on', async () => {
  const seen = new SeenGenerations();
  const old = certified(oldRoot, decider, { issuedAtMs: SIGNED_AT_MS + 1 });
  const early = certified(root, decider);
  const late = certified(root, decider, { issuedAtMs: SIGNED_AT_MS + 2 });
  const before = start({ roots: [oldRoot, root], seen });
  before.reading.records(old, early, late).caughtUp();
  await settle();
  const { keys, reading, nextPass } = start({ seen, recheckMs: 1_000 });
  reading.records(old, early, late).caughtUp();
  await settle();
  expect(keys.problem()).toBeNull();
  const again = await nextPass();
  again.records(old, early);
  await settle();
  expect(keys.problem()).toBeNull();
  again.records(late).caughtUp();
  await settle();
  expect(keys.problem()).toBeNull();
});

test('a key of which less is said than was seen lets nobody be believed, and that is told', async () => {
  const seen = new SeenGenerations();
  const generation = certified(root, decider).headers.ce_fleetgcgeneration;
  const { keys, reading, objection, lines } = start({ seen });
  reading.records(certified(root, decider)).caughtUp();
  await settle();
  expect(keys.problem()).toBeNull();
  expect(seen.passedMs).toBe(SIGNED_AT_MS);
  expect([...seen.keys('keys')].length).toBeGreaterThan(0);
  expect(generation).toBe(String(SIGNED_AT_MS));
  expect(lines).toEqual([]);

  const later = start({ seen });
  later.reading.caughtUp();
  await settle();
  expect(later.keys.problem()).toContain(`gc.keys no longer holds all that was said of ${decider.keyId}`);
  const [told, ...more] = later.lines.map((line) => JSON.parse(line));
  expect(told).toMatchObject({
    level: 'error',
    topic: 'gc.keys',
    msg: expect.stringContaining('no longer holds'),
  });
  expect(more).toEqual([]);
  expect(later.objection).toThrow(expect.objectContaining({ code: 'KEYS_UNREADABLE' }));
  later.reading.records(certified(root, decider));
  await settle();
  expect(later.keys.problem()).toBeNull();
  expect(objection()).toBeNull();
});

test('of many keys of which less is said, some are named and the others counted', async () => {
  const lost = async (count: number): Promise<string> => {
    const seen = new SeenGenerations();
    const before = start({ seen });
    before.reading.records(...Array.from({ length: count }, () => certified(root, newKey()))).caughtUp();
    await settle();
    const now = start({ seen });
    now.reading.caughtUp();
    await settle();
    return now.keys.problem() ?? 'none';
  };
  expect(await lost(20)).toMatch(/all that was said of ([0-9a-f]{32}, ){19}[0-9a-f]{32}: /);
  expect(await lost(22)).toMatch(/all that was said of ([0-9a-f]{32}, ){19}[0-9a-f]{32} and 2 more: /);
});

test('while the topic cannot be read that is told once, and again when it changes', async () => {
  const { reading, lines, keys, nextPass } = await startedWithDecider();
  const told = (): readonly string[] =>
    lines.map((line) => JSON.parse(line)).map(({ topic, msg }) => `${topic}: ${msg}`);
  const failing = async (pass: ScriptedReading, why: string): Promise<ScriptedReading> => {
    pass.fail(new Error(why));
    await settle();
    return await nextPass();
  };
  const away = 'gc.keys: keys cannot be read: the broker is away';
  const second = await failing(reading, 'the broker is away');
  const third = await failing(second, 'the broker is away');
  expect(told()).toEqual([away]);
  expect(keys.ring().keys()).toHaveLength(1);
  const fourth = await failing(third, 'it is full');
  expect(told()).toEqual([away, 'gc.keys: keys cannot be read: it is full']);
  fourth.records(certified(root, decider)).caughtUp();
  await settle();
  await failing(fourth, 'it is full');
  expect(told()).toHaveLength(3);
});

test('who waits for the first reading is let go when the source is closed', async () => {
  const { keys } = start();
  await keys[Symbol.asyncDispose]();
  await keys.caughtUp;
  expect(keys.ring().keys()).toEqual([]);
});
