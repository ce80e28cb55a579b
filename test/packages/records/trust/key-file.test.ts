import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createKeyPair, keyIdOf, readPublicKey } from '../../../../packages/records/trust/key-pair.ts';
import { readKeyFile, writeKeyFile } from '../../../../packages/records/trust/private-key.ts';
import { isSignedBy } from '../../../../packages/records/trust/signature.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const { privateKeyPem, publicKey } = createKeyPair();

function keyFile(text = privateKeyPem, mode = 0o600): string {
  const path = join(temporaryDirectory(), 'key.pem');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function pipe(): string {
  const path = join(temporaryDirectory(), 'key.pem');
  execFileSync('mkfifo', ['-m', '600', path]);
  return path;
}

test('a private key is written for its user alone, and read again', () => {
  const path = join(temporaryDirectory(), 'key.pem');
  writeKeyFile(path, privateKeyPem);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readKeyFile(path)).toMatchObject({ publicKey, keyId: keyIdOf(publicKey) });
});

test('no key is overwritten', () => {
  const path = keyFile();
  expect(() => writeKeyFile(path, createKeyPair().privateKeyPem)).toThrow(/no key is overwritten/);
  expect(readFileSync(path, 'utf8')).toBe(privateKeyPem);
});

test('who names a folder that is not there is told how to make it', () => {
  const path = join(temporaryDirectory(), 'keys', 'decider.pem');
  expect(() => writeKeyFile(path, privateKeyPem)).toThrow(
    /there is no folder .*keys; "mkdir -m 700 -p .*keys" makes it/,
  );
});

test('where a part of the path is a file, that is told', () => {
  const path = join(keyFile(), 'decider.pem');
  expect(() => writeKeyFile(path, privateKeyPem)).toThrow(
    expect.objectContaining({
      code: 'KEY_UNUSABLE',
      message: expect.stringMatching(/cannot be used: a part of the path is not a directory/),
      cause: expect.any(Error),
    }),
  );
});

test('a file may be as large as is read, and stays open for nobody', () => {
  const path = keyFile(privateKeyPem.padEnd(16_384, '\n'));
  const before = readdirSync('/proc/self/fd').length;
  for (let times = 0; times < 20; times += 1) expect(readKeyFile(path).publicKey).toBe(publicKey);
  expect(readdirSync('/proc/self/fd').length).toBeLessThan(before + 20);
});

test('its group may read it, as with fsGroup', () => {
  expect(readKeyFile(keyFile(privateKeyPem, 0o640)).publicKey).toBe(publicKey);
});

test.each([
  { name: 'everybody can read', path: () => keyFile(privateKeyPem, 0o644), why: /chmod o=/ },
  { name: 'is not there', path: () => join(temporaryDirectory(), 'none.pem'), why: /no such file/ },
  { name: 'is a directory', path: () => temporaryDirectory(), why: /no file/ },
  { name: 'is a pipe to which nobody writes', path: pipe, why: /no file/ },
  { name: 'holds no key', path: () => keyFile('nothing'), why: /does not hold a private key/ },
  { name: 'is far too large', path: () => keyFile('x'.repeat(20_000)), why: /more than 16384 bytes/ },
  {
    name: 'holds a key of another kind',
    path: () =>
      keyFile(
        generateKeyPairSync('ec', { namedCurve: 'P-256' })
          .privateKey.export({ type: 'pkcs8', format: 'pem' })
          .toString(),
      ),
    why: /type ec; only ed25519/,
  },
])('a key file is refused that $name', ({ path, why }) => {
  expect(() => readKeyFile(path())).toThrow(why);
});

test('no message says what is in the file', () => {
  const path = keyFile(privateKeyPem.replace('BEGIN PRIVATE', 'BEGIN BROKEN PRIVATE'));
  const secret = privateKeyPem.split('\n')[1] ?? '';
  expect(() => readKeyFile(path)).toThrow(/does not hold/);
  try {
    readKeyFile(path);
  } catch (error) {
    expect(JSON.stringify([String(error), error])).not.toContain(secret);
  }
});

test('a private key in the place of a public one is refused with what to do', () => {
  expect(() => readPublicKey(privateKeyPem, 'root.pem')).toThrow(/give the public one/);
});

test.each(['01', '00', 'ec'])('a public key of small order proves nothing: %s', (first) => {
  const rest = first === 'ec' ? `${'ff'.repeat(30)}7f` : '00'.repeat(31);
  const weak = Buffer.from(`${first}${rest}`, 'hex').toString('base64');
  const neutral = Buffer.concat([Buffer.from([1]), Buffer.alloc(63)]).toString('base64');
  const forged = Array.from({ length: 64 }, (_, at) =>
    isSignedBy(
      weak,
      'prod',
      { topic: 'gc.keys', key: String(at), value: Buffer.from('{}') },
      { keyId: keyIdOf(weak), signature: neutral, generation: at },
    ),
  );
  expect(forged).not.toContain(true);
});
