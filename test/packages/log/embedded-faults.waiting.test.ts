import { randomBytes } from 'node:crypto';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import type { EventLog, EventLogContext } from '../../../packages/log/port.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  collector,
  outgoing,
  readAll,
  silentContext,
  subscriptionOf,
  text,
  uniqueKey,
  until,
} from './probe.ts';

const MEBIBYTE = 1024 * 1024;
let path: string;
beforeEach(() => {
  path = join(temporaryDirectory(), 'events.sqlite');
});

async function open(over: Partial<EventLogContext> = {}, maxBytes = 64 * MEBIBYTE): Promise<EventLog> {
  const log = await openEmbeddedLog({ path, maxBytes }, silentContext(over));
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  return log;
}

/** Another program that has the file open. */
function foreigner(): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 1000 });
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  return db;
}

const count = (db: DatabaseSync, table: string): unknown =>
  db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n;

describe('a foreign writer that holds the lock', () => {
  test('for more than 5 s: a clear error, nothing written, and it goes on afterwards', async () => {
    const log = await open();
    const key = uniqueKey();
    const other = foreigner();
    other.exec('BEGIN IMMEDIATE');
    const turns: number[] = [];
    const ticking = setInterval(() => turns.push(1), 10);
    onTestFinished(() => clearInterval(ticking));

    await expect(log.publish([outgoing({ key })])).rejects.toMatchObject({
      code: 'LOG_BUSY',
      retry: true,
      message: expect.stringContaining('locked by another process for 5 s'),
    });
    expect(turns.length).toBeGreaterThan(100);
    expect(log.health()).toEqual({ connected: false, problem: expect.stringContaining('locked') });
    other.exec('ROLLBACK');
    expect(await readAll(log, key)).toEqual([]);
    await log.publish([outgoing({ key })]);
    expect(await readAll(log, key)).toHaveLength(1);
    expect(log.health()).toEqual({ connected: true, problem: null });
  });

  test('for a moment: writes wait and keep their order', async () => {
    const log = await open();
    const key = uniqueKey();
    const other = foreigner();
    other.exec('BEGIN IMMEDIATE');
    const publishes = ['1', '2', '3'].map((value) =>
      log.publish([outgoing({ key, value: Buffer.from(value) })]),
    );
    await new Promise((resolve) => setTimeout(resolve, 60));
    other.exec('ROLLBACK');
    await Promise.all(publishes);
    expect((await readAll(log, key)).map(text)).toEqual(['1', '2', '3']);
  });

  test('while the log is opened: opening waits', async () => {
    await open();
    const other = foreigner();
    other.exec('BEGIN IMMEDIATE');
    setTimeout(() => other.exec('ROLLBACK'), 50);
    await expect(open()).resolves.toBeDefined();
  });
});

