import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { namesFileName } from '../../../packages/archive/file-names.ts';
import { chained, type ManifestContent } from '../../../packages/archive/manifest.ts';
import { MOST_NAMES_BYTES } from '../../../packages/archive/names.ts';
import { openArchiveLog } from '../../../packages/archive/read-archive.ts';
import { explain } from '../../../packages/audit/explain/explain.ts';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import { approval, approvedOwner } from '../../fixtures/approval.ts';
import { clusterDecision } from '../../fixtures/cluster.ts';
import { image } from '../../fixtures/inventory.ts';
import { deletionOutput } from '../../fixtures/policy.ts';
import { HOUR, NOW, SECOND } from '../../fixtures/time.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { asking, look, recordsOf } from '../audit/explain/support/recorded-log.ts';
import { archived, filesOf, logOf, recordsOf as recordsOfLog } from '../audit/support/archives.ts';

const INVENTORY = TOPICS.inventory.name;
const web = { images: [image('sha256:abcdef', { repoTags: ['shop/web:1'] })] };
/** Two looks of a node that has the image, on two days, and one of a node that has not. */
const events = [look(0, web), look(1, { node: 'web-2' }), look((24 * HOUR) / SECOND, web)];

let original = '';
beforeAll(async () => {
  original = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
  await archived(logOf(recordsOf(events)), original);
});
afterAll(() => rmSync(original, { recursive: true, force: true }));

function copied(): string {
  const directory = temporaryDirectory();
  cpSync(original, directory, { recursive: true });
  return directory;
}

async function asked(directory: string, over: Parameters<typeof asking>[1] = {}, mostNodes = 16) {
  await using log = await openArchiveLog(directory);
  let missing = 0;
  const explanation = await explain(asking('web', over), {
    log,
    index: log.index,
    mostNodes,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    onIndexMissing: () => {
      missing += 1;
    },
  });
  return { ...explanation, missing };
}

test('of an archive only the records of the node on which it was are read', async () => {
  expect(await asked(original)).toMatchObject({
    status: 'explained',
    reading: { records: 2, ruledOut: 1 },
    missing: 0,
  });
  expect(await asked(original, { node: 'prod/web-1' })).toMatchObject({
    reading: { records: 2, ruledOut: 0 },
  });
});

test('what is archived of a cluster, approvals among it, changes nothing of what is told of nodes', async () => {
  const directory = temporaryDirectory();
  const given = approval(approvedOwner('abcdef', 3), { cluster: 'prod' });
  const stated = { key: approvalKey(given), event: given };
  const ofCluster = recordsOf([
    [0, { topic: 'policies', ...stated }],
    [0, { topic: 'policyVersions', ...stated }],
    [1, clusterOutput('clusterDecisions', clusterDecision())],
    [2, deletionOutput(approvalKey(given))],
  ]);
  await archived(logOf([...recordsOf(events), ...ofCluster]), directory);

  expect(await asked(directory)).toEqual(await asked(original));
  await using log = await openArchiveLog(directory);
  const policies = await recordsOfLog(log, { topic: TOPICS.policies.name });
  expect(policies.map(({ key }) => key)).toEqual([approvalKey(given), approvalKey(given)]);
});

test('a part of the time takes the files of that time alone', async () => {
  const day = { fromMs: NOW + HOUR, toMs: null };
  const before = { fromMs: null, toMs: NOW + HOUR };

  expect(await asked(original, { range: day })).toMatchObject({ reading: { records: 1, ruledOut: 0 } });
  expect(await asked(original, { range: before })).toMatchObject({ reading: { records: 1, ruledOut: 1 } });
});

test('of a file in which the time ends only that part counts, and of others the index alone', async () => {
  const directory = temporaryDirectory();
  const gone = { images: [] };
  const lives = ['web-1', 'web-2'].flatMap((node) => [
    look(0, { node, ...web }),
    look((24 * HOUR) / SECOND, { node, ...web }),
    look((25 * HOUR) / SECOND, { node, ...gone }),
  ]);
  await archived(logOf(recordsOf(lives)), directory);
  const within = { range: { fromMs: null, toMs: NOW + 24 * HOUR + SECOND } };

  const [then, later] = [await asked(directory, within, 0), await asked(directory, {}, 0)];

  expect(then).toMatchObject({
    candidates: [{ state: 'there', lastSeenMs: NOW + 24 * HOUR }, { state: 'there' }],
    reading: { records: 0 },
  });
  expect(later).toMatchObject({ candidates: [{ state: 'gone' }, { state: 'gone' }] });
});

/** Writes its lines anew, each changed, as somebody would who signs no heads: only hashes follow from it. */
function rewriteManifest(directory: string, change: (content: ManifestContent) => ManifestContent): void {
  const manifest = join(directory, 'manifest.jsonl');
  let previous: string | null = null;
  const lines = readFileSync(manifest, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => {
      const { hash: _, previous: __, ...content } = JSON.parse(text);
      const line = chained(change(content satisfies ManifestContent), previous);
      previous = line.hash;
      return JSON.stringify(line);
    });
  writeFileSync(manifest, `${lines.join('\n')}\n`);
}

test('an archive whose files have no index is read whole, and that is told', async () => {
  const directory = copied();
  rewriteManifest(directory, (content) => {
    if (content.kind !== 'file') return content;
    const { names: _, ...file } = content;
    return file;
  });

  expect(await asked(directory)).toMatchObject({
    status: 'explained',
    reading: { records: 3, ruledOut: 0 },
    missing: 1,
  });
});

test('an index that is not as it was written is not believed', async () => {
  const directory = copied();
  const names = filesOf(directory, INVENTORY).filter((file) => file.endsWith('.zst'));
  for (const file of names) appendFileSync(join(directory, file), 'x');

  await expect(asked(directory)).rejects.toMatchObject({ code: 'ARCHIVE_CHANGED' });
});

const INDEX = { written: ['prod/web-1'], unread: [], looked: {}, spans: [] };
const textOf = (...lines: readonly unknown[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const indexOf = (...lines: readonly unknown[]): Buffer => zstdCompressSync(textOf(...lines));
test.each([
  ['what was never compressed', Buffer.from('names')],
  ['half of an index', indexOf(INDEX, INDEX).subarray(0, 20)],
  ['what is no JSON', zstdCompressSync('{\n"kind":web\n')],
  ['other JSON', indexOf([], { kind: 'web' })],
  ['a line that no span belongs to', indexOf(INDEX, { kind: 'image', id: 'web', name: 'web', on: [7] })],
  [
    'an index and what no memory holds',
    zstdCompressSync(Buffer.alloc(MOST_NAMES_BYTES + 1).fill(textOf(INDEX), 0, 80)),
  ],
])('an index that somebody forged is told as a change: %s', async (_, content) => {
  const directory = copied();
  rewriteManifest(directory, (line) => {
    if (line.kind !== 'file' || line.names === undefined) return line;
    writeFileSync(join(directory, namesFileName(line.file)), content);
    return { ...line, names: { ...line.names, sizeBytes: content.length, sha256: sha256Hex(content) } };
  });

  await expect(asked(directory)).rejects.toMatchObject({
    code: 'ARCHIVE_CHANGED',
    message: expect.stringContaining('no index of names'),
  });
});
