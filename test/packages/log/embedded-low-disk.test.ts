import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { SpareSpace } from '../../../packages/log/embedded/file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MEBIBYTE = 1024 * 1024;

test('a disk that is nearly full is reported once, while there is still space to write, and again after it had more', () => {
  const path = join(temporaryDirectory(), 'event-log.db');
  using db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  const told: string[] = [];
  let freeMebibytes = 300;
  const space = new SpareSpace(
    db,
    path,
    64 * MEBIBYTE,
    (message) => told.push(message),
    () => freeMebibytes * MEBIBYTE,
  );
  const reportedAt = (mebibytes: number): number => {
    freeMebibytes = mebibytes;
    space.keep();
    return told.filter((message) => message.includes(' left. Free space on it')).length;
  };
  expect([300, 255, 200, 100, 300, 200].map(reportedAt)).toEqual([0, 1, 1, 1, 1, 2]);
});
