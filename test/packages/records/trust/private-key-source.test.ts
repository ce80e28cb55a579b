import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createKeyPair, keyIdOf } from '../../../../packages/records/trust/key-pair.ts';
import { readPrivateKey } from '../../../../packages/records/trust/private-key.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const { privateKeyPem, publicKey } = createKeyPair();
const SECRET = privateKeyPem.split('\n')[1] ?? '';
const { signal } = new AbortController();

const ofShell = (script: string, ...words: readonly string[]) =>
  readPrivateKey({ kind: 'command', command: ['/bin/sh', '-c', script, 'sh', ...words] }, signal);

function keyFile(): string {
  const path = join(temporaryDirectory(), 'key.pem');
  writeFileSync(path, privateKeyPem, { mode: 0o600 });
  return path;
}

test('a key from a file and from a command is the same key', async () => {
  const path = keyFile();
  const keyId = keyIdOf(publicKey);
  expect(await readPrivateKey({ kind: 'file', path }, signal)).toMatchObject({ keyId });
  expect(await readPrivateKey({ kind: 'command', command: ['cat', path] }, signal)).toMatchObject({ keyId });
});

test.each([
  {
    name: 'fails',
    script: 'echo "vault: sealed" >&2; exit 2',
    why: /exit code 2. It wrote to stderr: vault: sealed$/,
  },
  { name: 'says nothing', script: 'true', why: /does not hold a private key/ },
  { name: 'writes too much', script: 'yes', why: /more than 16384 bytes/ },
])('a command that $name gives none', async ({ script, why }) => {
  await expect(ofShell(script)).rejects.toThrow(why);
});

test.each([
  { name: 'writes the key and fails', script: 'cat "$1"; exit 1' },
  { name: 'writes the key to stderr', script: 'cat "$1" >&2; exit 1' },
  { name: 'writes the key to both', script: 'cat "$1"; cat "$1" >&2; exit 1' },
  {
    name: 'writes a line of the key to both',
    script: 'sed -n 2p "$1"; echo "x $(sed -n 2p "$1") y" >&2; exit 1',
  },
  { name: 'writes the line of the key to stderr alone', script: 'sed -n 2p "$1" >&2; exit 1' },
  { name: 'traces what it runs', script: 'key=$(sed -n 2p "$1"); set -x; echo "$key" | false' },
  { name: 'writes a broken key', script: 'sed -n 2p "$1"' },
])('no message holds the key of a command that $name', async ({ script }) => {
  const path = keyFile();
  const error = await ofShell(script, path).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'KEY_UNUSABLE' });
  expect(`${error} ${JSON.stringify(error)}`).not.toContain(SECRET);
  expect(`${error}`).not.toContain(path);
});

test.each([
  { length: 15, isShown: true },
  { length: 16, isShown: false },
])(
  'a line of $length characters on both sides may be the key: it is shown $isShown',
  async ({ length, isShown }) => {
    const line = 'x'.repeat(length);
    const error = await ofShell(`echo "  ${line}  "; echo "said: ${line}" >&2; exit 1`).catch(String);
    expect(String(error).includes(line)).toBe(isShown);
  },
);

test('what a command says in many lines is told in one', async () => {
  await expect(ofShell(`printf 'a\\n\\n\\tb  ' >&2; exit 3`)).rejects.toThrow(/It wrote to stderr: a b$/);
});

test('a command that says nothing on stderr is told without it, and of a long text the beginning', async () => {
  await expect(ofShell('exit 3')).rejects.toThrow(/exit code 3$/);
  const error = await ofShell(`printf 'é%.0s' $(seq 600) >&2; exit 3`).catch(String);
  expect(String(error)).toMatch(/It wrote to stderr: é{500}$/);
});
