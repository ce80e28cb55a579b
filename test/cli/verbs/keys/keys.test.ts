import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, type OwnLog, ownLog } from '../../fleetgc.ts';

interface Fleet {
  readonly own: OwnLog;
  readonly directory: string;
  readonly file: (name: string) => string;
  readonly rooted: readonly string[];
}

/** A log of its own, a root, and the file that names it. */
async function fleet(): Promise<Fleet> {
  const own = await ownLog();
  const directory = temporaryDirectory();
  const file = (name: string): string => join(directory, name);
  const root = await createKey(file('root.pem'));
  const { stdout } = await inProcess(['keys', 'roots', '--fleet', 'prod', '--root', `first=${root}`]);
  writeFileSync(file('roots.yaml'), stdout);
  return {
    own,
    directory,
    file,
    rooted: ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')],
  };
}

async function createKey(path: string): Promise<string> {
  const { stdout, exitCode } = await inProcess(['keys', 'create', path]);
  expect(exitCode).toBe(0);
  return stdout.trim();
}

interface Listed {
  readonly keys: readonly { readonly keyId: string; readonly role: string; readonly state: string }[];
  readonly unreadable: readonly unknown[];
}

async function list({ own, file }: Fleet): Promise<Listed> {
  const { stdout } = await own.run('keys', 'list', '--trust-roots', file('roots.yaml'), '-o', 'json');
  return JSON.parse(stdout);
}

const CERTIFY = ['--name', 'deciders', '--role', 'decider', '--valid-for', '90d'];

test('a key is made, certified, listed and revoked', async () => {
  const given = await fleet();
  const publicKey = await createKey(given.file('decider.pem'));
  expect(statSync(given.file('decider.pem')).mode & 0o077).toBe(0);

  const certified = await given.own.run('keys', 'certify', publicKey, ...CERTIFY, ...given.rooted);
  expect(certified).toMatchObject({ exitCode: 0, stderr: '' });
  expect(certified.stdout).toMatch(/^certified: [0-9a-f]{32} \(deciders\) as decider until 20/);

  const [root, key] = (await list(given)).keys;
  expect(root).toMatchObject({ name: 'first', role: 'root', state: 'valid', notAfter: null });
  expect(key).toMatchObject({ name: 'deciders', role: 'decider', state: 'valid', clusters: [] });

  const revoked = await given.own.run(
    'keys',
    'revoke',
    key?.keyId ?? '',
    '--reason',
    'lost',
    ...given.rooted,
  );
  expect(revoked.stdout).toMatch(/^revoked: [0-9a-f]{32}; what it signed since 20/);
  expect((await list(given)).keys[1]).toMatchObject({ state: 'revoked', revocation: { reason: 'lost' } });

  const again = await given.own.run('keys', 'certify', publicKey, ...CERTIFY, ...given.rooted);
  expect(again).toMatchObject({ exitCode: 2, stdout: '' });
  expect(again.stderr).toMatch(/was revoked, which is for good/);
});

test('a key of nodes is for some of a cluster', async () => {
  const given = await fleet();
  const publicKey = await createKey(given.file('node.pem'));
  const certify = (...args: readonly string[]) =>
    given.own.run(
      'keys',
      'certify',
      publicKey,
      '--name',
      'web',
      '--valid-for',
      '90d',
      ...args,
      ...given.rooted,
    );
  for (const args of [
    ['--role', 'node', '--node', 'web-1'],
    ['--role', 'decider', '--cluster', 'eu', '--node', 'web-1'],
  ])
    expect(await certify(...args)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--node needs --role node, and --cluster'),
    });
  const nodes = ['web-1', 'web-2', 'web-3', 'web-4'];
  const { exitCode } = await certify('--role', 'node', '--cluster', 'eu', '--node', nodes.join());
  expect(exitCode).toBe(0);
  expect((await list(given)).keys[1]).toMatchObject({ role: 'node', clusters: ['eu'], nodes });
  const table = await given.own.run('keys', 'list', '--trust-roots', given.file('roots.yaml'));
  expect(table.stdout).toContain('web-1,web-2,web-3,… (1 more)');
});

test('the key of a root may come from a command', async () => {
  const given = await fleet();
  const publicKey = await createKey(given.file('decider.pem'));
  const roots = ['--trust-roots', given.file('roots.yaml')];
  const certify = ['keys', 'certify', publicKey, ...CERTIFY, ...roots];
  expect(await given.own.run(...certify)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--root-key-file is missing; or give --root-key-command'),
  });
  const { exitCode } = await given.own.run(...certify, '--root-key-command', `cat ${given.file('root.pem')}`);
  expect(exitCode).toBe(0);
  const checked = await given.own.run(
    ...['keys', 'check', '--key-command', `cat ${given.file('decider.pem')}`, '--role', 'operator', ...roots],
  );
  expect(checked.stdout).toContain('may sign as decider, not as operator');
});

test('a key that is there is kept where that is asked for, and refused elsewhere', async () => {
  const path = join(temporaryDirectory(), 'root.pem');
  const keeping = () => inProcess(['keys', 'create', path, '--keep-existing']);
  const created = await keeping();
  const written = readFileSync(path, 'utf8');

  expect(created).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^[A-Za-z0-9+/]{43}=\n$/) });
  expect(await keeping()).toMatchObject({ exitCode: 0, stdout: created.stdout });
  expect(await inProcess(['keys', 'create', path])).toMatchObject({ exitCode: 2, stdout: '' });
  expect(readFileSync(path, 'utf8')).toBe(written);
});

