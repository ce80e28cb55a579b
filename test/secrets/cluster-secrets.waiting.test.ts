import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { TOPICS } from '../../schemas/events/topics.ts';
import { inProcess, ownLog } from '../cli/fleetgc.ts';
import { readTopic } from '../cli/read-topic.ts';
import { BOUND_MS, startVerb } from '../cli/service-process.ts';
import { PAIR } from '../fixtures/certificate.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { refusingApiServer } from './refusing-servers.ts';
import { type Secret, secretIn, secretValue } from './secret.ts';
import { expectNone, saidBy, textsOf } from './told.ts';

const TALKATIVE = ['--log-level', 'trace'];

/** A kubeconfig with one user, who is this. */
function kubeconfigOf(server: string, user: object): string {
  const file = join(temporaryDirectory(), 'kubeconfig');
  const config = {
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  };
  writeFileSync(file, stringify(config), { mode: 0o600 });
  return file;
}

const policyFile = (): string => {
  const file = join(temporaryDirectory(), 'clusters.yaml');
  writeFileSync(file, stringify({ kind: 'ClusterPolicy', name: 'clusters', mode: 'dry-run' }));
  return file;
};

interface Parts {
  readonly kubeconfig: string;
  readonly log: readonly string[];
}

const VERBS: Readonly<Record<string, (parts: Parts) => readonly string[]>> = {
  'cluster agent': ({ kubeconfig, log }) => [
    ...['cluster', 'agent', '--cluster', 'c', '--kubeconfig', kubeconfig, ...log],
    ...['--lease-namespace', 'none'],
  ],
  'cluster executor': ({ kubeconfig, log }) => [
    ...['cluster', 'executor', '--cluster', 'c', '--kubeconfig', kubeconfig, ...log],
    ...['--lease-namespace', 'none', '--state-directory', temporaryDirectory()],
  ],
  'cluster run': ({ kubeconfig }) => [
    ...['cluster', 'run', '--cluster', 'c', '--kubeconfig', kubeconfig, '--policy', policyFile()],
    ...['--log-path', join(temporaryDirectory(), 'own.db')],
  ],
};

const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  'cluster leftovers': ['cluster', 'leftovers'],
  'cluster rbac': ['cluster', 'rbac'],
  cascade: ['cascade', 'ConfigMap/x'],
};

describe('what an API server is asked with is not told', () => {
  test.each(Object.keys(VERBS))('by %s, which is refused', async (verb) => {
    const token = secretIn(temporaryDirectory(), 'token');
    const own = await ownLog();
    const log = ['--log', 'embedded', '--log-path', own.path];
    const kubeconfig = kubeconfigOf(await refusingApiServer(), { tokenFile: token.file });
    const running = startVerb(...(VERBS[verb]?.({ kubeconfig, log }) ?? []), ...TALKATIVE);
    const said = (): string => running.output.stdout + running.output.stderr;
    await waitUntil('the refusal', BOUND_MS, () => said().includes('status 401'));
    await running.terminate();
    expectNone(said(), [token]);
    for (const { name } of Object.values(TOPICS))
      expectNone(`${name} ${textsOf(await readTopic(own.log, name))}`, [token]);
  });

  test.each(['cluster agent', 'cluster executor'])(
    'by %s, which goes on while it is refused',
    async (verb) => {
      const token = secretIn(temporaryDirectory(), 'token');
      const own = await ownLog();
      const log = ['--log', 'embedded', '--log-path', own.path];
      const kubeconfig = kubeconfigOf(await refusingApiServer('its namespace'), { tokenFile: token.file });
      const running = startVerb(...(VERBS[verb]?.({ kubeconfig, log }) ?? []), ...TALKATIVE);
      await waitUntil('readiness to be told', BOUND_MS, async () =>
        (await running.get('/readyz?verbose')).text.includes('event log'),
      );
      expectNone(await saidBy(running), [token]);
      for (const { name } of Object.values(TOPICS))
        expectNone(`${name} ${textsOf(await readTopic(own.log, name))}`, [token]);
    },
  );

  test.each(Object.keys(QUESTIONS))('by %s, which is refused', async (verb) => {
    const token = secretIn(temporaryDirectory(), 'token');
    const kubeconfig = kubeconfigOf(await refusingApiServer(), { token: token.value });
    const ended = await inProcess([...(QUESTIONS[verb] ?? []), '--kubeconfig', kubeconfig, ...TALKATIVE]);
    expect(ended.exitCode).not.toBe(0);
    expectNone(`${ended.stdout}${ended.stderr}`, [token]);
  });
});

