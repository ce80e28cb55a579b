import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { FIRST_PART, LOCK_FILE, passFile, UNFINISHED } from '../../../packages/archive/file-names.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { archived, logOf } from '../audit/support/archives.ts';
import { at, describePlace } from './support/place-contract.ts';

describePlace('a directory', async () => {
  const place = temporaryDirectory();
  return {
    place,
    files: async () =>
      readdirSync(place, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== 'archive.lock')
        .map((entry) => relative(place, join(entry.parentPath, entry.name)))
        .toSorted(),
    read: async (name) => readFileSync(join(place, name)),
    write: async (name, content) => {
      mkdirSync(dirname(join(place, name)), { recursive: true });
      writeFileSync(join(place, name), content);
    },
    remove: async (name) => rmSync(join(place, name)),
  };
});

test('DuckDB reads an archive as a table without us, in a directory', async () => {
  const place = temporaryDirectory();
  await archived(logOf([at(0), at(1), at(0, { topic: TOPICS.observe.name })]), place);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const rows = await connection.runAndReadAll(
    `SELECT topic, "date"::VARCHAR AS day, count(*)::INTEGER AS n FROM
       read_parquet('${place}/records/*/*/*.parquet', hive_partitioning = true)
     WHERE topic = 'gc.node.inventory' AND "date" >= DATE '2026-01-01' GROUP BY ALL`,
  );
  expect(rows.getRowObjectsJson()).toEqual([{ topic: 'gc.node.inventory', day: '2026-01-01', n: 2 }]);
  connection.closeSync();
  instance.closeSync();
});

describe('where somebody else may write to the directory', () => {
  const PRECIOUS = 'of somebody else';
  const planted = () => {
    const place = temporaryDirectory();
    const elsewhere = temporaryDirectory();
    const victim = join(elsewhere, 'victim');
    writeFileSync(victim, PRECIOUS);
    return { place, elsewhere, victim };
  };
  const log = logOf([at(0), at(1), at(0, { topic: TOPICS.observe.name })]);

  test.each([FIRST_PART, `${FIRST_PART}${UNFINISHED}`, LOCK_FILE, `${LOCK_FILE}-journal`, passFile(null)])(
    'a link named %s leads nowhere',
    async (name) => {
      const { place, elsewhere, victim } = planted();
      symlinkSync(victim, join(place, name));
      await archived(log, place).catch(() => undefined);
      expect(readFileSync(victim, 'utf8')).toBe(PRECIOUS);
      rmSync(join(place, name), { force: true });
      symlinkSync(join(elsewhere, 'made'), join(place, name));
      await archived(log, place).catch(() => undefined);
      expect(readdirSync(elsewhere)).toEqual(['victim']);
    },
  );

  test('a folder that is a link is not written to', async () => {
    const { place, elsewhere } = planted();
    await archived(log, place);
    rmSync(join(place, 'records'), { recursive: true });
    symlinkSync(elsewhere, join(place, 'records'));
    const longer = logOf([at(0), at(1), at(0, { topic: TOPICS.observe.name }), at(2)]);
    await expect(archived(longer, place)).rejects.toThrow(/records.*link/);
    expect(readdirSync(elsewhere)).toEqual(['victim']);
  });

  test('a pipe in place of a file keeps no reader waiting', async () => {
    const { place } = planted();
    await archived(log, place);
    rmSync(join(place, FIRST_PART));
    execFileSync('mkfifo', [join(place, FIRST_PART)]);
    await expect(archived(log, place)).rejects.toThrow(FleetGcError);
  });

  test('all files of it are for their user alone', async () => {
    const { place } = planted();
    await archived(log, place);
    const wide = readdirSync(place, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => (statSync(path).mode & 0o077) !== 0);
    expect(wide).toEqual([]);
  });
});
