import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readDashboardTrust } from '../../../cli/options/trust-options.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { inProcess } from '../fleetgc.ts';
import { rootedLog } from './rooted-log.ts';

const TOKEN = 'o'.repeat(40);

/** A log on which keys of these roles are certified, and a dashboard that is asked to start on it. */
async function fleet() {
  const { own, file, create, certify } = await rootedLog();
  writeFileSync(file('tokens'), `operator ann ${TOKEN}\n`, { mode: 0o600 });
  for (const role of ['operator', 'pauser', 'decider']) await certify(role, '--role', role);
  await create('stranger.pem');
  const start = (...args: readonly string[]) =>
    own.run('dashboard', '--projection', file('dashboard.db'), '--http-address', '127.0.0.1:0', ...args);
  const signing = (name: string): readonly string[] => [
    ...['--allow-actions', '--token-file', file('tokens')],
    ...[
      '--trust',
      'required',
      '--trust-roots',
      file('roots.yaml'),
      '--signing-key-file',
      file(`${name}.pem`),
    ],
  ];
  return { start, signing, file };
}

describe('a dashboard with actions does not start', () => {
  test.each([
    { name: 'operator', says: /may sign as operator, not as dashboard/ },
    { name: 'pauser', says: /may sign as pauser, not as dashboard/ },
    { name: 'decider', says: /may sign as decider, not as dashboard/ },
    { name: 'stranger', says: /no root vouches for/ },
    { name: 'missing', says: /missing\.pem/ },
  ])('with the key of $name', async ({ name, says }) => {
    const { start, signing } = await fleet();
    expect(await start(...signing(name))).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) });
  });

  test('without a key where signatures count', async () => {
    const { start, signing, file } = await fleet();
    const [allowed, tokens, path] = signing('operator');
    expect(
      await start(
        `${allowed}`,
        `${tokens}`,
        `${path}`,
        '--trust',
        'required',
        '--trust-roots',
        file('roots.yaml'),
      ),
    ).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--trust required needs --signing-key-file'),
    });
  });

  test('where nobody has to sign in', async () => {
    const { start } = await fleet();
    expect(await start('--allow-actions')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--allow-actions needs --token-file or --trusted-proxy'),
    });
  });
});

test('a dashboard without actions takes no key', async () => {
  const { start, file } = await fleet();
  expect(await start('--signing-key-file', file('operator.pem'))).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('have no effect without --allow-actions'),
  });
});

test.each([
  {
    args: ['--trust', 'required'],
    says: '--trust has no effect without --allow-actions',
  },
  { args: ['--operators', 'ann'], says: '--operators has no effect without --trusted-proxy' },
])('$args is refused where it has no effect', async ({ args, says }) => {
  const { start } = await fleet();
  expect(await start(...args)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(says) });
});

test('on Kafka actions need a choice of --trust, and on an embedded log none', async () => {
  const { signal } = new AbortController();
  await expect(readDashboardTrust({ log: 'kafka' }, signal)).rejects.toThrow('--trust is missing');
  expect(await readDashboardTrust({ log: 'embedded' }, signal)).toEqual({ kind: 'off' });
  const { stdout } = await inProcess(['dashboard', '--help']);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('Needed with --allow-actions on Kafka');
});

/** Started on an archive that is not there, which it finds after it has chosen its file. */
const refusedOn = (environment: Readonly<Record<string, string>>) =>
  inProcess(
    ['dashboard', '--log', 'archive', '--archive', '/none', '--http-address', '0.0.0.0:0'],
    environment,
  );

test.each([
  {
    name: 'XDG_STATE_HOME',
    under: '',
    variable: (path: string) => ({ XDG_STATE_HOME: path, HOME: '/none' }),
  },
  {
    name: 'HOME',
    under: '.local/state',
    variable: (path: string) => ({ HOME: path, XDG_STATE_HOME: 'relative' }),
  },
])('without --projection its file is below $name', async ({ under, variable }) => {
  const home = temporaryDirectory();
  expect((await refusedOn(variable(home))).exitCode).toBe(1);
  expect(statSync(join(home, under, 'fleetgc')).mode & 0o777).toBe(0o700);
});

test('without --projection and without a place for its file it says what to give', async () => {
  expect(await refusedOn({})).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('give --projection FILE'),
  });
});

test('actions by a session need TLS, unless this machine alone is served', async () => {
  const { start, file } = await fleet();
  const args = ['--allow-actions', '--token-file', file('tokens'), '--http-address', '0.0.0.0:0'];
  expect(await start(...args)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('needs --public-url https://'),
  });
});

test('an archive takes no actions', async () => {
  const ended = await inProcess([
    'dashboard',
    '--log',
    'archive',
    '--archive',
    temporaryDirectory(),
    '--allow-actions',
  ]);
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('which nobody writes to') });
});

test('a dashboard that is to judge what nodes report does not start without roots', async () => {
  const { start } = await fleet();
  expect(await start('--trust-facts', 'required')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/--trust-facts needs --trust-roots/),
  });
});
