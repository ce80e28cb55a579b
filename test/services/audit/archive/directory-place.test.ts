import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { archived, logOf } from '../support/archives.ts';
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
