import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  collector,
  deferred,
  outgoing,
  readAll,
  silentContext,
  subscriptionOf,
  text,
  uniqueKey,
  until,
} from './probe.ts';

const MEBIBYTE = 1024 * 1024;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
let path: string;
let nowMs: number;
beforeEach(() => {
  path = join(temporaryDirectory(), 'events.sqlite');
  nowMs = Date.UTC(2026, 0, 1);
});

/** Opening cleans once, so a test opens again where it wants retention to run. */
async function open(maxBytes = 256 * MEBIBYTE, leavesRetention = false): Promise<EventLog> {
  const options = { path, maxBytes, leavesRetention };
  const log = await openEmbeddedLog(options, silentContext({ now: () => nowMs }));
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  return log;
}

const publish = (log: EventLog, topic: TopicName, key: string, value: string | null) =>
  log.publish([outgoing({ topic, key, value: value === null ? null : Buffer.from(value) })]);

const texts = async (log: EventLog, topic: TopicName, key: string) =>
  (await readAll(log, key, { topic })).map(text);

test("the time of a record is the log's own, and never goes back within a partition", async () => {
  const log = await open();
  const key = uniqueKey();
  for (const stepMs of [0, 5000, -HOUR_MS, HOUR_MS]) {
    nowMs += stepMs;
    await publish(log, 'gc.node.results', key, 'x');
  }
  const start = Date.UTC(2026, 0, 1);
  expect((await readAll(log, key)).map((record) => record.timestampMs - start)).toEqual([
    0, 5000, 5000, 5000,
  ]);
});

describe('retention', () => {
  test('by time: a record is kept for as long as its topic says, and offsets go on', async () => {
    const key = uniqueKey();
    const first = await open();
    await publish(first, 'gc.node.observe', key, 'old');
    await publish(first, 'gc.node.results', key, 'kept 14 days');
    nowMs += DAY_MS;
    const second = await open();
    await until('nothing to do', async () => (await texts(second, 'gc.node.observe', key)).length === 1);
    nowMs += 1;
    const third = await open();
    await until('the old one to go', async () => (await texts(third, 'gc.node.observe', key)).length === 0);
    await publish(third, 'gc.node.observe', key, 'new');
    expect((await readAll(third, key, { topic: 'gc.node.observe' })).map((record) => record.offset)).toEqual([
      1n,
    ]);
    expect(await texts(third, 'gc.node.results', key)).toEqual(['kept 14 days']);
  });

  test('who only asks deletes nothing', async () => {
    const key = uniqueKey();
    const log = await open();
    await publish(log, 'gc.node.observe', key, 'old');
    await log[Symbol.asyncDispose]();
    nowMs += 2 * DAY_MS;
    for (const time of ['first', 'second']) {
      await using asking = await open(256 * MEBIBYTE, true);
      expect(await texts(asking, 'gc.node.observe', key), time).toEqual(['old']);
    }
  });

  test('a consumer whose place was deleted goes on with what is kept', async () => {
    const key = uniqueKey();
    const log = await open();
    const spec = subscriptionOf({ topics: ['gc.node.observe'] });
    const seen = collector(key);
    const before = await log.subscribe(spec, seen.handle);
    await until('a member', () => before.state().assigned.length > 0);
    await before.stop();
    for (const value of ['1', '2', '3']) await publish(log, 'gc.node.observe', key, value);
    nowMs += DAY_MS + 1;
    const cleaned = await open();
    await until('the old to go', async () => (await texts(cleaned, 'gc.node.observe', key)).length === 0);
    await publish(cleaned, 'gc.node.observe', key, '4');
    await cleaned.subscribe(spec, seen.handle);
    await until('the kept record', () => seen.records.length > 0);
    expect(seen.texts()).toEqual(['4']);
  });

  test('by size: the oldest go first, and what is kept for ever stays', async () => {
    const key = uniqueKey();
    const log = await open(16 * MEBIBYTE);
    await publish(log, 'gc.policies', key, 'policy');
    await publish(log, 'gc.policy-versions', key, 'version');
    const topics = ['gc.node.results', 'gc.node.inventory'] as const;
    for (let number = 0; number < 12; number += 1) {
      const topic = topics[number % 2] ?? 'gc.node.results';
      await log.publish([
        outgoing({ topic, key, value: Buffer.concat([Buffer.from(`${number} `), randomBytes(MEBIBYTE)]) }),
      ]);
    }
    const cleaned = await open(16 * MEBIBYTE);
    const kept = async () =>
      (await Promise.all(topics.map((topic) => readAll(cleaned, key, { topic }))))
        .flat()
        .map((record) => Number(record.value?.toString('latin1').split(' ')[0]))
        .toSorted((a, b) => a - b);
    await until('the oldest to go', async () => (await kept()).length < 12);
    const numbers = await kept();
    expect(numbers.at(-1)).toBe(11);
    expect(numbers).toEqual(
      Array.from({ length: numbers.length }, (_, index) => 12 - numbers.length + index),
    );
    expect(await texts(cleaned, 'gc.policies', key)).toEqual(['policy']);
    expect(await texts(cleaned, 'gc.policy-versions', key)).toEqual(['version']);
  });
});

