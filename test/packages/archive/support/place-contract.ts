import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openArchiveWriter } from '../../../../packages/archive/archive-writer.ts';
import { isFileName, partName } from '../../../../packages/archive/file-names.ts';
import { chained } from '../../../../packages/archive/manifest.ts';
import { openArchiveLog } from '../../../../packages/archive/read-archive.ts';
import type { ArchivePlace } from '../../../../packages/archive/store.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { LogReader, LogRecord } from '../../../../packages/log/port.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { archived, checked, logOf, NOTED_MS, recordsOf } from '../../audit/support/archives.ts';

/** A place for one archive, and how somebody else gets at its files. */
export interface PlaceUnderTest {
  readonly place: ArchivePlace;
  files(): Promise<readonly string[]>;
  read(name: string): Promise<Buffer>;
  write(name: string, content: Buffer): Promise<void>;
  remove(name: string): Promise<void>;
}

export const at = (offset: number, over: Partial<LogRecord> = {}): LogRecord =>
  recordOf(nodeOutput('inventory', inventory({ id: `${over.partition ?? 3}-${offset}` })), {
    offset: BigInt(offset),
    partition: 3,
    ...over,
  });

/** What a place of an archive does, whichever it is. */
export function describePlace(name: string, newPlace: () => Promise<PlaceUnderTest>): void {
  describe(`an archive in ${name}`, () => {
    test('goes on where it ended, and gives back what lay on the log', async () => {
      const { place } = await newPlace();
      const records = [at(0), at(1), at(2), at(0, { partition: 4 })];
      const first = await archived(logOf(records.slice(0, 2)), place);
      const second = await archived(logOf(records), place);
      expect([first.records, second.records]).toEqual([2, 2]);
      expect(await offsetsOf(place)).toEqual(['3@0', '3@1', '3@2', '4@0']);
      expect(await checked(place, first.head)).toMatchObject({
        deviations: [],
        unfinished: [],
        files: 3,
        records: 4,
        head: second.head,
      });
    });

    test('is begun once, and has nothing when it holds nothing', async () => {
      const { place } = await newPlace();
      await expect(openArchiveLog(place)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(checked(place)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const { head } = await archived(logOf([]), place);
      expect(await archived(logOf([]), place)).toMatchObject({ records: 0, head });
    });

    test('leaves alone what somebody else has begun there', async () => {
      const { place, files, write } = await newPlace();
      await archived(logOf([at(0)]), place);
      const others = ['other/pass-0123456789ab.unfinished', 'other/report.unfinished', 'report.unfinished'];
      for (const name of others) await write(name, Buffer.from('1'));
      await archived(logOf([at(0), at(1)]), place);
      expect(await files()).toEqual(expect.arrayContaining(others));
    });

    test('tells what was lost before it was archived', async () => {
      const { place } = await newPlace();
      await archived(logOf([at(0)]), place);
      const { lost } = await archived(logOf([at(5)]), place);
      expect(lost).toMatchObject([{ firstOffset: 1n, lastOffset: 4n }]);
      expect((await checked(place)).gaps).toMatchObject([{ firstOffset: '1', lastOffset: '4' }]);
    });

    test('is not believed where somebody changed, removed or added a file', async () => {
      const own = await newPlace();
      await archived(logOf([at(0), at(0, { partition: 4 })]), own.place);
      const [changed = '', removed = ''] = (await own.files()).filter((file) => file.endsWith('.parquet'));
      const content = await own.read(changed);
      await own.write(changed, Buffer.concat([content.subarray(1), content.subarray(0, 1)]));
      await own.remove(removed);
      await own.write('records/more.parquet', content);
      const { deviations } = await checked(own.place);
      expect(deviations.join('\n')).toContain(`${changed} was changed: its SHA-256`);
      expect(deviations.join('\n')).toContain(`${removed} is missing`);
      expect(deviations.join('\n')).toContain('records/more.parquet was added');
      await expect(offsetsOf(own.place)).rejects.toMatchObject({ code: 'ARCHIVE_CHANGED' });
    });

    test('is not gone on with where its manifest lost lines, or is gone', async () => {
      const own = await newPlace();
      const log = logOf([0, 1, 2, 3, 4, 5, 6, 7, 8].map((partition) => at(0, { partition })));
      await archived(log, own.place);
      const manifest = await own.read('manifest.jsonl');
      await own.write('manifest.jsonl', manifest.subarray(0, manifest.indexOf('\n') + 1));
      const files = await own.files();
      await expect(archived(log, own.place)).rejects.toMatchObject({ code: 'ARCHIVE_CHANGED' });
      await own.remove('manifest.jsonl');
      await expect(archived(log, own.place)).rejects.toMatchObject({ code: 'ARCHIVE_CHANGED' });
      expect(await own.files()).toEqual(files.filter((file) => file !== 'manifest.jsonl'));
    });

    test('a killed archiver leaves nothing behind for long, and loses nothing', async () => {
      const own = await newPlace();
      await archived(logOf([at(0)]), own.place);
      const before = await own.read('manifest.jsonl');
      await archived(logOf([at(0), at(1)]), own.place);
      await own.write('manifest.jsonl', before);
      await own.write(`x.parquet.unfinished`, Buffer.from('half'));
      const { records } = await archived(logOf([at(0), at(1), at(2)]), own.place);
      expect(records).toBe(2);
      expect(await offsetsOf(own.place)).toEqual(['3@0', '3@1', '3@2']);
      expect(await checked(own.place)).toMatchObject({ deviations: [], unfinished: [], files: 2 });
    });

    test('a file that a killed archiver wrote whole, and no line of, is there once when the next one writes the same', async () => {
      const own = await newPlace();
      await archived(logOf([at(0)]), own.place);
      const before = await own.read('manifest.jsonl');
      await archived(logOf([at(0), at(1)]), own.place);
      await own.write('manifest.jsonl', before);
      for (const offset of [1, 2]) {
        await archived(logOf([0, 1, 2].slice(0, offset + 1).map((each) => at(each))), own.place);
        expect(await offsetsOf(own.place)).toHaveLength(offset + 1);
        expect(await checked(own.place)).toMatchObject({ deviations: [], unfinished: [] });
      }
    });

    test('a pass that did not come to its end is told until one did', async () => {
      const { place } = await newPlace();
      const whole = logOf([at(0), at(1)]);
      const failing: LogReader = {
        read: (request) => {
          if (request.topic === TOPICS.diskStats.name) throw new Error('the broker is away');
          return whole.read(request);
        },
      };
      await expect(archived(failing, place)).rejects.toThrow('the broker is away');
      expect(await passBegunMs(place)).toBe(NOTED_MS);
      expect((await checked(place)).unfinished).toHaveLength(1);
      await archived(logOf([at(0), at(1), at(2)]), place);
      expect(await passBegunMs(place)).toBeNull();
      expect((await checked(place)).unfinished).toEqual([]);
    });

    test('of two archivers one writes, and the other says so', async () => {
      const { place } = await newPlace();
      await archived(logOf([at(0)]), place);
      const sources = { now: () => NOTED_MS, newId: randomUUID };
      using first = await openArchiveWriter(place, sources);
      const second = openArchiveWriter(place, sources).then(async (writer) => {
        using opened = writer;
        await first.addGap(gapAt(1, 1));
        await opened.addGap(gapAt(1, 2));
      });
      await expect(second).rejects.toMatchObject({
        code: 'STATE_IN_USE',
        message: expect.stringContaining('another process writes to the archive'),
      });
      await first.addGap(gapAt(Number(first.endOf(TOPICS.inventory.name, 3)?.lastOffset) + 1, 9));
      expect((await checked(place)).deviations).toEqual([]);
    });

    test('its manifest goes on in parts that somebody else began', async () => {
      const own = await newPlace();
      const { head } = await archived(logOf([at(0)]), own.place);
      const gap = chained({ kind: 'gap', ...gapAt(1, 4) }, head);
      await own.write(partName(1), Buffer.from(`${JSON.stringify(gap)}\n`));
      await archived(logOf([at(0), at(5)]), own.place);
      expect(await offsetsOf(own.place)).toEqual(['3@0', '3@5']);
      expect(await checked(own.place)).toMatchObject({ deviations: [], gaps: [{ lastOffset: '4' }] });
      await own.remove(partName(0));
      await expect(checked(own.place)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    test('in the form of older releases it is read, and gone on with as it is', async () => {
      const own = await newPlace();
      const begun = chained({ kind: 'archive', version: 2, begunAtMs: NOTED_MS, id: 'older' }, null);
      await own.write('manifest.jsonl', Buffer.from(`${JSON.stringify(begun)}\n`));
      await archived(logOf([at(0)]), own.place);
      await archived(logOf([at(0), at(1)]), own.place);
      const files = (await own.files()).filter(isFileName);
      expect(files.filter((file) => !file.startsWith(`${TOPICS.inventory.name}/003-`))).toEqual([]);
      expect(await offsetsOf(own.place)).toEqual(['3@0', '3@1']);
      expect(await checked(own.place)).toMatchObject({ deviations: [], files: 2 });
    });
  });
}

const gapAt = (first: number, last: number) => ({
  topic: TOPICS.inventory.name,
  partition: 3,
  firstOffset: String(first),
  lastOffset: String(last),
  notedAtMs: NOTED_MS,
});

export async function offsetsOf(place: ArchivePlace): Promise<readonly string[]> {
  await using archive = await openArchiveLog(place);
  return (await recordsOf(archive)).map(({ partition, offset }) => `${partition}@${offset}`);
}

async function passBegunMs(place: ArchivePlace): Promise<number | null> {
  await using archive = await openArchiveLog(place);
  return archive.passBegunMs;
}
