import { globSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadAllVerbs } from '../../cli/verbs.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { fleetgc, inProcess, ownLog } from '../cli/fleetgc.ts';
import { readTopic } from '../cli/read-topic.ts';
import { nodeOptions } from '../cli/service-options.ts';
import { BOUND_MS, spawnVerb, startVerb } from '../cli/service-process.ts';
import { simulatedNode } from '../support/simulated-node.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { echoingServer, refusingBroker, refusingKubelet } from './refusing-servers.ts';
import { type Secret, secretIn, secretValue, showsIn } from './secret.ts';
import { expectNone, saidBy, textsOf } from './told.ts';

/**
 * Every option that names a file with a secret in it. Whoever adds one adds a test below that gives it. A kubeconfig holds secrets
 * too: `cluster-secrets.waiting.test.ts`.
 */
const SECRET_OPTIONS = [
  'kafkaKeyFile',
  'kafkaPasswordFile',
  'kafkaTokenFile',
  'keyFile',
  'kubeletKeyFile',
  'kubeletTokenFile',
  'policyTokenFile',
  'rootKeyFile',
  'signingKeyFile',
  'tlsKeyFile',
  'tokenFile',
];
/** The same for commands that write a secret to stdout. */
const SECRET_COMMANDS = ['keyCommand', 'rootKeyCommand', 'signingKeyCommand'];
/** Named like one: the key of a record, public keys and their ids, the name of a key of KMS, and where tokens come from. */
const PUBLIC = [
  'key',
  'keyId',
  'publicKey',
  's3KmsKeyId',
  'kafkaTokenCaFile',
  'kafkaTokenScope',
  'kafkaTokenUrl',
];
const TALKATIVE = ['--log-level', 'trace'];

test('these are the options that take a secret, and none takes it itself', async () => {
  const keys = (await loadAllVerbs()).flatMap(({ options }) => options.map(({ key }) => key));
  const secret = [...new Set(keys.filter((key) => /password|secret|token|key/i.test(key)))];
  expect(secret.filter((key) => !PUBLIC.includes(key)).toSorted()).toEqual(
    [...SECRET_OPTIONS, ...SECRET_COMMANDS].toSorted(),
  );
});

test.each(['it is %s here', JSON.stringify({ password: '%s' })])(
  'a secret is found in whatever clothes it comes: %s',
  (text) => {
    const secret = secretIn(temporaryDirectory(), 'found');
    const { value } = secret;
    const shows = (form: string) =>
      showsIn(
        text.replace('%s', () => form),
        secret,
      );
    expect(shows(value)).toContain('plain');
    expect(shows(encodeURIComponent(value))).toEqual(['url-encoded']);
    for (const before of ['', 'a', 'ab', 'abc', '\0user\0'])
      for (const encoding of ['base64', 'base64url'] as const)
        expect(shows(Buffer.from(`${before}${value}behind`).toString(encoding))).toEqual(['base64']);
    expect(shows('nothing')).toEqual([]);
  },
);

const login = (broker: string, mechanism: string, password: Secret): readonly string[] => [
  ...['--kafka-brokers', broker, '--kafka-plain-without-tls', '--kafka-sasl-mechanism', mechanism],
  ...['--kafka-username', 'nodes', '--kafka-password-file', password.file],
];

