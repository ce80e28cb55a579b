import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MAX_POLICY_DOCUMENT_BYTES } from '../../../../packages/policy/policy-document.ts';
import { HOUR_MS } from '../../../../packages/process/durations.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { fileSource, urlSource } from '../../../../services/deciders/functions/policies/document-source.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { PAIR } from '../../../fixtures/certificate.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { unsignedDocument } from './support/function-events.ts';
import { openTestFunction } from './support/open-function.ts';

const imageGc = await loadFunction('image-gc');

const { signal } = new AbortController();

test('a file is read anew when it was replaced, and not otherwise', async () => {
  const path = join(temporaryDirectory(), 'policies.jsonl');
  writeFileSync(path, 'one');
  const source = fileSource(path);
  expect(await source.look(signal)).toEqual({ kind: 'bytes', bytes: Buffer.from('one') });
  expect(await source.look(signal)).toEqual({ kind: 'unchanged' });
  writeFileSync(`${path}.new`, 'two');
  // As if both were written at the same moment.
  utimesSync(`${path}.new`, 1, 1);
  renameSync(`${path}.new`, path);
  expect(await source.look(signal)).toEqual({ kind: 'bytes', bytes: Buffer.from('two') });
  rmSync(path);
  expect(await source.look(signal)).toEqual({ kind: 'missing', why: 'there is no such file' });
  writeFileSync(path, 'two');
  expect(await source.look(signal)).toMatchObject({ kind: 'bytes' });
});

test('a document that was written ahead of a clock that is behind counts when that has caught up', async () => {
  const path = join(temporaryDirectory(), 'policies.jsonl');
  const clock = { nowMs: Date.UTC(2026, 0, 31) };
  writeFileSync(path, unsignedDocument([appliedPolicy()], clock.nowMs + HOUR_MS));
  const source = { ...fileSource(path), everyMs: 0 };
  const { open } = await openTestFunction(imageGc, { source, now: () => clock.nowMs });
  expect(open.policies.problem()).toContain('by the clock of this machine that is not yet');
  clock.nowMs += HOUR_MS;
  await open.policies.look(signal);
  expect(open.policies.problem()).toBeNull();
});

test('a document that was away for a moment and is there again with the same tag counts again', async () => {
  let isThere = true;
  const bytes = unsignedDocument([appliedPolicy()], Date.now());
  const url = await served(({ headers }, response) => {
    if (!isThere) return void response.writeHead(404).end();
    const isKnown = headers['if-none-match'] === '"one"';
    response.writeHead(isKnown ? 304 : 200, { etag: '"one"' });
    response.end(isKnown ? undefined : bytes);
  });
  const { open } = await openTestFunction(imageGc, { source: { ...sourceAt(url), everyMs: 0 } });
  expect(open.policies.problem()).toBeNull();
  isThere = false;
  await open.policies.look(signal);
  expect(open.policies.problem()).toContain('the answer is 404');
  isThere = true;
  await open.policies.look(signal);
  expect(open.policies.problem()).toBeNull();
});

test('nobody waits for a pipe or reads a folder', async () => {
  const folder = temporaryDirectory();
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const path of [pipe, folder])
    expect(await fileSource(path).look(signal)).toEqual({ kind: 'missing', why: 'it is no file' });
});

test('a file that is too large is not read', async () => {
  const path = join(temporaryDirectory(), 'policies.jsonl');
  writeFileSync(path, Buffer.alloc(MAX_POLICY_DOCUMENT_BYTES + 1));
  expect(await fileSource(path).look(signal)).toMatchObject({
    kind: 'missing',
    why: expect.stringContaining('more than'),
  });
});

/** Serves over TLS on this machine until the test ends. */
async function served(listener: RequestListener, { tls = true } = {}): Promise<URL> {
  const server = tls
    ? createTlsServer({ cert: PAIR.certificate, key: PAIR.key }, listener)
    : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it has no port');
  return new URL(`https://127.0.0.1:${address.port}/policies.jsonl?fleet=prod`);
}

const sourceAt = (url: URL, token: string | null = null) => urlSource({ url, ca: PAIR.certificate, token });

test('an address is asked with its tag, and sends the document only when it has changed', async () => {
  let document = 'one';
  const asked: (string | undefined)[] = [];
  const url = await served(({ headers }, response) => {
    asked.push(headers['if-none-match']);
    const isKnown = headers['if-none-match'] === `"${document}"`;
    response.writeHead(isKnown ? 304 : 200, { etag: `"${document}"` });
    response.end(isKnown ? undefined : document);
  });
  const source = sourceAt(url);
  expect(await source.look(signal)).toEqual({ kind: 'bytes', bytes: Buffer.from('one') });
  expect(await source.look(signal)).toEqual({ kind: 'unchanged' });
  document = 'two';
  expect(await source.look(signal)).toEqual({ kind: 'bytes', bytes: Buffer.from('two') });
  expect(asked).toEqual([undefined, '"one"', '"one"']);
  expect(source.name).not.toContain('fleet=prod');
});

test('a token is shown where one is given', async () => {
  const url = await served(({ headers }, response) => response.end(headers.authorization ?? 'nothing'));
  expect(await sourceAt(url, 'secret').look(signal)).toEqual({
    kind: 'bytes',
    bytes: Buffer.from('Bearer secret'),
  });
  expect(await sourceAt(url).look(signal)).toEqual({ kind: 'bytes', bytes: Buffer.from('nothing') });
});

test.each([
  [301, 'unreachable'],
  [401, 'unreachable'],
  [500, 'unreachable'],
  [404, 'missing'],
  [410, 'missing'],
])('an answer of %d means %s', async (status, kind) => {
  const url = await served((_, response) => {
    response.writeHead(status, { location: 'https://elsewhere.example/' });
    response.end('{}');
  });
  expect(await sourceAt(url).look(signal)).toEqual({ kind, why: `the answer is ${status}` });
});

test('an answer without end is cut off, one that is cut off is none, and a stranger is not asked', async () => {
  const endless = await served((_, response) => {
    const chunk = Buffer.alloc(1024 * 1024);
    const more = (): void => {
      while (response.write(chunk));
      response.once('drain', more);
    };
    more();
  });
  expect(await sourceAt(endless).look(signal)).toMatchObject({
    kind: 'missing',
    why: expect.stringContaining('more than'),
  });
  const cut = await served((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  expect(await sourceAt(cut).look(signal)).toMatchObject({ kind: 'unreachable' });
  const stranger = await served((_, response) => response.end('one'));
  expect(await urlSource({ url: stranger, ca: null, token: null }).look(signal)).toMatchObject({
    kind: 'unreachable',
  });
  const plain = await served((_, response) => response.end('one'), { tls: false });
  expect(await sourceAt(plain).look(signal)).toMatchObject({ kind: 'unreachable' });
});

test('who stops does not wait for an answer', async () => {
  const url = await served(() => undefined);
  const stop = new AbortController();
  const looking = sourceAt(url).look(stop.signal);
  stop.abort();
  expect(await looking).toMatchObject({ kind: 'unreachable' });
});