describe('compaction', () => {
  test('keeps the latest of each key, and a deletion for a day', async () => {
    const [a, b] = [uniqueKey(), uniqueKey()];
    const log = await open();
    for (const value of ['1', '2', '3']) await publish(log, 'gc.policies', a, value);
    await publish(log, 'gc.policies', b, '1');
    await publish(log, 'gc.policies', b, null);
    const second = await open();
    await until('one of each key', async () => (await texts(second, 'gc.policies', a)).length === 1);
    expect([await texts(second, 'gc.policies', a), await texts(second, 'gc.policies', b)]).toEqual([
      ['3'],
      ['(tombstone)'],
    ]);
    nowMs += DAY_MS + 1;
    const third = await open();
    await until('the deletion to go', async () => (await texts(third, 'gc.policies', b)).length === 0);
    expect(await texts(third, 'gc.policies', a)).toEqual(['3']);
  });

  test('topics that are not compacted keep every record of a key', async () => {
    const key = uniqueKey();
    const log = await open();
    for (const value of ['1', '2', null]) await publish(log, 'gc.policy-versions', key, value);
    const again = await open();
    expect(await texts(again, 'gc.policy-versions', key)).toEqual(['1', '2', '(tombstone)']);
  });
});

/** How far the group is on the partition where its only record lies. */
function committed(group: string): unknown {
  const db = new DatabaseSync(path, { readOnly: true });
  const row = db.prepare('SELECT max(next_offset) AS n FROM offsets WHERE group_name = ?').get(group);
  db.close();
  return row?.n;
}

describe('the lease', () => {
  test('of an owner that is silent for 6 s is free; its late commit is refused, and the record comes to the other', async () => {
    const key = uniqueKey();
    const spec = subscriptionOf();
    const silent = await open();
    const gate = deferred();
    const entered = deferred();
    const first = await silent.subscribe(spec, async () => {
      entered.resolve();
      await gate.promise;
    });
    await publish(silent, 'gc.node.results', key, 'x');
    await entered.promise;

    nowMs += 6001;
    const other = await open();
    const taken = deferred();
    await other.subscribe(spec, async () => {
      taken.resolve();
      await new Promise(() => undefined);
    });
    await taken.promise;
    gate.resolve();
    await until('the first to stand by', () => first.state().assigned.length === 0);
    expect(committed(spec.group)).toBe(0);
    expect(first.state().joined).toBe(true);
  });

  test('written before the clock was set back does not lock the group out', async () => {
    const key = uniqueKey();
    const spec = subscriptionOf();
    const log = await open();
    const db = new DatabaseSync(path);
    db.prepare('INSERT INTO leases VALUES (?, ?, ?)').run(spec.group, 'gone', nowMs + HOUR_MS);
    db.close();
    const seen = collector(key);
    await log.subscribe(spec, seen.handle);
    await publish(log, 'gc.node.results', key, 'x');
    await until('the record', () => seen.records.length === 1);
  });
});