describe('a service that may not do what it wants to does not tell its secrets', () => {
  test.each(['plain', 'scram-sha-512'])(
    'a broker refuses its login with %s, and the kubelet its token',
    async (mechanism) => {
      const directory = temporaryDirectory();
      const [password, token] = [secretIn(directory, 'password'), secretIn(directory, 'token')];
      const running = startVerb(
        'node',
        ...[...nodeOptions(), '--cluster', 'c', ...TALKATIVE],
        ...login(await refusingBroker(), mechanism, password),
        ...['--kubelet-url', await refusingKubelet(), '--kubelet-token-file', token.file],
      );
      await waitUntil('the refusal', BOUND_MS, () => running.output.stderr.includes('"level":"fatal"'));
      await running.terminate();
      const said = running.output.stderr;

      expect(said).toContain('"level":"debug"');
      expectNone(said, [password, token]);
    },
  );

  test.each([
    { name: 'sends everything back', server: echoingServer },
    { name: 'is away', server: async () => '127.0.0.1:9' },
  ])('what it takes for a broker $name', async ({ server }) => {
    const password = secretIn(temporaryDirectory(), 'password');
    const running = startVerb('decide', ...TALKATIVE, ...login(await server(), 'plain', password));
    await waitUntil('a failure', BOUND_MS, () => running.output.stderr.includes('"level":"warn"'));
    const said = await saidBy(running);
    expect(said).toContain('fleetgc_build_info');
    expectNone(said, [password]);
  });

  test('nobody is there, and its keys are none', async () => {
    const directory = temporaryDirectory();
    const [key, other] = [secretIn(directory, 'kafka-key'), secretIn(directory, 'kubelet-key')];
    const running = startVerb(
      'node-agent',
      ...[...nodeOptions(), '--cluster', 'c', ...TALKATIVE, '--kafka-brokers', '127.0.0.1:9'],
      ...['--kafka-tls', '--kafka-certificate-file', key.file, '--kafka-key-file', key.file],
      ...['--kubelet-url', 'https://127.0.0.1:9', '--kubelet-certificate-file', other.file],
      ...['--kubelet-key-file', other.file],
    );
    await waitUntil('a failure', BOUND_MS, () => /"level":"(warn|fatal)"/.test(running.output.stderr));
    const said = await saidBy(running).catch(() => running.output.stderr);
    expectNone(said, [key, other]);
  });
});

/** Keys with a root of their own, and the secret part of each file. */
async function keysIn(directory: string) {
  const file = (name: string): string => join(directory, name);
  const create = async (name: string) => (await inProcess(['keys', 'create', file(name)])).stdout.trim();
  const [root, key] = [await create('root.pem'), await create('key.pem')];
  const { stdout } = await inProcess(['keys', 'roots', '--fleet', 'prod', '--root', `first=${root}`]);
  writeFileSync(file('roots.yaml'), stdout);
  const secretOf = (name: string): Secret => ({
    file: file(name),
    value: readFileSync(file(name), 'utf8').split('\n')[1] ?? '',
  });
  return { key, roots: file('roots.yaml'), secrets: [secretOf('root.pem'), secretOf('key.pem')] as const };
}

