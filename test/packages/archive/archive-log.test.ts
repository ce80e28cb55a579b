import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openArchiveWriter } from '../../../packages/archive/archive-writer.ts';
import { fileName } from '../../../packages/archive/file-names.ts';
import { ARCHIVE_VERSION } from '../../../packages/archive/manifest.ts';
import { openArchiveLog } from '../../../packages/archive/read-archive.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogReader, LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { interrupted } from '../../../packages/log/stopping.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { decision } from '../../fixtures/outputs.ts';
import { onLog, outgoing } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { archived, checked, logOf, NOTED_MS, recordsOf } from '../audit/support/archives.ts';
import { timedLog } from '../audit/support/timed-log.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 0, 1, 12);
const INVENTORY = TOPICS.inventory.name;
const listed = (id: string, node = 'web-1') =>
  outgoing(nodeOutput('inventory', inventory({ id, node, status: 'complete' })));
const stats = (id: string) => outgoing(nodeOutput('diskStats', diskStats({}, { id })));
const at = (offset: number, over: Partial<LogRecord> = {}): LogRecord =>
  onLog(listed(`i${offset}`), {
    offset: BigInt(offset),
    partition: 3,
    timestampMs: NOW_MS + offset,
    ...over,
  });
const offsetsOf = (records: readonly LogRecord[]): number[] => records.map(({ offset }) => Number(offset));

async function archivedRecords(directory: string, topic: keyof typeof TOPICS = 'inventory') {
  await using archive = await openArchiveLog(directory);
  return await recordsOf(archive, { topic: TOPICS[topic].name });
}

const filesIn = (directory: string, topic: string = INVENTORY): string[] => {
  const path = join(directory, 'records', `topic=${topic}`);
  const files = existsSync(path) ? readdirSync(path, { recursive: true, withFileTypes: true }) : [];
  return files.flatMap((file) => (file.isFile() ? [file.name] : [])).toSorted();
};

test('every record of every topic comes back from the archive as it lies on the log', async () => {
  const { log, publishAt } = await timedLog();
  const directory = join(temporaryDirectory(), 'new', 'archive');
  const odd: OutgoingRecord = {
    topic: INVENTORY,
    key: "it's",
    value: Buffer.from([0, 255, 39]),
    headers: { b: '"', a: '' },
  };
  await publishAt(
    NOW_MS,
    listed('i1'),
    stats('s1'),
    odd,
    { ...odd, value: null },
    { ...odd, value: Buffer.of() },
  );
  await publishAt(NOW_MS + 1, listed('i2'), listed('other', 'web-2'), listed('i3'));
  await publishAt(NOW_MS + 2, outgoing(nodeOutput('decisions', decision())));
  const { records, head, lost } = await archived(log, directory);

  expect({ records, lost }).toEqual({ records: 9, lost: [] });
  for (const topic of Object.keys(TOPICS) as TopicId[])
    expect(await archivedRecords(directory, topic)).toEqual(
      await recordsOf(log, { topic: TOPICS[topic].name }),
    );
  expect(await checked(directory)).toMatchObject({
    deviations: [],
    gaps: [],
    unfinished: [],
    records: 9,
    head,
  });
});

test('a second run adds what came since, and nothing twice', async () => {
  const { log, publishAt } = await timedLog();
  const directory = temporaryDirectory();
  await publishAt(NOW_MS, listed('i1'), listed('i2'));
  await archived(log, directory);
  const again = await archived(log, directory);
  await publishAt(NOW_MS + 5, listed('i3'));
  const added = await archived(log, directory);

  expect([again.records, added.records]).toEqual([0, 1]);
  expect(again.head).not.toBe(added.head);
  expect(offsetsOf(await archivedRecords(directory))).toEqual([0, 1, 2]);
  expect((await checked(directory, again.head)).deviations).toEqual([]);
});

