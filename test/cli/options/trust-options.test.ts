import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSigningTrust, readTrust } from '../../../cli/options/trust-options.ts';
import { createKeyPair } from '../../../packages/trust/key-pair.ts';
import { trustRootsText } from '../../../packages/trust/roots-file.ts';
import { SeenGenerations } from '../../../packages/trust/seen-generations.ts';
import { newKey, rootsOf } from '../../fixtures/trust.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { inProcess } from '../fleetgc.ts';

const { privateKeyPem } = createKeyPair();

function files() {
  const directory = temporaryDirectory();
  const [trustRoots, signingKeyFile] = [join(directory, 'roots.yaml'), join(directory, 'key.pem')];
  writeFileSync(trustRoots, trustRootsText(rootsOf(newKey())));
  writeFileSync(signingKeyFile, privateKeyPem, { mode: 0o600 });
  return { trustRoots, signingKeyFile };
}

test('one machine needs no choice', () => {
  expect(readTrust({ log: 'embedded' }, new SeenGenerations())).toEqual({ kind: 'off' });
});

test.each([['node', '--cluster', 'prod'], ['decide'], ['pause'], ['policy', 'delete', 'web']])(
  'on Kafka %s does nothing before somebody chose whose messages count',
  async (...args) => {
    const { exitCode, stdout, stderr } = await inProcess([...args, '--kafka-brokers', '127.0.0.1:9'], {});
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/--trust is missing\. required: .* off: .* warn: .* docs\/operating\/keys\.md/);
  },
);

test('verbs that only read need no choice', async () => {
  const { stderr } = await inProcess(['policy', 'list', '--help'], {});
  expect(stderr).not.toContain('--trust');
});

test('required and warn need the roots; who sends orders also needs a key where signatures are required', () => {
  const { trustRoots, signingKeyFile } = files();
  expect(() => readTrust({ log: 'kafka', trust: 'required' }, new SeenGenerations())).toThrow(
    /needs --trust-roots/,
  );
  expect(() => readSigningTrust({ log: 'kafka', trust: 'required', trustRoots })).toThrow(
    /needs --signing-key-file/,
  );
  expect(readTrust({ log: 'kafka', trust: 'required', trustRoots }, new SeenGenerations())).toMatchObject({
    signingKey: null,
  });
  expect(readSigningTrust({ log: 'kafka', trust: 'warn', trustRoots })).toMatchObject({ signingKey: null });
  expect(readSigningTrust({ log: 'kafka', trust: 'required', trustRoots, signingKeyFile })).toMatchObject({
    kind: 'required',
    roots: { fleet: 'prod' },
    signingKey: { keyId: expect.any(String) },
  });
});

test('keys that would have no effect are told', () => {
  expect(() => readTrust({ log: 'kafka', trust: 'off', ...files() }, new SeenGenerations())).toThrow(
    /have no effect with --trust off/,
  );
});

test.each([
  { name: 'is not there', text: null, why: /ENOENT/ },
  { name: 'names no root', text: 'fleet: prod\nroots: []\n', why: /roots/ },
  { name: 'is a bomb of aliases', text: 'a: &a [x]\nb: [*a, *a]\n', why: /[Aa]lias/ },
  { name: 'is no YAML', text: '{', why: /no valid YAML/ },
])('a file of roots that $name is refused with what writes one', ({ text, why }) => {
  const path = join(temporaryDirectory(), 'roots.yaml');
  if (text !== null) writeFileSync(path, text);
  const read = () => readTrust({ log: 'kafka', trust: 'required', trustRoots: path }, new SeenGenerations());
  expect(read).toThrow(why);
  expect(read).toThrow(/"fleetgc keys roots" writes such a file/);
});

test('a private key in the place of the roots does not show in the message, however it is broken', () => {
  const path = join(temporaryDirectory(), 'roots.yaml');
  const secret = privateKeyPem.split('\n')[1] ?? '';
  for (const text of [privateKeyPem, `fleet: "${privateKeyPem}`, `fleet: "${secret}\n  roots: [`]) {
    writeFileSync(path, text);
    const read = () =>
      readTrust({ log: 'kafka', trust: 'required', trustRoots: path }, new SeenGenerations());
    expect(read).toThrow(/cannot be used/);
    expect(read).not.toThrow(secret);
  }
});