describe('who signs does not tell the key', () => {
  test('a service, and every verb of keys', async () => {
    const own = await ownLog();
    const { key, roots, secrets } = await keysIn(temporaryDirectory());
    const [root, signing] = secrets;
    const trusted = ['--trust-roots', roots];
    const said = [
      await own.run(
        ...['keys', 'certify', key, '--role', 'decider', '--name', 'deciders', '--valid-for', '90d'],
        ...[...trusted, '--root-key-file', root.file, ...TALKATIVE],
      ),
      await own.run('keys', 'check', '--key-file', signing.file, ...trusted, ...TALKATIVE),
      await own.run('keys', 'check', '--key-file', root.file, '--role', 'decider', ...trusted, ...TALKATIVE),
      // Files in each other's places.
      await own.run('keys', 'list', '--trust-roots', signing.file, ...TALKATIVE),
      await own.run('keys', 'certify', signing.file, '--role', 'decider', '--name', 'x', '--valid-for', '1d'),
    ].map(({ stdout, stderr }) => `${stdout}${stderr}`);
    const running = startVerb(
      ...['decide', '--log', 'embedded', '--log-path', own.path, '--trust', 'required'],
      ...[...trusted, '--signing-key-file', signing.file, ...TALKATIVE],
    );
    await waitUntil('readiness', BOUND_MS, async () => (await running.get('/readyz')).status === 200);
    expectNone([...said, await saidBy(running)].join('\n'), secrets);
    for (const topic of [TOPICS.keys.name, TOPICS.policies.name])
      expectNone(`${topic} ${JSON.stringify(await readTopic(own.log, topic).then(textsOf))}`, secrets);
  });

  test('a decision service that is called, whose policies are away, or whose own key is none', async () => {
    const directory = temporaryDirectory();
    const { roots, secrets } = await keysIn(directory);
    const [token, tls] = [secretIn(directory, 'policy-token'), secretIn(directory, 'tls-key')];
    const any = '127.0.0.1:0';
    const served = ['serve', 'image-gc', '--http', any, '--http-address', any, ...TALKATIVE];
    const refused = await fleetgc([
      ...[...served, '--trust', 'off'],
      ...['--tls-certificate-file', tls.file, '--tls-key-file', tls.file],
    ]);
    expect(refused.exitCode).toBe(2);
    const running = spawnVerb(
      ...[...served, '--trust', 'required', '--trust-roots', roots],
      ...['--signing-key-file', secrets[1].file],
      ...['--policy', 'https://127.0.0.1:9/policies', '--policy-token-file', token.file],
    );
    await waitUntil('a failure', BOUND_MS, () => running.output.stderr.includes('out of reach'));
    await running.terminate();
    const said = `${refused.stdout}${refused.stderr}${running.output.stdout}${running.output.stderr}`;
    expectNone(said, [token, tls, ...secrets]);
  });

  test('a command that gives a key, or fails to, and what it says', async () => {
    const own = await ownLog();
    const { key, roots, secrets } = await keysIn(temporaryDirectory());
    const [root, signing] = secrets;
    const trusted = ['--trust-roots', roots, ...TALKATIVE];
    const certify = ['keys', 'certify', key, '--role', 'decider', '--name', 'x', '--valid-for', '90d'];
    const sh = (script: string, file: string): string => `sh -c '${script}' sh ${file}`;
    const said = [
      await own.run(...certify, '--root-key-command', `cat ${root.file}`, ...trusted),
      await own.run(
        ...certify,
        '--root-key-command',
        sh('cat $1; cat $1 >&2; exit 1', root.file),
        ...trusted,
      ),
      await own.run(...certify, '--root-key-command', sh('sed -n 2p $1', root.file), ...trusted),
      await own.run(...certify, '--root-key-command', `cat '${root.file}`, ...trusted),
      await own.run('keys', 'check', '--key-command', sh('cat $1 >&2; exit 1', signing.file), ...trusted),
      await own.run('keys', 'check', '--key-command', `cat ${signing.file}`, '--role', 'node', ...trusted),
    ].map(({ stdout, stderr }) => `${stdout}${stderr}`);
    expect(said.join('\n')).toContain('may hold the key, and is not shown');
    const running = startVerb(
      ...['decide', '--log', 'embedded', '--log-path', own.path, '--trust', 'required'],
      ...['--signing-key-command', `cat ${signing.file}`, ...trusted],
    );
    await waitUntil('readiness', BOUND_MS, async () => (await running.get('/readyz')).status === 200);
    expectNone([...said, await saidBy(running)].join('\n'), secrets);
  });

  test('a service that is given another key, and then none', async () => {
    const own = await ownLog();
    const directory = temporaryDirectory();
    const { key, roots, secrets } = await keysIn(directory);
    const [root, signing] = secrets;
    const trusted = ['--trust-roots', roots];
    await own.run(
      ...['keys', 'certify', key, '--role', 'decider', '--name', 'x', '--valid-for', '90d'],
      ...[...trusted, '--root-key-file', root.file],
    );
    const running = spawnVerb(
      ...['decide', '--log', 'embedded', '--log-path', own.path, '--trust', 'required'],
      ...[...trusted, '--signing-key-file', signing.file, ...TALKATIVE],
    );
    await waitUntil('readiness', BOUND_MS, async () => (await running.get('/readyz')).status === 200);
    const said: string[] = [];
    const toldOf = (what: RegExp) =>
      waitUntil(String(what), BOUND_MS, async () => {
        running.hangUp();
        const { text, status } = await running.get('/readyz?verbose');
        said.push(text);
        return status === 200 && what.test(text);
      });
    // Nobody certified a root as a decider.
    renameSync(root.file, signing.file);
    await toldOf(/\[!\] signing key: [0-9a-f]{32} is to sign from now on, and cannot: no root vouches/);
    writeFileSync(signing.file, `-----BEGIN PRIVATE KEY-----\n${root.value}\n`);
    await toldOf(/\[!\] signing key: .* does not hold a private key .*goes on signing/);
    expectNone([...said, await saidBy(running)].join('\n'), secrets);
  });

  test('a token for a broker that refuses it', async () => {
    const token = secretIn(temporaryDirectory(), 'token');
    const ended = await inProcess([
      ...['status', ...TALKATIVE, '--kafka-brokers', '127.0.0.1:9', '--kafka-tls'],
      ...['--kafka-sasl-mechanism', 'oauthbearer', '--kafka-token-file', token.file],
    ]);
    expect(ended.exitCode).not.toBe(0);
    expectNone(`${ended.stdout}${ended.stderr}`, [token]);
  });
});