test.each<{ name: string; records: LogRecord[]; files: number[] }>([
  {
    name: 'the day of the log',
    records: [
      at(0, { timestampMs: DAY_MS - 1 }),
      at(1, { timestampMs: DAY_MS }),
      at(2, { timestampMs: DAY_MS }),
    ],
    files: [0, 1],
  },
  { name: 'the most rows', records: [0, 1, 2, 3, 4, 5].map((offset) => at(offset)), files: [0, 4] },
  {
    name: 'the most bytes',
    records: [at(0, { value: Buffer.alloc(9_000) }), at(1, { value: Buffer.alloc(9_000) }), at(2)],
    files: [0, 1],
  },
  {
    name: 'the most bytes, where one record is larger',
    records: [at(0), at(1, { value: Buffer.alloc(19_000) }), at(2)],
    files: [0, 1, 2],
  },
])('a file ends with $name', async ({ records, files }) => {
  const directory = temporaryDirectory();
  await archived(logOf(records), directory, { limits: { rows: 4, rawBytes: 14_000 } });

  expect(filesIn(directory)).toEqual(files.map((first) => `003-${String(first).padStart(19, '0')}.parquet`));
  expect(await archivedRecords(directory)).toEqual(records);
});

test('records that retention deleted before they were archived are a gap, in the archive and in what is told', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([at(4), at(5)]), directory);
  const { lost, records } = await archived(logOf([at(9), at(10)]), directory);

  expect({ lost, records }).toEqual({
    lost: [{ topic: INVENTORY, partition: 3, firstOffset: 6n, lastOffset: 8n }],
    records: 2,
  });
  expect(offsetsOf(await archivedRecords(directory))).toEqual([4, 5, 9, 10]);
  expect(await checked(directory)).toMatchObject({
    deviations: [],
    gaps: [{ partition: 3, firstOffset: '6', lastOffset: '8', notedAtMs: NOTED_MS }],
  });
});

test('records missing in the middle of the log are a gap too', async () => {
  const directory = temporaryDirectory();
  const { lost } = await archived(logOf([at(0), at(2)]), directory);

  expect(lost).toEqual([{ topic: INVENTORY, partition: 3, firstOffset: 1n, lastOffset: 1n }]);
  expect(offsetsOf(await archivedRecords(directory))).toEqual([0, 2]);
});

test('a log that retention emptied has no gap until something comes after it', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([at(4), at(5)]), directory);

  expect((await archived(logOf([]), directory)).lost).toEqual([]);
  expect((await archived(logOf([at(6)]), directory)).lost).toEqual([]);
  expect(offsetsOf(await archivedRecords(directory))).toEqual([4, 5, 6]);
});

test('on a compacted topic missing offsets are no gap', async () => {
  const directory = temporaryDirectory();
  const policy = (offset: number) => at(offset, { topic: TOPICS.policies.name, partition: 0 });
  await archived(logOf([policy(1), policy(4)]), directory);
  const { lost } = await archived(logOf([policy(7)]), directory);

  expect(lost).toEqual([]);
  expect(offsetsOf(await archivedRecords(directory, 'policies'))).toEqual([1, 4, 7]);
  expect((await checked(directory)).deviations).toEqual([]);
});

test.each<{ name: string; now: LogRecord[] }>([
  { name: 'the same offset has another time', now: [at(0), at(1, { timestampMs: NOW_MS + 77 }), at(2)] },
  { name: 'it is shorter', now: [at(0, { timestampMs: NOW_MS + 77 })] },
])('another log is refused: $name', async ({ now }) => {
  const directory = temporaryDirectory();
  await archived(logOf([at(0), at(1)]), directory);

  await expect(archived(logOf(now), directory)).rejects.toMatchObject({ code: 'TOPICS_RECREATED' });
  expect(offsetsOf(await archivedRecords(directory))).toEqual([0, 1]);
});

test('a killed archiver: half a line, a file that is not whole, and a whole one without its line are written anew', async () => {
  const directory = temporaryDirectory();
  const manifest = join(directory, 'manifest.jsonl');
  await archived(logOf([at(0), at(1)]), directory);
  const before = readFileSync(manifest);
  await archived(logOf([at(0), at(1), at(2)]), directory);
  const line = readFileSync(manifest).subarray(before.length);
  writeFileSync(manifest, before);
  appendFileSync(manifest, line.subarray(0, line.length - 1));
  writeFileSync(join(directory, '003-0000000000000000003.parquet.unfinished'), 'half');

  expect((await checked(directory)).unfinished).toEqual([
    '003-0000000000000000003.parquet.unfinished',
    'the last line of the manifest',
  ]);
  const { records } = await archived(logOf([at(0), at(1), at(2), at(3)]), directory);
  expect(records).toBe(2);
  expect(offsetsOf(await archivedRecords(directory))).toEqual([0, 1, 2, 3]);
  expect(await checked(directory)).toMatchObject({ deviations: [], unfinished: [] });
});

