import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openForWriting } from '../../../../services/audit/archive/s3/s3-writing.ts';
import type { S3Place } from '../../../../services/audit/archive/store/place.ts';
import { archived, checked, logOf } from '../support/archives.ts';
import { type Asked, answering } from './support/answering.ts';
import { at } from './support/place-contract.ts';

beforeAll(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'somebody');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-secret');
});
afterAll(() => void vi.unstubAllEnvs());

const refuse = (response: ServerResponse, status: number, code: string): void => {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
};

const takeAll = (_: Asked, response: ServerResponse): void => {
  response.writeHead(200, { etag: '"1"' });
  response.end();
};

test('a storage that heeds no conditions is refused before anything is written to an archive', async () => {
  const { place, asked } = await answering(takeAll);
  await expect(archived(logOf([at(0)]), place)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('two archivers would write over each other'),
  });
  expect(asked.filter(({ url }) => !url.includes('probe-'))).toEqual([]);
  expect(asked.at(-1)?.method).toBe('DELETE');
});

test.each<{ encryption: S3Place['encryption']; headers: Record<string, string> }>([
  { encryption: { kind: 'sse-s3' }, headers: { 'x-amz-server-side-encryption': 'AES256' } },
  {
    encryption: { kind: 'sse-kms', keyId: 'alias/archive' },
    headers: {
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': 'alias/archive',
    },
  },
])('what is written asks to be encrypted with $encryption.kind', async ({ encryption, headers }) => {
  const { place, asked } = await answering(takeAll, { encryption });
  await expect(archived(logOf([]), place)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  const puts = asked.filter(({ method }) => method === 'PUT');
  expect(puts.length).toBeGreaterThan(0);
  for (const put of puts) expect(put.headers).toMatchObject(headers);
});

test.each([
  { status: 403, code: 'AccessDenied', says: 'lacks the right s3:ListBucket' },
  { status: 403, code: 'RequestTimeTooSkewed', says: 'set the clock' },
  { status: 403, code: 'ExpiredToken', says: 'the credentials have ended' },
  { status: 403, code: 'SignatureDoesNotMatch', says: 'does not know these credentials' },
  { status: 301, code: 'PermanentRedirect', says: 'give --s3-region' },
  { status: 400, code: 'AuthorizationHeaderMalformed', says: 'give --s3-region' },
  { status: 404, code: 'NoSuchBucket', says: 'there is no bucket audit' },
  { status: 400, code: 'SomethingNew', says: 'SomethingNew' },
])('the answer $code is told in a sentence', async ({ status, code, says }) => {
  const { place } = await answering((_, response) => refuse(response, status, code));
  const message = expect.stringContaining(says);
  await expect(checked(place)).rejects.toMatchObject({ code: 'STATE_UNREADABLE', message });
  await expect(archived(logOf([]), place)).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
});

test('a storage that asks for fewer requests is asked again, five times, and then it is told', async () => {
  const { place, asked } = await answering((_, response) => refuse(response, 503, 'SlowDown'));
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('asks for fewer requests'),
  });
  expect(asked).toHaveLength(5);
});

/** Heeds conditions, has nothing, and meets another write so often when it is to take a file. */
function conflicting(conflicts: number): Parameters<typeof answering>[0] {
  let [met, probes] = [0, 0];
  const isRefused = (url: string): boolean => (url.includes('probe-') ? probes++ > 0 : met++ < conflicts);
  return (asked, response) => {
    if (asked.method === 'GET') refuse(response, 404, 'NoSuchKey');
    else if (asked.method === 'PUT' && isRefused(asked.url))
      refuse(response, 409, 'ConditionalRequestConflict');
    else takeAll(asked, response);
  };
}

test('a file whose write met another one, and that is not there, is written again', async () => {
  const { place } = await answering(conflicting(1));
  using store = await openForWriting(place, () => 'an id');
  await store.write('a file', Buffer.from('content'));
});

test('a file whose write meets another one again and again is left to the next pass', async () => {
  const { place } = await answering(conflicting(99));
  using store = await openForWriting(place, () => 'an id');
  await expect(store.write('a file', Buffer.from('content'))).rejects.toMatchObject({
    code: 'STATE_IN_USE',
    retry: true,
  });
});

test('an answer that has no end is not read to its end', async () => {
  const line = Buffer.alloc(1024 * 1024, ' ');
  let sent = 0;
  const { place } = await answering(({ url }, response) => {
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.write('<?xml version="1.0"?><ListBucketResult>');
    const more = (): void => {
      while (!response.destroyed && response.write(line)) sent += line.length;
    };
    response.on('drain', more);
    if (url.includes('list-type')) more();
  });
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('the answer has more than'),
  });
  expect(sent).toBeLessThan(512 * line.length);
});

test('a listing that gives the same page again and again is not asked for ever', async () => {
  const { place, asked } = await answering((_, response) => {
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      '<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>',
    );
  });
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('the listing has no end'),
  });
  expect(asked).toHaveLength(2);
});

test('an object that is larger than the manifest says is not read, however large it is', async () => {
  const { place } = await answering(({ url }, response) => {
    if (url.includes('list-type')) {
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.end(
        '<?xml version="1.0"?><ListBucketResult><Contents><Key>archive/manifest.jsonl</Key></Contents></ListBucketResult>',
      );
    } else {
      response.writeHead(200, { 'content-length': String(2 ** 40), etag: '"1"' });
      response.write('{"kind":"archive"');
    }
  });
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('is longer than the'),
  });
});
