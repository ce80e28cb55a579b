import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  createKeyPair,
  keyIdOf,
  readPublicKey,
  readSigningKey,
  toKeyObject,
} from '../../../../packages/records/trust/key-pair.ts';

const { privateKeyPem, publicKey } = createKeyPair();
const publicPem = createPublicKey(privateKeyPem).export({ type: 'spki', format: 'pem' }).toString();
const otherKind = generateKeyPairSync('ec', { namedCurve: 'P-256' });

test('the id of a key is a digest of its 32 bytes, which never changes', () => {
  expect(keyIdOf(Buffer.alloc(32, 7).toString('base64'))).toMatchInlineSnapshot(
    `"4bb06f8e4e3a7715d201d573d0aa4237"`,
  );
});

test('a private key tells its public one, and what it signs the public one verifies', () => {
  const key = readSigningKey(privateKeyPem, 'a test');
  expect(key).toMatchObject({ publicKey, keyId: keyIdOf(publicKey) });
  const data = Buffer.from('data');
  expect(verify(null, data, toKeyObject(publicKey), sign(null, data, key.privateKey))).toBe(true);
});

describe('a public key', () => {
  test.each([
    ['in base64', publicKey],
    ['with white space around it', `\n ${publicKey}\n`],
    ['in PEM', publicPem],
  ])('is read %s', (_name, text) => {
    expect(readPublicKey(text, 'a test')).toBe(publicKey);
  });

  test.each([
    {
      name: 'a private key',
      text: privateKeyPem,
      why: /^the file k holds a private key; give the public one/,
    },
    { name: 'anything else', text: 'nothing', why: /^the file k does not hold a public key, base64 or PEM$/ },
    {
      name: 'a key of another kind',
      text: otherKind.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      why: /^the file k holds a key of type ec; only ed25519 signs here$/,
    },
  ])('is none where there is $name', ({ text, why }) => {
    expect(() => readPublicKey(text, 'the file k')).toThrow(
      expect.objectContaining({ code: 'KEY_UNUSABLE', message: expect.stringMatching(why) }),
    );
  });
});