test('a pass that did not come to its end is told until one did: what was copied last may lack its causes', async () => {
  const directory = temporaryDirectory();
  const begunMs = async () => {
    await using archive = await openArchiveLog(directory);
    return archive.passBegunMs;
  };
  const failing: LogReader = {
    read: (request) => {
      if (request.topic === TOPICS.diskStats.name) throw new Error('the broker is away');
      return logOf([at(0), at(1), at(2)]).read(request);
    },
  };
  await archived(logOf([at(0)]), directory, { signal: AbortSignal.abort() });
  await archived(logOf([at(0)]), directory);
  expect(await begunMs()).toBeNull();
  await expect(archived(failing, directory)).rejects.toThrow('the broker is away');
  expect(await begunMs()).toBe(NOTED_MS);
  expect((await checked(directory)).unfinished).toEqual(['pass.unfinished']);

  const whole = logOf([at(0), at(1), at(2)]);
  await archived(whole, directory, { signal: AbortSignal.abort() });
  expect(await begunMs()).toBe(NOTED_MS);
  await archived(whole, directory);
  expect(await begunMs()).toBeNull();
  expect((await checked(directory)).unfinished).toEqual([]);
});

test('killed before its first line: the archive begins anew', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'manifest.jsonl.unfinished'), '{"kind":"arch');

  expect((await archived(logOf([at(0)]), directory)).records).toBe(1);
  expect(await checked(directory)).toMatchObject({ deviations: [], unfinished: [] });
});

test.each<{ name: string; damage: (directory: string) => void }>([
  {
    name: 'its manifest lost lines',
    damage: (directory) => {
      const path = join(directory, 'manifest.jsonl');
      writeFileSync(path, `${readFileSync(path, 'utf8').split('\n').slice(0, 2).join('\n')}\n`);
    },
  },
  {
    name: 'it has a file that cannot be the next one',
    damage: (directory) =>
      writeFileSync(
        join(
          directory,
          fileName(
            ARCHIVE_VERSION,
            { topic: INVENTORY, partition: 3, firstOffset: 7n, lastMs: at(0).timestampMs },
            null,
          ),
        ),
        '',
      ),
  },
  { name: 'its manifest is gone', damage: (directory) => rmSync(join(directory, 'manifest.jsonl')) },
  {
    name: 'its manifest was changed',
    damage: (directory) => {
      const path = join(directory, 'manifest.jsonl');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"rows":2', '"rows":3'));
    },
  },
])('an archive is not gone on with when $name', async ({ damage }) => {
  const directory = temporaryDirectory();
  const limits = { rows: 2, rawBytes: 1_000_000 };
  const log = logOf([at(0), at(1), at(2, { partition: 4 }), at(3, { partition: 5 })]);
  await archived(log, directory, { limits });
  damage(directory);
  const files = filesIn(directory);

  await expect(archived(log, directory, { limits })).rejects.toMatchObject({ code: 'ARCHIVE_CHANGED' });
  expect(filesIn(directory)).toEqual(files);
});

test('two archivers do not write to one archive', async () => {
  const directory = temporaryDirectory();
  using _ = await openArchiveWriter(directory, { now: () => NOW_MS, newId: () => 'another' });

  await expect(archived(logOf([at(0)]), directory)).rejects.toMatchObject({ code: 'STATE_IN_USE' });
});

test('told to stop it ends between two files, and the next run goes on there', async () => {
  const directory = temporaryDirectory();
  const stopping = new AbortController();
  const records = [0, 1, 2].map((offset) => at(offset));
  const stops = {
    read: async function* (...args: Parameters<ReturnType<typeof logOf>['read']>) {
      for await (const event of logOf(records).read(...args)) {
        if (event.kind === 'record' && event.record.offset === 2n) {
          stopping.abort();
          throw interrupted();
        }
        yield event;
      }
    },
  };
  const limits = { rows: 1, rawBytes: 1_000_000 };
  const stopped = await archived(stops, directory, { limits, signal: stopping.signal });

  expect(stopped.records).toBe(1);
  expect((await archived(logOf(records), directory)).records).toBe(2);
  expect(offsetsOf(await archivedRecords(directory))).toEqual([0, 1, 2]);
});
