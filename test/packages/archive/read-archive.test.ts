import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileName } from '../../../packages/archive/file-names.ts';
import { ARCHIVE_VERSION } from '../../../packages/archive/manifest.ts';
import { openArchiveLog } from '../../../packages/archive/read-archive.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord, ReadFrom } from '../../../packages/log/port.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { archived, logOf, recordsOf } from '../audit/support/archives.ts';

const INVENTORY = TOPICS.inventory.name;
/** Offset and time; two to a file. Of partition 3 the first offsets are gone, and its clock stepped back once. */
const TIMES = {
  3: [
    [5, 100],
    [6, 300],
    [7, 200],
    [8, 400],
    [9, 500],
  ],
  4: [[0, 250]],
} as const;

const records = Object.entries(TIMES).flatMap(([partition, times]) =>
  times.map(
    ([offset, timestampMs]): LogRecord =>
      recordOf(nodeOutput('inventory', inventory({ id: `${partition}-${offset}` })), {
        partition: Number(partition),
        offset: BigInt(offset),
        timestampMs,
      }),
  ),
);

let directory = '';

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
  await archived(logOf(records), directory, { limits: { rows: 2, rawBytes: 1_000_000 } });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function idsFrom(from: ReadFrom, partition?: number): Promise<(string | undefined)[]> {
  await using log = await openArchiveLog(directory);
  const found = await recordsOf(log, {
    topic: INVENTORY,
    from,
    ...(partition !== undefined && { partition }),
  });
  return found.map(({ headers }) => headers.ce_id);
}

test.each<{ name: string; from: ReadFrom; partition?: number; finds: string[] }>([
  { name: 'everything', from: 'earliest', finds: ['3-5', '3-6', '3-7', '3-8', '3-9', '4-0'] },
  { name: 'one partition', from: 'earliest', partition: 4, finds: ['4-0'] },
  { name: 'a partition with nothing', from: 'earliest', partition: 5, finds: [] },
  {
    name: 'from an offset within a file',
    from: { offset: 6n },
    partition: 3,
    finds: ['3-6', '3-7', '3-8', '3-9'],
  },
  {
    name: 'from the first offset of a file',
    from: { offset: 7n },
    partition: 3,
    finds: ['3-7', '3-8', '3-9'],
  },
  {
    name: 'from an offset before the first',
    from: { offset: 1n },
    partition: 3,
    finds: ['3-5', '3-6', '3-7', '3-8', '3-9'],
  },
  { name: 'from an offset after the last', from: { offset: 10n }, partition: 3, finds: [] },
  {
    name: 'from a time on, that time included',
    from: { timestampMs: 400 },
    partition: 3,
    finds: ['3-8', '3-9'],
  },
  {
    name: 'from a time on, with what came after it at an earlier time',
    from: { timestampMs: 250 },
    finds: ['3-6', '3-7', '3-8', '3-9', '4-0'],
  },
  { name: 'from a time after the last', from: { timestampMs: 501 }, finds: [] },
])('reads $name', async ({ from, partition, finds }) => {
  expect(await idsFrom(from, partition)).toEqual(finds);
});

test('the mark at the end, and none after a stop, which nobody takes for the end', async () => {
  await using log = await openArchiveLog(directory);
  const stopping = new AbortController();
  const kinds: string[] = [];
  for await (const { kind } of log.read({ topic: INVENTORY, from: 'earliest', to: 'end' })) kinds.push(kind);
  expect(kinds).toEqual([...records.map(() => 'record'), 'caught-up']);

  const stopped: string[] = [];
  const readUntilStopped = async (): Promise<void> => {
    for await (const { kind } of log.read(
      { topic: INVENTORY, from: 'earliest', to: 'end' },
      stopping.signal,
    )) {
      stopped.push(kind);
      stopping.abort();
    }
  };
  await expect(readUntilStopped()).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(stopped).toEqual(['record']);
});

test.each([
  { name: 'for ever', request: { to: 'forever' } as const },
  { name: 'a partition that no topic has', request: { partition: 77 } },
])('refuses to read $name', async ({ request }) => {
  await using log = await openArchiveLog(directory);
  await expect(recordsOf(log, request)).rejects.toMatchObject({ code: 'USAGE' });
});

test('several readings at once do not disturb each other', async () => {
  await using log = await openArchiveLog(directory);
  const counts = await Promise.all(
    [3, 4, 3, 3].map(async (partition) => (await recordsOf(log, { partition })).length),
  );

  expect(counts).toEqual([5, 1, 5, 5]);
});

test('what another file took the place of is not read, also when it was read before', async () => {
  const [own, other] = [temporaryDirectory(), temporaryDirectory()];
  await archived(logOf(records), own);
  await archived(logOf(records.slice(0, 1)), other);
  await using log = await openArchiveLog(own);
  expect(await recordsOf(log, { partition: 3 })).toHaveLength(5);
  const file = fileName(
    ARCHIVE_VERSION,
    { topic: INVENTORY, partition: 3, firstOffset: 5n, lastMs: records[0]?.timestampMs ?? 0 },
    null,
  );
  copyFileSync(join(other, file), join(own, file));
  await expect(recordsOf(log, { partition: 3 })).rejects.toMatchObject({ code: 'ARCHIVE_CHANGED' });
});

test('no archive is told as such', async () => {
  await expect(openArchiveLog(temporaryDirectory())).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
