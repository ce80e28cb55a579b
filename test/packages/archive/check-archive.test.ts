import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileName, namesFileName } from '../../../packages/archive/file-names.ts';
import { ARCHIVE_VERSION, chained, parseManifestLine } from '../../../packages/archive/manifest.ts';
import { openArchiveLog } from '../../../packages/archive/read-archive.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { archived, checked, logOf, recordsOf } from '../audit/support/archives.ts';

const at = (offset: number, partition: number): LogRecord =>
  recordOf(nodeOutput('inventory', inventory({ id: `${partition}-${offset}` })), {
    offset: BigInt(offset),
    partition,
  });
const LOG = logOf([at(0, 1), at(1, 1), at(0, 2), at(1, 2)]);
const nameAt = (partition: number, firstOffset: bigint): string =>
  fileName(
    ARCHIVE_VERSION,
    { topic: TOPICS.inventory.name, partition, firstOffset, lastMs: at(0, 0).timestampMs },
    null,
  );
const FILE = nameAt(1, 1n);
const NAMES = namesFileName(FILE);
const OTHER = nameAt(2, 0n);

let original = '';
beforeAll(async () => {
  original = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
  await archived(LOG, original, { limits: { rows: 1, rawBytes: 1_000_000 } });
});
afterAll(() => rmSync(original, { recursive: true, force: true }));

/** One line to begin, and four files. */
function fourFiles(): string {
  const directory = temporaryDirectory();
  cpSync(original, directory, { recursive: true });
  return directory;
}

const manifestOf = (directory: string): string => join(directory, 'manifest.jsonl');
const linesOf = (directory: string): string[] =>
  readFileSync(manifestOf(directory), 'utf8').split('\n').slice(0, -1);
const writeLines = (directory: string, lines: readonly string[]): void =>
  writeFileSync(manifestOf(directory), lines.map((line) => `${line}\n`).join(''));

