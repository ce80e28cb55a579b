import { expect, test } from 'vitest';
import { archivePlace, type S3Options } from '../../../cli/options/archive-options.ts';
import { placeText } from '../../../packages/archive/store.ts';

const NONE: S3Options = { s3PathStyle: false, s3PlainHttp: false };

test.each(['/srv/archive', 'archive', './s3:/x', 's3'])('%s is a directory', (text) => {
  expect(archivePlace(text, NONE)).toBe(text);
});

test.each([
  ['s3://audit', 's3://audit', ''],
  ['s3://audit/', 's3://audit', ''],
  ['s3://audit/fleet-1/archive', 's3://audit/fleet-1/archive', 'fleet-1/archive/'],
  ['s3://audit/fleet-1/', 's3://audit/fleet-1', 'fleet-1/'],
])('%s is a place in object storage', (text, name, prefix) => {
  const place = archivePlace(text, { ...NONE, s3Region: 'eu-central-1' });
  expect(place).toEqual({
    bucket: 'audit',
    prefix,
    endpoint: null,
    region: 'eu-central-1',
    pathStyle: false,
    encryption: null,
    caPem: null,
  });
  expect(placeText(place)).toBe(name);
});

test.each<{ text?: string; over?: Partial<S3Options>; says: string }>([
  { text: 'gs://audit/x', says: 'is no place of an archive' },
  { text: 's3://', says: 'is no place of an archive' },
  { text: 's3://UPPER/x', says: 'where BUCKET has 3 to 63 small letters' },
  { text: 's3://b/x', says: 'where BUCKET has 3 to 63 small letters' },
  { text: 's3://audit//x', says: 'is not one for an archive' },
  { text: 's3://audit/../x', says: 'is not one for an archive' },
  { text: 's3://audit/a b', says: 'is not one for an archive' },
  { text: `s3://audit/${'a'.repeat(513)}`, says: 'is not one for an archive' },
  { over: { s3Endpoint: 'http://storage.example:9000' }, says: 'http:// to another machine' },
  { over: { s3Endpoint: 'http://127.evil.example' }, says: 'http:// to another machine' },
  { over: { s3Endpoint: 'storage.example' }, says: 'must be a URL' },
  { over: { s3Endpoint: 'https://user:secret@storage.example' }, says: 'must be a URL' },
  { over: { s3KmsKeyId: 'key' }, says: 'is for --s3-encryption sse-kms' },
  { over: { s3Encryption: 'sse-s3', s3KmsKeyId: 'key' }, says: 'is for --s3-encryption sse-kms' },
  { over: { s3CaFile: '/nowhere.pem' }, says: 'cannot be read' },
  { over: { s3CaFile: import.meta.filename }, says: 'no certificate in PEM' },
])('refused: $text $over', ({ text = 's3://audit/x', over = {}, says }) => {
  expect(() => archivePlace(text, { ...NONE, ...over })).toThrow(says);
});

test.each([
  ['http://127.0.0.1:9000', {}],
  ['http://localhost:9000', {}],
  ['http://[::1]:9000', {}],
  ['https://storage.example/s3/', {}],
  ['http://storage.example:9000', { s3PlainHttp: true }],
])('the endpoint %s is taken', (s3Endpoint, over) => {
  const place = archivePlace('s3://audit/x', { ...NONE, s3Endpoint, ...over });
  expect(place).toMatchObject({ endpoint: s3Endpoint.replace(/\/$/, '') });
});