test('what is kept has to be a private key that others cannot read', async () => {
  const path = join(temporaryDirectory(), 'root.pem');
  const keeping = () => inProcess(['keys', 'create', path, '--keep-existing']);
  await keeping();
  chmodSync(path, 0o644);
  expect(await keeping()).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringMatching(/chmod o=/),
  });
  chmodSync(path, 0o600);
  writeFileSync(path, '');
  expect(await keeping()).toMatchObject({ exitCode: 2, stdout: '' });
  expect(readFileSync(path, 'utf8')).toBe('');
});

test('a root signs offline, and another machine publishes it', async () => {
  const given = await fleet();
  const publicKey = await createKey(given.file('ops.pem'));
  const offline = await inProcess([
    'keys',
    'certify',
    publicKey,
    '--name',
    'ops',
    '--role',
    'operator',
    '--valid-for',
    '30d',
    ...given.rooted,
    '--offline',
  ]);
  expect(offline).toMatchObject({ exitCode: 0, stderr: '' });
  writeFileSync(given.file('ops.statement'), offline.stdout);
  expect((await list(given)).keys).toHaveLength(1);

  const publish = () =>
    given.own.run('keys', 'publish', given.file('ops.statement'), '--trust-roots', given.file('roots.yaml'));
  expect((await publish()).stdout).toMatch(/^published: [0-9a-f]{32}\n$/);
  expect((await list(given)).keys[1]).toMatchObject({ role: 'operator', state: 'valid' });
  // Twice is safe.
  expect((await publish()).exitCode).toBe(0);
  expect((await list(given)).keys).toHaveLength(2);
});

test('nothing is published that nobody would believe', async () => {
  const given = await fleet();
  const stranger = await fleet();
  const publicKey = await createKey(given.file('ops.pem'));
  const foreign = await inProcess([
    'keys',
    'certify',
    publicKey,
    ...CERTIFY,
    ...stranger.rooted,
    '--offline',
  ]);
  writeFileSync(given.file('foreign.statement'), foreign.stdout);

  const { exitCode, stdout, stderr } = await given.own.run(
    'keys',
    'publish',
    given.file('foreign.statement'),
    '--trust-roots',
    given.file('roots.yaml'),
  );
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(
    /line 1: no process would trust this statement: [0-9a-f]{32}, which signed it, is no root\. Nothing/,
  );
  expect(await list(given)).toMatchObject({ unreadable: [] });
});

test('who is no root can certify nobody', async () => {
  const given = await fleet();
  const stranger = await fleet();
  const publicKey = await createKey(given.file('key.pem'));
  const { exitCode, stderr } = await given.own.run(
    'keys',
    'certify',
    publicKey,
    ...CERTIFY,
    '--trust-roots',
    given.file('roots.yaml'),
    '--root-key-file',
    stranger.file('root.pem'),
  );
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/is no root of the fleet prod/);
});

test('check says what is missing, what ends soon, and whether a key may sign', async () => {
  const given = await fleet();
  const check = (...more: readonly string[]) =>
    given.own.run('keys', 'check', '--trust-roots', given.file('roots.yaml'), ...more);
  const empty = await check();
  expect(empty.exitCode).toBe(1);
  expect(empty.stdout).toBe('no key of role operator is valid now\nno key of role decider is valid now\n');

  for (const role of ['operator', 'decider']) {
    const publicKey = await createKey(given.file(`${role}.pem`));
    await given.own.run(
      'keys',
      'certify',
      publicKey,
      '--name',
      role,
      '--role',
      role,
      '--valid-for',
      '20d',
      ...given.rooted,
    );
  }
  expect(await check()).toMatchObject({ exitCode: 0, stdout: 'no problem found\n' });
  expect((await check('--within', '21d')).stdout).toMatch(/\(operator\), role operator, expires at 20/);

  expect((await check('--key-file', given.file('decider.pem'), '--role', 'operator')).stdout).toMatch(
    /may sign as decider, not as operator/,
  );
  await createKey(given.file('unknown.pem'));
  expect((await check('--key-file', given.file('unknown.pem'))).stdout).toMatch(/no root vouches for/);
});

test('no private key shows in anything that is printed', async () => {
  const given = await fleet();
  const secret = readFileSync(given.file('root.pem'), 'utf8').split('\n')[1] ?? '';
  const publicKey = await createKey(given.file('key.pem'));
  const printed = [
    await given.own.run('keys', 'certify', publicKey, ...CERTIFY, ...given.rooted, '--log-level', 'trace'),
    await given.own.run('keys', 'certify', given.file('root.pem'), ...CERTIFY, ...given.rooted),
    await given.own.run('keys', 'list', '--trust-roots', given.file('root.pem'), '-o', 'json'),
  ];
  expect(JSON.stringify(printed)).not.toContain(secret);
  expect(printed[1]?.stderr).toMatch(/holds a private key; give the public one/);
});

test('what roots and strangers call keys cannot rewrite a terminal', async () => {
  const given = await fleet();
  const publicKey = await createKey(given.file('key.pem'));
  const role = ['--role', 'decider', '--valid-for', '1d'];
  const name = 'a\u001b[2J\u009b1m\u202eb\nc';
  await given.own.run('keys', 'certify', publicKey, '--name', name, ...role, ...given.rooted);
  const key = `\u009b2J${'k'.repeat(300_000)}`;
  await given.own.log.publish([{ topic: 'gc.keys', key, value: Buffer.from('{}'), headers: {} }]);
  const roots = ['--trust-roots', given.file('roots.yaml')];
  const printed = [
    await given.own.run('keys', 'list', ...roots),
    await given.own.run('keys', 'check', '--within', '2d', ...roots),
  ];
  const text = printed.map(({ stdout, stderr }) => stdout + stderr).join('');
  expect(text).toContain('\\u{1b}[2J');
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  expect(text.length).toBeLessThan(5_000);
});