function flipByte(path: string): void {
  const bytes = readFileSync(path);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

/** As somebody would who knows the form: the hash is that of the changed line. */
function forgeLine(text: string, change: object): string {
  const line = parseManifestLine(text);
  if (line === null) throw new Error('not a line of a manifest');
  const { hash: _, previous, ...content } = line;
  return JSON.stringify(chained({ ...content, ...change }, previous));
}

test('an archive that nobody touched has no deviation', async () => {
  const directory = fourFiles();

  expect(await checked(directory)).toMatchObject({
    deviations: [],
    gaps: [],
    unfinished: [],
    files: 4,
    records: 4,
  });
});

test.each<{ name: string; damage: (directory: string) => void; names: string[] }>([
  {
    name: 'a byte of a file flipped',
    damage: (directory) => flipByte(join(directory, FILE)),
    names: [`${FILE} was changed: its SHA-256`],
  },
  {
    name: 'a file cut short',
    damage: (directory) => truncateSync(join(directory, FILE), 100),
    names: [`${FILE} was changed: it has 100 bytes`],
  },
  {
    name: 'a file made longer',
    damage: (directory) => appendFileSync(join(directory, FILE), 'x'),
    names: [`${FILE} was changed`],
  },
  {
    name: 'a byte of an index of names flipped',
    damage: (directory) => flipByte(join(directory, NAMES)),
    names: [`${NAMES} was changed: its SHA-256`],
  },
  {
    name: 'an index of names removed',
    damage: (directory) => rmSync(join(directory, NAMES)),
    names: [`${NAMES} is missing`],
  },
  {
    name: 'a file removed',
    damage: (directory) => rmSync(join(directory, FILE)),
    names: [`${FILE} is missing`],
  },
  {
    name: 'a file added',
    damage: (directory) => writeFileSync(join(directory, 'extra.parquet'), 'x'),
    names: ['extra.parquet was added: it does not belong there'],
  },
  {
    name: 'two files exchanged',
    damage: (directory) => {
      const bytes = readFileSync(join(directory, FILE));
      writeFileSync(join(directory, FILE), readFileSync(join(directory, OTHER)));
      writeFileSync(join(directory, OTHER), bytes);
    },
    names: [`${FILE} was changed`, `${OTHER} was changed`],
  },
  {
    name: 'a value in a line changed',
    damage: (directory) =>
      writeLines(
        directory,
        linesOf(directory).map((line, index) => (index === 2 ? line.replace('"rows":1', '"rows":2') : line)),
      ),
    names: [`line 3 of the manifest was changed: the file ${FILE}`],
  },
  {
    name: 'a value in the last line changed',
    damage: (directory) =>
      writeLines(
        directory,
        linesOf(directory).map((line, index) => (index === 4 ? line.replace('"rows":1', '"rows":2') : line)),
      ),
    names: ['line 5 of the manifest was changed'],
  },
  {
    name: 'a line forged with its hash',
    damage: (directory) =>
      writeLines(
        directory,
        linesOf(directory).map((line, index) => (index === 2 ? forgeLine(line, { newestMs: 1 }) : line)),
      ),
    names: ['line 4 of the manifest does not follow'],
  },
  {
    name: 'a line made unreadable',
    damage: (directory) =>
      writeLines(
        directory,
        linesOf(directory).map((line, index) => (index === 2 ? `x${line}` : line)),
      ),
    names: [
      'line 3 of the manifest cannot be read',
      `${FILE} was added: the manifest does not name it (an archiver that was killed`,
    ],
  },
  {
    name: 'a line removed',
    damage: (directory) => writeLines(directory, linesOf(directory).toSpliced(3, 1)),
    names: ['line 4 of the manifest does not follow', `${OTHER} was added`],
  },
  {
    name: 'a line removed with its file',
    damage: (directory) => {
      writeLines(directory, linesOf(directory).toSpliced(1, 1));
      rmSync(join(directory, nameAt(1, 0n)));
    },
    names: ['line 2 of the manifest does not follow'],
  },
  {
    name: 'a line that stands twice',
    damage: (directory) => writeLines(directory, [...linesOf(directory), linesOf(directory).at(-1) ?? '']),
    names: ['line 6 of the manifest does not follow', 'should go on at offset 2'],
  },
  {
    name: 'the first line removed',
    damage: (directory) => writeLines(directory, linesOf(directory).slice(1)),
    names: ['line 1 of the manifest does not follow', 'line 1 of the manifest must begin an archive'],
  },
  {
    name: 'all lines removed',
    damage: (directory) => writeLines(directory, []),
    names: ['the manifest has no line'],
  },
])('named: $name', async ({ damage, names }) => {
  const directory = fourFiles();
  damage(directory);
  const { deviations } = await checked(directory);

  for (const name of names) expect(deviations).toContainEqual(expect.stringContaining(name));
});

test('lines removed from the end, with their files, are named by who kept the head', async () => {
  const directory = fourFiles();
  const { head } = await checked(directory);
  writeLines(directory, linesOf(directory).slice(0, -1));
  for (const file of [nameAt(2, 1n), namesFileName(nameAt(2, 1n))]) rmSync(join(directory, file));

  expect((await checked(directory)).deviations).toEqual([]);
  expect((await checked(directory, head)).deviations).toEqual([
    expect.stringContaining(`no line of the manifest has the hash ${head}`),
  ]);
});

test('an archive of another release is refused with a sentence that says so', async () => {
  const directory = fourFiles();
  const lines = linesOf(directory).flatMap((text) => parseManifestLine(text) ?? []);
  let previous: string | null = null;
  const rewritten = lines.map(({ hash: _, previous: __, ...content }) => {
    const line = chained(content.kind === 'archive' ? { ...content, version: 1 } : content, previous);
    previous = line.hash;
    return JSON.stringify(line);
  });
  writeLines(directory, rewritten);

  await expect(openArchiveLog(directory)).rejects.toMatchObject({
    code: 'ARCHIVE_OF_ANOTHER_RELEASE',
    message: `the archive in ${directory} says that another release of FleetGC wrote it: its version is 1, and this release reads 2 and 3. Read it with that release, or name another place to begin a new one`,
  });
});

test('a line from another form of archive is not taken for ours', async () => {
  const directory = fourFiles();
  const [first = '', ...others] = linesOf(directory);
  writeLines(directory, [forgeLine(first, { version: 1 }), ...others]);

  expect((await checked(directory)).deviations).toContainEqual(
    'another release wrote the archive, or somebody changed it: its version is 1, and this release reads 2 and 3',
  );
});

test('a line with half a character in it is none: it can have no hash', async () => {
  const directory = fourFiles();
  const head = { kind: 'head', key: 'a', headers: { 'name \ud800': 'text' }, valueBase64: '' };
  const line = JSON.stringify({ ...head, previous: '0'.repeat(64), hash: '0'.repeat(64) });
  writeLines(directory, [...linesOf(directory), line]);

  const { deviations } = await checked(directory);
  expect(deviations.join('\n')).toContain('of the manifest cannot be read');
});

test('no archive in the directory is told, and not an archive without records', async () => {
  await expect(checked(temporaryDirectory())).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a reading stops at a file that is not as it was written', async () => {
  const directory = fourFiles();
  flipByte(join(directory, FILE));
  await using archive = await openArchiveLog(directory);

  await expect(recordsOf(archive, { partition: 1 })).rejects.toMatchObject({
    code: 'ARCHIVE_CHANGED',
    message: expect.stringContaining(FILE),
  });
  expect(await recordsOf(archive, { partition: 2 })).toHaveLength(2);
});

const OUTSIDE = [
  '/etc/passwd',
  '../../etc/passwd',
  `records/topic=${TOPICS.inventory.name}/../../../etc/passwd`,
  FILE.replace('records/', ''),
  FILE.replace('date=', 'date=1'),
  FILE.replace('.parquet', '-x.parquet'),
  FILE.replace(/date=[\d-]+/, 'date=1999-01-01'),
  `./${FILE}`,
  FILE.replace('/date', '//date'),
  `https://example.org/${FILE}`,
  '*.parquet',
  OTHER,
];

test.each(OUTSIDE)('a manifest that names %s in the place of a file is not believed', async (file) => {
  const directory = fourFiles();
  const index = linesOf(directory).findIndex(
    (line) => parseManifestLine(line)?.kind === 'file' && line.includes(FILE),
  );
  const forged = linesOf(directory).map((line, at) => (at === index ? forgeLine(line, { file }) : line));
  writeLines(directory, forged);

  expect(index).toBeGreaterThan(0);
  await expect(openArchiveLog(directory)).rejects.toMatchObject({ code: 'ARCHIVE_CHANGED' });
  const { deviations } = await checked(directory);
  expect(deviations.join('\n')).toContain(`line ${index + 1} of the manifest cannot be read`);
});

test.each(['..', '/etc', '../gc.node.inventory', 'gc.node.inventory/..'])(
  'a manifest with the topic %s and the name that follows from it is not believed',
  (topic) => {
    const line = linesOf(original).find((text) => text.includes(FILE)) ?? '';
    const file = FILE.replace(TOPICS.inventory.name, topic);

    expect(parseManifestLine(line)).not.toBeNull();
    expect(parseManifestLine(forgeLine(line, { topic, file }))).toBeNull();
  },
);