test.each([['status'], ['topics', 'check'], ['policy', 'list'], ['nodes']])(
  'a command that may not log in does not tell its password: %s %s',
  async (...words) => {
    const password = secretIn(temporaryDirectory(), 'password');
    const ended = await inProcess([
      ...words,
      ...TALKATIVE,
      ...login(await refusingBroker(), 'plain', password),
    ]);
    expect(ended.exitCode).not.toBe(0);
    expectNone(`${ended.stdout}${ended.stderr}`, [password]);
  },
);

describe('who gives a secret where it does not belong does not find it in the answer', () => {
  const given = { file: 'none', value: secretValue('misplaced') };

  test.each([
    { name: 'on the command line', args: ['--kafka-password', given.value], environment: {} },
    { name: 'behind an equals sign', args: [`--kafka-password=${given.value}`], environment: {} },
    { name: 'in the environment', args: [], environment: { FLEETGC_KAFKA_PASSWORD: given.value } },
  ])('$name', async ({ args, environment }) => {
    const ended = await inProcess(
      ['status', ...args, '--kafka-brokers', '127.0.0.1:9', ...TALKATIVE],
      environment,
    );
    expect(ended.exitCode).not.toBe(0);
    expectNone(`${ended.stdout}${ended.stderr}`, [given]);
  });

  test.each([
    { name: 'before the verb', args: [`--kafka-password=${given.value}`, 'status'] },
    { name: 'in place of a verb', args: ['topics', `--kafka-password=${given.value}`] },
  ])('$name', async ({ args }) => {
    const ended = await inProcess(args);
    expect(ended.exitCode).toBe(2);
    expectNone(`${ended.stdout}${ended.stderr}`, [given]);
  });

  test('in the configuration file', async () => {
    const config = join(temporaryDirectory(), 'config.yaml');
    writeFileSync(config, `kafkaPassword: ${JSON.stringify(given.value)}\n`);
    const ended = await inProcess(['status', '--config', config, '--kafka-brokers', '127.0.0.1:9']);
    expect(ended.exitCode).toBe(2);
    expectNone(`${ended.stdout}${ended.stderr}`, [given]);
  });
});

describe('who may look at the dashboard is known by a token that nobody is told', () => {
  const fileOf = (line: (token: string) => string) => {
    const { file, value } = secretIn(temporaryDirectory(), 'token');
    writeFileSync(file, `${line(value)}\n`);
    return { file, value };
  };
  const dashboard = async (token: Secret): Promise<readonly string[]> => {
    const { path } = await ownLog();
    const projection = join(temporaryDirectory(), 'projection.db');
    return [
      ...['dashboard', '--log', 'embedded', '--log-path', path, '--projection', projection],
      ...['--token-file', token.file, ...TALKATIVE],
    ];
  };

  test('while it serves', async () => {
    const token = fileOf((value) => `viewer ann ${value}`);
    const running = spawnVerb(...(await dashboard(token)));
    const port = await waitUntil(
      'it to serve',
      BOUND_MS,
      () => /"port":(\d+),"msg":"serving the page"/.exec(running.output.stderr)?.[1] ?? null,
    );
    const answers = await Promise.all(
      ['/', '/api/session', '/elsewhere'].map(async (path) => {
        const headers = { authorization: `Bearer ${token.value}` };
        const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        return JSON.stringify([...response.headers]) + (await response.text());
      }),
    );
    expect(answers[1]).toContain('"ann"');
    await running.terminate();
    const said = [...answers, running.output.stdout, running.output.stderr].join('\n');
    expectNone(said, [token]);
  });

  test.each([
    {
      name: 'a role that is none',
      line: (value: string) => `guest ann ${value}`,
      says: 'the role is viewer',
    },
    { name: 'no name', line: (value: string) => `viewer ${value}`, says: 'a line is ROLE NAME TOKEN' },
  ])('when a line has $name', async ({ line, says }) => {
    const token = fileOf(line);
    const ended = await inProcess(await dashboard(token));
    expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(says) });
    expectNone(`${ended.stdout}${ended.stderr}`, [token]);
  });
});

