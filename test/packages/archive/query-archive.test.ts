import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ArchiveQuery, type QueryRow, queryArchive } from '../../../packages/archive/query-archive.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { archived, logOf, recordsFile } from '../audit/support/archives.ts';

const listed = (offset: number, over: Partial<LogRecord> = {}): LogRecord =>
  recordOf(nodeOutput('inventory', inventory({ id: `i${offset}` })), { offset: BigInt(offset), ...over });

let directory = '';
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "fleetgc-test-it's-"));
  await archived(logOf([listed(0), listed(1), listed(2, { value: Buffer.of(255) })]), directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function answer(sql: string, over: Partial<ArchiveQuery> = {}): Promise<QueryRow[]> {
  const rows: QueryRow[] = [];
  const query = { place: directory, sql, check: true, onProgress: () => undefined, ...over };
  for await (const row of queryArchive(query, new AbortController().signal)) rows.push(row);
  return rows;
}

test.each<{ name: string; sql: string; gives: QueryRow[] }>([
  {
    name: 'the records of every topic',
    sql: `SELECT topic, "offset", headers->>'ce_id' AS id FROM records WHERE "offset" < 1`,
    gives: [{ topic: TOPICS.inventory.name, offset: '0', id: 'i0' }],
  },
  {
    name: 'the events of a topic, also where one is no JSON',
    sql: `SELECT event->>'id' AS id, event->>'node' AS node FROM inventory ORDER BY "offset"`,
    gives: [
      { id: 'i0', node: 'web-1' },
      { id: 'i1', node: 'web-1' },
      { id: null, node: null },
    ],
  },
  { name: 'a topic that has nothing', sql: 'SELECT count(*) AS n FROM disk_stats', gives: [{ n: '0' }] },
])('answers from $name', async ({ sql, gives }) => {
  expect(await answer(sql)).toEqual(gives);
});

test.each([
  { name: 'other files', sql: () => `SELECT * FROM read_text('${import.meta.filename}')` },
  { name: 'the manifest', sql: (root: string) => `SELECT * FROM read_text('${root}/manifest.jsonl')` },
  { name: 'to write beside the archive', sql: (root: string) => `COPY (SELECT 1) TO '${root}/x.csv'` },
  {
    name: 'to write over a file',
    sql: (root: string) => `COPY (SELECT 1) TO '${root}/${firstFile()}' (USE_TMP_FILE false)`,
  },
  {
    name: 'to write by EXPLAIN ANALYZE',
    sql: (root: string) => `EXPLAIN ANALYZE COPY (SELECT 1) TO '${root}/${firstFile()}' (USE_TMP_FILE false)`,
  },
  { name: 'to attach a database', sql: (root: string) => `ATTACH '${root}/x.db'` },
  { name: 'to load an extension', sql: () => 'LOAD httpfs' },
  { name: 'to change a setting', sql: () => "SET memory_limit = '100GB'" },
  { name: 'two statements', sql: () => 'SELECT 1; SELECT 2' },
  { name: 'no statement', sql: () => '--' },
  { name: 'what is no SQL', sql: () => 'SELEKT 1' },
  { name: 'what fails in the middle', sql: () => 'SELECT error(id) FROM records' },
])('refuses $name', async ({ sql }) => {
  const root = directory.replaceAll("'", "''");
  const before = [readdirSync(directory), readFileSync(join(directory, firstFile()))];

  await expect(answer(sql(root))).rejects.toMatchObject({ code: 'USAGE' });
  expect([readdirSync(directory), readFileSync(join(directory, firstFile()))]).toEqual(before);
});

const firstFile = (): string => recordsFile(directory, TOPICS.inventory.name);

test('files that are not as they were written are not asked, unless that is wanted; others do not matter', async () => {
  const changed = temporaryDirectory();
  await archived(logOf([listed(0), listed(1, { topic: TOPICS.observe.name })]), changed);
  const path = join(changed, recordsFile(changed, TOPICS.observe.name));
  appendFileSync(path, 'PAR1');
  const count = (view: string) => `SELECT count(*) AS n FROM ${view}`;

  for (const view of ['observe', 'records', '"OBSERVE"', `read_parquet('${path}')`])
    await expect(answer(count(view), { place: changed })).rejects.toMatchObject({
      code: 'ARCHIVE_CHANGED',
    });
  expect(await answer(count('inventory'), { place: changed })).toEqual([{ n: '1' }]);
  await expect(answer(count('observe'), { place: changed, check: false })).rejects.toMatchObject({
    code: 'USAGE',
  });
});
