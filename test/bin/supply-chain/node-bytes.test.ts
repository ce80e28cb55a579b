import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { compareNodeBytes } from '../../../bin/supply-chain/node-bytes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FOLDER = 'node-v24.0.0-linux-x64';

function installed(bytes: string) {
  const path = join(temporaryDirectory(), 'node');
  writeFileSync(path, bytes);
  return { path, version: '24.0.0', platform: 'linux-x64' };
}

async function archiveOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name: `${FOLDER}/${name}` }, content);
  archive.finalize();
  return gzipSync(await buffer(archive));
}

/** What the project publishes. Resolves to where. */
async function published(files: Readonly<Record<string, Buffer | string>>): Promise<string> {
  const server = createServer((request, response) => {
    const file = files[(request.url ?? '').replace('/v24.0.0/', '')];
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = z.object({ port: z.int() }).parse(server.address());
  return `http://127.0.0.1:${port}`;
}

async function publishedNode(files: Readonly<Record<string, string>>, sum?: string): Promise<string> {
  const archive = await archiveOf(files);
  const real = createHash('sha256').update(archive).digest('hex');
  return published({
    'SHASUMS256.txt': `${'0'.repeat(64)}  other.tar.gz\n${sum ?? real}  ${FOLDER}.tar.gz\n`,
    [`${FOLDER}.tar.gz`]: archive,
  });
}

test('the program that the project publishes is the same', async () => {
  const at = await publishedNode({ LICENSE: 'free', 'bin/node': 'the program', 'bin/npm': 'another' });
  expect(await compareNodeBytes(installed('the program'), at)).toEqual({ kind: 'same' });
});

test.each([
  {
    name: 'another program',
    files: { 'bin/node': 'the program' },
    problem: /and the program in .* has [0-9a-f]{64}$/,
  },
  { name: 'no program', files: { LICENSE: 'free' }, problem: /has none, since it is missing$/ },
  {
    name: 'another checksum',
    files: { 'bin/node': 'changed' },
    sum: 'f'.repeat(64),
    problem: /is not what its published checksum says$/,
  },
])('$name is different', async ({ files, sum, problem }) => {
  const at = await publishedNode(files, sum);
  expect(await compareNodeBytes(installed('changed'), at)).toEqual({
    kind: 'different',
    problem: expect.stringMatching(problem),
  });
});

test.each([
  { name: 'checksums are missing', files: {}, reason: /SHASUMS256\.txt was answered with status 404$/ },
  {
    name: 'the archive is missing',
    files: { 'SHASUMS256.txt': '' },
    reason: /tar\.gz was answered with status 404$/,
  },
])('where $name nothing is compared', async ({ files, reason }) => {
  expect(await compareNodeBytes(installed('a'), await published(files))).toEqual({
    kind: 'not-compared',
    reason: expect.stringMatching(reason),
  });
});

test('where nobody answers nothing is compared', async () => {
  expect(await compareNodeBytes(installed('a'), 'http://127.0.0.1:9')).toEqual({
    kind: 'not-compared',
    reason: expect.any(String),
  });
});