test('help tells no secret of the files and the environment it is called in', async () => {
  const directory = temporaryDirectory();
  const secrets = SECRET_OPTIONS.map((name) => secretIn(directory, name));
  const environment = Object.fromEntries(
    secrets.flatMap(({ file, value }, index) => {
      const name = `FLEETGC_${(SECRET_OPTIONS[index] ?? '').replace(/[A-Z]/g, '_$&').toUpperCase()}`;
      return [
        [name, file],
        [name.replace(/_FILE$/, ''), value],
      ];
    }),
  );
  const verbs = await loadAllVerbs();
  const texts = await Promise.all(
    verbs.map(({ name }) => inProcess([...name.split(' '), '--help'], environment)),
  );
  const real = await fleetgc(['node', '--help'], { environment });
  expect(texts.every(({ exitCode }) => exitCode === 0)).toBe(true);
  expectNone([...texts, real].map(({ stdout, stderr }) => stdout + stderr).join('\n'), secrets);
});

test('nothing that a node writes to the event log, to its state, or that is archived, holds its token or its key', async () => {
  const token = secretIn(temporaryDirectory(), 'token');
  const { roots, secrets } = await keysIn(temporaryDirectory());
  const node = await simulatedNode({ hasContainerdApi: true });
  await node.runtime.pullImage('registry.example/app:1');
  const { log, path, run } = await ownLog();
  const state = temporaryDirectory();
  const running = startVerb(
    'node',
    ...[...nodeOptions(), ...TALKATIVE, '--log', 'embedded', '--log-path', path],
    ...['--state-directory', state, '--runtime-endpoint', node.endpoint],
    ...['--kubelet-url', await refusingKubelet(), '--kubelet-token-file', token.file],
    ...['--trust', 'required', '--trust-roots', roots, '--signing-key-file', secrets[1].file],
  );
  await waitUntil(
    'an inventory',
    BOUND_MS,
    async () => (await readTopic(log, 'gc.node.inventory')).length > 0,
  );
  await waitUntil('the refusal', BOUND_MS, () => running.output.stderr.includes('it does not know us (401)'));
  const said = await saidBy(running);
  expect(said).toMatch(/\[!\] signing key: no root vouches for [0-9a-f]{32}/);
  for (const topic of ['gc.node.inventory', 'gc.node.disk-stats'] as const)
    for (const { headers } of await readTopic(log, topic))
      expect(headers.ce_fleetgcsignature).toMatch(/^[A-Za-z0-9+/]{86}==$/);
  const records = await Promise.all(Object.values(TOPICS).map(({ name }) => readTopic(log, name)));
  const archive = join(temporaryDirectory(), 'archive');
  expect(await run('audit', 'archive', '--to', archive)).toMatchObject({ exitCode: 0 });
  const query = 'SELECT * FROM records';
  const asked = await inProcess(['audit', 'query', query, '--archive', archive, '-o', 'ndjson']);
  expect(asked).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('inventory') });

  const bytesIn = (directory: string): string =>
    globSync('**/*', { cwd: directory, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
      .join('\n');
  const written = records
    .flat()
    .map(({ key, value, headers }) => JSON.stringify([String(key), String(value), headers]));
  expect(written.length).toBeGreaterThan(0);
  for (const text of [
    said,
    written.join('\n'),
    bytesIn(state),
    bytesIn(archive),
    asked.stdout + asked.stderr,
  ])
    expectNone(text, [token, ...secrets]);
});
