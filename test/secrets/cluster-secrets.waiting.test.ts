import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { TOPICS } from '../../schemas/events/topics.ts';
import { inProcess, ownLog } from '../cli/fleetgc.ts';
import { readTopic } from '../cli/read-topic.ts';
import { BOUND_MS, startVerb } from '../cli/service-process.ts';
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

  test('whose server has a password in its URL', async () => {
    const password: Secret = { file: 'none', value: 'password-in-a-url' };
    const kubeconfig = kubeconfigOf(`https://u:${password.value}@127.0.0.1:9`, { token: 't' });
    const ended = await inProcess(['cluster', 'leftovers', '--kubeconfig', kubeconfig]);
    expect(ended.exitCode).not.toBe(0);
    expectNone(`${ended.stdout}${ended.stderr}`, [password]);
  });
});