describe('what an exec plugin is told and tells is not told', () => {
  const V1 = 'client.authentication.k8s.io/v1';

  /** A user whose plugin is this script; what it is told is secret, too. */
  function userBy(script: string) {
    const directory = temporaryDirectory();
    const [token, key, argument, variable] = ['token', 'key', 'argument', 'variable'].map((name) =>
      secretIn(directory, name),
    );
    if (!token || !key || !argument || !variable) throw new Error('four were asked for');
    const credential = (status: object): string =>
      JSON.stringify({ kind: 'ExecCredential', apiVersion: V1, status });
    writeFileSync(join(directory, 'token.json'), credential({ token: token.value }));
    writeFileSync(
      join(directory, 'key.json'),
      credential({ clientCertificateData: PAIR.certificate, clientKeyData: key.value }),
    );
    const exec = {
      ...{ apiVersion: V1, interactiveMode: 'Never', command: '/bin/sh' },
      args: ['-c', `cd ${directory}; ${script}`, 'sh', argument.value],
      env: [{ name: 'VARIABLE', value: variable.value }],
    };
    return { user: { exec }, secrets: [token, key, argument, variable] };
  }

  test.each([
    ['whose token is refused', 'cat token.json', /status 401/],
    ['whose key is none', 'cat key.json', /do not fit together/],
    [
      'that says all of it on stderr',
      'cat token; cat token key argument variable >&2; cat key; exit 1',
      /exit code 1/,
    ],
    ['that writes it as no JSON', 'cat token key', /is no JSON/],
    [
      'that writes it as another object',
      'printf \'{"kind":"%s"}\' "$(head -c 9 token)"',
      /is no ExecCredential/,
    ],
  ])('%s', async (_, script, why) => {
    const { user, secrets } = userBy(script);
    const kubeconfig = kubeconfigOf(await refusingApiServer(), user);
    const environment = { PATH: process.env.PATH ?? '' };
    const ended = await inProcess(
      ['cluster', 'leftovers', '--kubeconfig', kubeconfig, ...TALKATIVE],
      environment,
    );
    expect(ended.exitCode).toBe(1);
    expect(ended.stderr).toMatch(why);
    expectNone(`${ended.stdout}${ended.stderr}`, secrets);
  });

  test('by a service that goes on while it is refused', async () => {
    const { user, secrets } = userBy('cat token.json');
    const own = await ownLog();
    const kubeconfig = kubeconfigOf(await refusingApiServer('its namespace'), user);
    const log = ['--log', 'embedded', '--log-path', own.path];
    const running = startVerb(...(VERBS['cluster agent']?.({ kubeconfig, log }) ?? []), ...TALKATIVE);
    await waitUntil('readiness to be told', BOUND_MS, async () =>
      (await running.get('/readyz?verbose')).text.includes('event log'),
    );
    expectNone(await saidBy(running), secrets);
    for (const { name } of Object.values(TOPICS))
      expectNone(`${name} ${textsOf(await readTopic(own.log, name))}`, secrets);
  });
});

describe('a kubeconfig that cannot be used is refused without what is in it', () => {
  const secret: Secret = { file: 'none', value: secretValue('kubeconfig') };
  const { value } = secret;
  const server = 'https://127.0.0.1:9';

  test.each([
    [
      'an exec plugin with a secret in its environment',
      { exec: { command: 'x', env: [{ name: 'A', value }] } },
    ],
    ['an exec plugin with a secret among its arguments', { exec: { command: 'x', args: [value] } }],
    ['an auth provider', { 'auth-provider': { name: 'oidc', config: { 'id-token': value } } }],
    [
      'an exec plugin that has to talk to a person',
      {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: 'x',
          args: [value],
          interactiveMode: 'Always',
        },
      },
    ],
    ['a password', { username: 'u', password: value }],
    ['a token that is no text', { token: { value } }],
    ['a token where a file is named', { tokenFile: value }],
    ['a key where a file is named', { 'client-certificate-data': 'eA==', 'client-key': value }],
    ['a key that is none', { 'client-certificate-data': 'eA==', 'client-key-data': value }],
    ['one who acts as another', { token: value, as: 'other' }],
  ])('with %s', async (_, user) => {
    const ended = await inProcess(['cluster', 'leftovers', '--kubeconfig', kubeconfigOf(server, user)]);
    expect(ended.exitCode).not.toBe(0);
    expectNone(`${ended.stdout}${ended.stderr}`, [secret]);
  });

  test.each([
    ['no YAML', (text: string) => `${text}\n  token: "${value}\n- [`],
    ['what is no kubeconfig', () => `token: ${JSON.stringify(value)}`],
    ['a text alone', () => JSON.stringify(value)],
  ])('that is %s', async (_, change) => {
    const file = kubeconfigOf(server, { token: value });
    writeFileSync(file, change(''));
    const ended = await inProcess(['cluster', 'leftovers', '--kubeconfig', file]);
    expect(ended.exitCode).toBe(2);
    expectNone(`${ended.stdout}${ended.stderr}`, [secret]);
  });

  test('whose proxy has a password in its URL', async () => {
    const password: Secret = { file: 'none', value: 'password-in-a-url' };
    for (const proxy of [
      `socks5://u:${password.value}@127.0.0.1:9`,
      `http://u:${password.value}@127.0.0.1:9`,
    ]) {
      const file = kubeconfigOf(server, { token: value });
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace('server:', `proxy-url: ${proxy}\n      server:`),
      );
      const ended = await inProcess(['cluster', 'leftovers', '--kubeconfig', file]);
      expect(ended.exitCode).not.toBe(0);
      expectNone(`${ended.stdout}${ended.stderr}`, [password, secret]);
    }
  });

  test('whose server has a password in its URL', async () => {
    const password: Secret = { file: 'none', value: 'password-in-a-url' };
    const kubeconfig = kubeconfigOf(`https://u:${password.value}@127.0.0.1:9`, { token: 't' });
    const ended = await inProcess(['cluster', 'leftovers', '--kubeconfig', kubeconfig]);
    expect(ended.exitCode).not.toBe(0);
    expectNone(`${ended.stdout}${ended.stderr}`, [password]);
  });
});
