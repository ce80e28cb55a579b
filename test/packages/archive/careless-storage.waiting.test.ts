import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { partName } from '../../../packages/archive/file-names.ts';
import { chained } from '../../../packages/archive/manifest.ts';
import { ListingBounds } from '../../../packages/archive/s3/s3-client.ts';
import { openForWriting } from '../../../packages/archive/s3/s3-store.ts';
import type { S3Place } from '../../../packages/archive/store.ts';
import { archived, checked, logOf } from '../audit/support/archives.ts';
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

test.each(['If-None-Match', 'If-Match'])(
  'a storage that answers 501 to a header is told which one an archive needs: %s',
  async (header) => {
    const { place, asked } = await answering(({ method }, response) => {
      if (method === 'PUT') refuse(response, 501, 'NotImplemented');
      else refuse(response, 404, 'NoSuchKey');
    });
    await expect(archived(logOf([at(0)]), place)).rejects.toMatchObject({
      code: 'STATE_UNWRITABLE',
      message: expect.stringMatching(
        new RegExp(`${header}.*two archivers never write over each other.*AWS S3 .*MinIO have them`),
      ),
    });
    expect(asked.filter(({ method, url }) => method === 'PUT' && !url.includes('probe-'))).toEqual([]);
  },
);

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

test('a file has one name for all who write it, and another where it is to be encrypted otherwise', async () => {
  const named = async (encryption: S3Place['encryption'], id: string, content = 'content') => {
    const { place } = await answering(conflicting(0), { encryption });
    using store = await openForWriting(place, () => id);
    return store.nameToken([Buffer.from(content)]);
  };
  const plain = await named(null, 'one');
  expect(plain).toMatch(/^[0-9a-f]{12}$/);
  expect(await named(null, 'other')).toBe(plain);
  expect(await named(null, 'one', 'another content')).not.toBe(plain);
  expect(await named({ kind: 'sse-s3' }, 'one')).not.toBe(plain);
  expect(await named({ kind: 'sse-kms', keyId: 'a' }, 'one')).not.toBe(
    await named({ kind: 'sse-kms', keyId: 'b' }, 'one'),
  );
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

test('a listing that goes on with names that nobody asked for is not asked for ever', async () => {
  let pages = 0;
  const { place } = await answering((_, response) => {
    pages += 1;
    const isEnd = pages === 200;
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${!isEnd}</IsTruncated><NextContinuationToken>${pages}</NextContinuationToken><Contents><Key>elsewhere/${pages}</Key><Size>1</Size></Contents></ListBucketResult>`,
    );
  });
  await expect(checked({ ...place, prefix: 'archive/' })).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('the listing has no end'),
  });
});

const LISTING = 'list-type';
const MIB = 1024 * 1024;

/** A listing of these parts of a manifest. */
const listOf = (response: ServerResponse, sizes: readonly (number | string)[]): void => {
  const contents = sizes.map(
    (size, number) => `<Contents><Key>archive/${partName(number)}</Key><Size>${size}</Size></Contents>`,
  );
  response.writeHead(200, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><ListBucketResult>${contents.join('')}</ListBucketResult>`);
};

test('parts of a manifest that are together too large are not asked for, though each alone is not', async () => {
  const { place, asked } = await answering((_, response) => listOf(response, Array(24).fill(480 * MIB)));
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('is longer than the'),
  });
  expect(asked.filter(({ url }) => !url.includes(LISTING))).toEqual([]);
});

test.each<{ sizes: readonly (number | string)[] }>([
  { sizes: [-4096 * MIB, 4096 * MIB] },
  { sizes: ['-Infinity', 'Infinity'] },
  { sizes: ['many'] },
])('parts of a manifest of $sizes bytes are not asked for: no sum bounds them', async ({ sizes }) => {
  const { place, asked } = await answering((_, response) => listOf(response, sizes));
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('a size that is no number of bytes'),
  });
  expect(asked.filter(({ url }) => !url.includes(LISTING))).toEqual([]);
});

test('an object that is larger than the listing says is not read, however large it is', async () => {
  const { place } = await answering(({ url }, response) => {
    if (url.includes(LISTING)) return listOf(response, [100]);
    response.writeHead(200, { 'content-length': String(480 * MIB), etag: '"1"' });
    response.write('{"kind":"archive"');
  });
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('has another size than the 100 bytes'),
  });
});

test('what comes behind the bytes that were announced is no part of an object', async () => {
  const text = `${JSON.stringify(chained({ kind: 'archive', version: 3, begunAtMs: 1, id: 'x' }, null))}\n`;
  const { place } = await answering(({ url }, response) => {
    if (url.includes(LISTING)) return listOf(response, url.includes('manifest') ? [text.length] : []);
    response.writeHead(200, { 'content-length': String(text.length), etag: '"1"' });
    response.write(text);
    response.end(Buffer.alloc(64 * MIB, 'x'));
  });
  expect(await checked(place)).toMatchObject({ deviations: [], files: 0, records: 0 });
});

test('a listing whose pages name nothing, each with another mark of the next, ends', async () => {
  let pages = 0;
  const { place } = await answering((_, response) => {
    pages += 1;
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${pages}</NextContinuationToken></ListBucketResult>`,
    );
  });
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('of its pages name nothing'),
  });
  expect(pages).toBeLessThan(200);
});

test('a name that is longer than any can be is not taken into memory', async () => {
  const { place } = await answering((_, response) => {
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0"?><ListBucketResult><Contents><Key>archive/manifest${'x'.repeat(MIB)}</Key><Size>1</Size></Contents></ListBucketResult>`,
    );
  });
  await expect(checked(place)).rejects.toMatchObject({
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('a name of more than 1024 bytes'),
  });
});

test('names that are together longer than those of any archive are not taken into memory', () => {
  const bounds = new ListingBounds();
  const name = 'x'.repeat(1024);
  for (let taken = 0; taken < 256 * 1024; taken += 1) bounds.own(name);
  expect(() => bounds.own(name)).toThrow('the names in the listing have more than');
});
