import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  keptGenerations,
  readClusterTrust,
  readDeciderTrust,
  readNodeTrust,
  readTrust,
} from '../../../cli/options/trust-options.ts';
import { openFixedFile } from '../../../packages/files/fixed-file.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createKeyPair } from '../../../packages/records/trust/key-pair.ts';
import { trustRootsText } from '../../../packages/records/trust/roots-file.ts';
import { AGENT_GENERATIONS_FILE, SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { newKey, rootsOf } from '../../fixtures/trust.ts';
import { logLines } from '../../support/log-lines.ts';
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

const { signal } = new AbortController();
const NODE = { node: { cluster: 'prod', node: 'web-1' }, seen: new SeenGenerations() };
const decider = (given: object) =>
  readDeciderTrust({ log: 'kafka', trust: 'required', trustFacts: 'off', ...given }, signal);

test('required and warn need the roots; who sends orders also needs a key where signatures are required', async () => {
  const { trustRoots, signingKeyFile } = files();
  const seen = new SeenGenerations();
  expect(() => readTrust({ log: 'kafka', trust: 'required' }, seen)).toThrow(/needs --trust-roots/);
  await expect(decider({ trustRoots })).rejects.toThrow(/needs --signing-key-file or --signing-key-command/);
  expect(readTrust({ log: 'kafka', trust: 'required', trustRoots }, seen)).toMatchObject({ signing: null });
  expect(await decider({ trust: 'warn', trustRoots })).toMatchObject({ signing: null });
  expect(await decider({ trustRoots, signingKeyFile })).toMatchObject({
    kind: 'required',
    roots: { fleet: 'prod' },
    signing: { role: 'decider', key: { keyId: expect.any(String) }, everyMs: 10_000 },
  });
});

test('a node signs if it has a key, and for itself alone', async () => {
  const { trustRoots, signingKeyFile } = files();
  const given = { log: 'kafka', trust: 'required', trustRoots } as const;
  expect(await readNodeTrust(given, NODE, signal)).toMatchObject({ signing: null });
  expect(await readNodeTrust({ ...given, signingKeyFile }, NODE, signal)).toMatchObject({
    signing: { role: 'node', subject: { recordKey: 'prod/web-1' } },
  });
});

test('the agent or executor of a cluster signs if it has a key, and for its cluster alone', async () => {
  const { trustRoots, signingKeyFile } = files();
  const given = { log: 'kafka', trust: 'required', trustRoots, trustFacts: 'off' } as const;
  const cluster = { cluster: 'prod', seen: new SeenGenerations() };
  expect(await readClusterTrust(given, cluster, signal)).toMatchObject({ signing: null, facts: 'off' });
  const signing = { ...given, signingKeyFile, trustFacts: 'required' } as const;
  expect(await readClusterTrust(signing, cluster, signal)).toMatchObject({
    signing: { role: 'cluster', subject: { topic: 'clusterOwnership', recordKey: 'prod' } },
    facts: 'required',
  });
  await expect(
    readClusterTrust({ ...given, trust: 'off', trustFacts: 'warn' }, cluster, signal),
  ).rejects.toThrow(/--trust-facts warn has no effect with --trust off/);
});

test('a key from a command: its words as they are, and read again every five minutes', async () => {
  const { trustRoots, signingKeyFile } = files();
  const choice = await decider({ trustRoots, signingKeyCommand: ['cat', signingKeyFile] });
  expect(choice).toMatchObject({ signing: { key: { keyId: expect.any(String) }, everyMs: 300_000 } });
  await expect(decider({ trustRoots, signingKeyFile, signingKeyCommand: ['true'] })).rejects.toThrow(
    /--signing-key-file and --signing-key-command: give one of them/,
  );
});

test('keys that would have no effect are told', async () => {
  const { trustRoots, signingKeyFile } = files();
  expect(() => readTrust({ log: 'kafka', trust: 'off', trustRoots }, new SeenGenerations())).toThrow(
    /no effect with --trust off/,
  );
  await expect(decider({ trust: 'off', signingKeyFile })).rejects.toThrow(/no effect with --trust off/);
  await expect(decider({ trust: 'off', signingKeyCommand: ['true'] })).rejects.toThrow(/no effect/);
});

test('facts are required where orders are', async () => {
  const { trustRoots, signingKeyFile } = files();
  const given = { trustRoots, signingKeyFile };
  expect(await decider({ ...given, trustFacts: 'required' })).toMatchObject({ facts: 'required' });
  expect(await decider({ ...given, trust: 'warn', trustFacts: 'warn' })).toMatchObject({ facts: 'warn' });
  await expect(decider({ ...given, trust: 'warn', trustFacts: 'required' })).rejects.toThrow(
    /--trust-facts required needs --trust required/,
  );
  await expect(decider({ trust: 'off', trustFacts: 'warn' })).rejects.toThrow(/no effect with --trust off/);
});

test.each([
  { name: 'is not there', text: null, why: /there is no such file/ },
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

test('an agent that runs apart keeps what it has seen in a file of its own', () => {
  const directory = temporaryDirectory();
  const open: Parameters<typeof keptGenerations>[1]['open'] = (name, bytes, schema) =>
    openFixedFile(join(directory, name), bytes, schema);
  const logger = createLogger({ service: 'test', level: 'info' }, logLines());
  const kept = (...file: readonly (typeof AGENT_GENERATIONS_FILE)[]) =>
    keptGenerations({ trust: 'required' }, { open }, logger, ...file);
  kept(AGENT_GENERATIONS_FILE).saw('policies', new Map([['web', 7]]));
  expect(kept(AGENT_GENERATIONS_FILE).of('policies', 'web')).toBe(7);
  expect(kept().of('policies', 'web')).toBe(0);
});