describe('a full disk', () => {
  test('a clear error, nothing of the publish is kept, and what was there can be read', async () => {
    const log = await open({}, 16 * MEBIBYTE);
    const key = uniqueKey();
    await log.publish([outgoing({ key, value: Buffer.from('before') })]);
    const batch = [
      outgoing({ key, value: Buffer.from('first half') }),
      ...Array.from({ length: 6 }, () => outgoing({ key, value: randomBytes(3 * MEBIBYTE) })),
    ];
    await expect(log.publish(batch)).rejects.toMatchObject({ code: 'LOG_FULL', retry: true });

    expect((await readAll(log, key)).map(text)).toEqual(['before']);
    const other = foreigner();
    expect(count(other, 'records')).toBe(1);
    expect(other.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    await log.publish([outgoing({ key, value: Buffer.from('after') })]);
    expect((await readAll(log, key)).map(text)).toEqual(['before', 'after']);
  });

  test('a consumer whose group cannot be written goes on when there is room again', async () => {
    const log = await open({}, 16 * MEBIBYTE);
    const key = uniqueKey();
    const seen = collector(key);
    const member = await log.subscribe(subscriptionOf(), seen.handle);
    await until('a member', () => member.state().assigned.length > 0);
    const fill = () => log.publish([outgoing({ value: randomBytes(2 * MEBIBYTE) })]);
    await expect(
      (async () => {
        for (;;) await fill();
      })(),
    ).rejects.toMatchObject({ code: 'LOG_FULL' });
    await log.publish([outgoing({ key, value: Buffer.from('small') })]);
    await until('the small record', () => seen.texts().includes('small'));
  });
});

describe('a file that is not readable', () => {
  test('a file of something else: an error that asks for the right path, and the file is left alone', async () => {
    const garbage = randomBytes(100_000);
    writeFileSync(path, garbage);
    await expect(open()).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      retry: false,
      message: expect.stringMatching(/is no event log of FleetGC: .* Check --log-path/),
    });
    expect(readFileSync(path)).toEqual(garbage);
    expect(readdirSync(dirname(path))).toEqual([basename(path)]);
  });

  test('an SQLite file of something else', async () => {
    const db = foreigner();
    db.exec('CREATE TABLE bookmarks (url TEXT)');
    await expect(open()).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' });
  });

  test('an SQLite file that another program has marked as its own, empty as it is', async () => {
    foreigner().exec('PRAGMA application_id = 77');
    await expect(open()).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
    expect(foreigner().prepare('PRAGMA application_id').get()).toEqual({ application_id: 77 });
  });

  test.each([1, 99])('a log of another release: format %d', async (format) => {
    await open();
    foreigner().exec(`PRAGMA user_version = ${format}`);
    await expect(open()).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      message: expect.stringContaining(
        `another release wrote it: its format is ${format}, and this release reads 2`,
      ),
    });
  });

  test('damaged in the middle: reading fails, and a subscription ends with the cause', async () => {
    const first = await openEmbeddedLog({ path, maxBytes: 64 * MEBIBYTE }, silentContext());
    await first.createTopics();
    await first.publish(Array.from({ length: 200 }, () => outgoing({ value: randomBytes(2000) })));
    await first[Symbol.asyncDispose]();
    const file = openSync(path, 'r+');
    for (let page = 20; page < statSync(path).size / 4096; page += 1)
      writeSync(file, randomBytes(4096), 0, 4096, page * 4096);
    closeSync(file);

    const log = await open();
    await expect(readAll(log, 'any')).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
    const member = await log.subscribe(subscriptionOf(), async () => undefined);
    await expect(member.finished).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
    expect(member.state()).toMatchObject({ joined: false, problem: expect.stringContaining(path) });
  });

  test.each([
    { at: '/dev/null/events.sqlite', says: '/dev/null is no directory. Name another file' },
    { at: '/proc/fleetgc/events.sqlite', says: '/proc takes no new directories. Name another file' },
  ])('a directory that cannot be made: $at', async ({ at, says }) => {
    path = at;
    await expect(open()).rejects.toMatchObject({
      code: 'LOG_UNREACHABLE',
      message: expect.stringContaining(says),
    });
  });
});

describe('a file that was moved away while it was open', () => {
  const follow = async (log: EventLog): Promise<void> => {
    for await (const event of log.read({ topic: 'gc.policies', from: 'earliest', to: 'forever' }))
      expect(event).toEqual({ kind: 'caught-up' });
  };
  const moved = { code: 'LOG_UNREACHABLE', message: expect.stringMatching(/restart this process/) };

  test.each([{ after: 'and made anew' }, { after: 'and not made anew' }])(
    '$after: whoever reads, writes or follows is told',
    async ({ after }) => {
      const log = await open();
      const following = expect(follow(log)).rejects.toMatchObject(moved);
      const member = await log.subscribe(subscriptionOf(), async () => undefined);
      await until('a member', () => member.state().joined);
      for (const suffix of ['', '-wal', '-shm']) renameSync(path + suffix, `${path}.old${suffix}`);
      if (after === 'and made anew') await open();

      await following;
      await expect(log.publish([outgoing()])).rejects.toMatchObject(moved);
      await expect(readAll(log, 'any')).rejects.toMatchObject(moved);
      await until('the member to say so', () => /restart this process/.test(member.state().problem ?? ''));
      expect(log.health()).toMatchObject({ connected: false, problem: expect.stringContaining(path) });
    },
  );
});
