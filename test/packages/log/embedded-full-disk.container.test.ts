import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { logLines } from '../../support/log-lines.ts';
import { type SmallDisk, smallDisk } from '../../support/small-disk.ts';
import { outgoing, readAll, silentContext, text, uniqueKey } from './probe.ts';

const MEGABYTE = 1_000_000;
const MAX_BYTES = 256 * MEGABYTE;
/** What one publish of a relief weighs, about. */
const PIECE_BYTES = 100_000;

interface Opened {
  readonly log: EventLog;
  readonly said: readonly string[];
}

async function open(disk: SmallDisk, keepsSpace = true): Promise<Opened> {
  const lines = logLines();
  const logger = createLogger({ service: 'test', level: 'error' }, lines);
  const options = { path: join(disk.path, 'log.db'), maxBytes: MAX_BYTES, keepsSpace };
  const log = await openEmbeddedLog(options, silentContext({ logger }));
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  return { log, said: lines.lines };
}

const publishPiece = (log: EventLog, key: string): Promise<unknown> =>
  log.publish([outgoing({ key, value: randomBytes(PIECE_BYTES) })]);

async function publishPieces(log: EventLog, key: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await publishPiece(log, key);
}

const isWhole = (disk: SmallDisk): unknown => {
  const db = new DatabaseSync(join(disk.path, 'log.db'));
  try {
    return db.prepare('PRAGMA integrity_check').get();
  } finally {
    db.close();
  }
};

test('without space of its own a log cannot be written once its disk is full', async () => {
  const disk = smallDisk(80);
  const { log } = await open(disk, false);
  disk.fill();
  await expect(publishPieces(log, uniqueKey(), 60)).rejects.toMatchObject({ code: 'LOG_FULL' });
});

test('a log that keeps space is written on a full disk, and everything can be read', async () => {
  const disk = smallDisk(80);
  const { log } = await open(disk);
  const key = uniqueKey();
  disk.fill();
  await publishPieces(log, key, 60);
  await log.publish([outgoing({ key, value: Buffer.from('last') })]);
  const records = await readAll(log, key);
  expect(records).toHaveLength(61);
  expect(records.slice(-1).map(text)).toEqual(['last']);
  expect(log.health()).toEqual({ connected: true, problem: null });
});

test('a disk that stays full costs the oldest records, says so once, and never the newest', async () => {
  const disk = smallDisk(80);
  const { log, said } = await open(disk);
  const key = uniqueKey();
  disk.fill();
  await publishPieces(log, key, 400);
  await log.publish([outgoing({ key, value: Buffer.from('last') })]);
  const records = await readAll(log, key);
  expect(records.length).toBeGreaterThan(30);
  expect(records.length).toBeLessThan(400);
  expect(records.slice(-1).map(text)).toEqual(['last']);
  expect(said.filter((line) => line.includes('its oldest records go'))).toHaveLength(1);
  await log[Symbol.asyncDispose]();
  expect(isWhole(disk)).toEqual({ integrity_check: 'ok' });
});

test('a log with a history that fills its file goes on when the disk gets full', async () => {
  const disk = smallDisk(160);
  const { log } = await open(disk);
  const key = uniqueKey();
  await publishPieces(log, key, 500);
  disk.fill();
  await publishPieces(log, key, 200);
  await log.publish([outgoing({ key, value: Buffer.from('last') })]);
  expect((await readAll(log, key)).slice(-1).map(text)).toEqual(['last']);
});

test('a log that was closed is opened on a full disk, and written', async () => {
  const disk = smallDisk(80);
  const first = await open(disk);
  const key = uniqueKey();
  await first.log.publish([outgoing({ key, value: Buffer.from('before') })]);
  await first.log[Symbol.asyncDispose]();
  disk.fill();
  const second = await open(disk);
  await publishPieces(second.log, key, 60);
  expect((await readAll(second.log, key)).slice(0, 1).map(text)).toEqual(['before']);
});

test('what a full disk took is kept again once there is room', async () => {
  const disk = smallDisk(120);
  const first = await open(disk);
  await first.log[Symbol.asyncDispose]();
  disk.fill();
  const second = await open(disk);
  await second.log[Symbol.asyncDispose]();
  const reserve = join(disk.path, 'log.db-reserve');
  expect(existsSync(reserve)).toBe(false);
  disk.free();
  await open(disk);
  expect(existsSync(reserve)).toBe(true);
});

test('a disk without room for that is told at once, and a log grows as ever', async () => {
  const disk = smallDisk(30);
  const { log, said } = await open(disk);
  expect(said.join()).toContain('Could not reserve emergency space for the event log');
  const key = uniqueKey();
  await publishPieces(log, key, 20);
  expect(await readAll(log, key)).toHaveLength(20);
});

test('a first start on a full disk says what to do', async () => {
  const disk = smallDisk(30);
  disk.fill();
  await expect(open(disk)).rejects.toMatchObject({
    code: 'LOG_FULL',
    message: expect.stringMatching(/Free 40 MB on that disk.*--log-path/),
  });
  rmSync(join(disk.path, 'filler'));
  await expect(open(disk)).resolves.toBeDefined();
});
