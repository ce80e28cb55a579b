import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { inClusterAccess } from '../../../packages/kube-api/access.ts';
import { kubeconfigAccess } from '../../../packages/kube-api/kubeconfig.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const cluster = (over: object = {}) => ({ server: 'https://one:6443', ...over });

function fileWith(user: object, over: { readonly cluster?: object; readonly config?: object } = {}): string {
  const file = join(temporaryDirectory(), 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'one', cluster: over.cluster ?? cluster() },
      { name: 'two', cluster: cluster({ server: 'https://two:6443' }) },
    ],
    users: [{ name: 'me', user }],
    contexts: [
      { name: 'first', context: { cluster: 'one', user: 'me', namespace: 'x' } },
      { name: 'second', context: { cluster: 'two', user: 'me' } },
    ],
    'current-context': 'first',
    preferences: {},
    ...over.config,
  };
  writeFileSync(file, stringify(config));
  return file;
}

function emptyFile(): string {
  const file = join(temporaryDirectory(), 'empty');
  writeFileSync(file, '');
  return file;
}

describe('a kubeconfig', () => {
  test('says where the server is and who we are', () => {
    const file = fileWith(
      { token: 'secret', 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
      { cluster: cluster({ 'certificate-authority-data': base64('ca'), 'tls-server-name': 'api' }) },
    );
    const access = kubeconfigAccess(file, null);
    expect(access).toMatchObject({ server: 'https://one:6443', serverName: 'api' });
    expect(
      [access.authority, access.clientCertificate?.certificate, access.clientCertificate?.key].map(String),
    ).toEqual(['ca', 'cert', 'key']);
    expect(access.token()).toBe('secret');
  });

  test('that is no YAML, or too large, is refused, and nothing of it is told', () => {
    const file = join(temporaryDirectory(), 'config');
    for (const text of ['users: {token: SECRET: x}\n- SECRET', 'users: *SECRET', 'a: !SECRET b\n? SECRET']) {
      writeFileSync(file, text);
      expect(() => kubeconfigAccess(file, null)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('SECRET') }),
      );
    }
    writeFileSync(file, ' '.repeat(1_048_577));
    expect(() => kubeconfigAccess(file, null)).toThrow('it has more than the 1048576 bytes that are read');
    writeFileSync(file, 'a:\n'.repeat(10_001));
    expect(() => kubeconfigAccess(file, null)).toThrow('it has more than the 10000 colons');
  });

  test('names files beside itself, and a token that rotates is read anew', () => {
    const file = fileWith(
      { tokenFile: 'token' },
      { cluster: cluster({ 'certificate-authority': 'ca.pem' }) },
    );
    writeFileSync(join(file, '..', 'ca.pem'), 'ca');
    const access = kubeconfigAccess(file, null);
    for (const token of ['old', 'new']) {
      writeFileSync(join(file, '..', 'token'), `${token}\n`);
      expect(access.token()).toBe(token);
    }
    expect(String(access.authority)).toBe('ca');
  });

  test('has contexts to choose from', () => {
    expect(kubeconfigAccess(fileWith({}), 'second').server).toBe('https://two:6443');
  });

  test.each<[string, () => string, string | null, RegExp]>([
    ['is empty', emptyFile, null, /^the kubeconfig \S+ cannot be used: there is nothing in it$/],
    ['lacks the context', () => fileWith({}), 'third', /no context "third"; those it has: first, second$/],
    [
      'names nothing',
      () => fileWith({}, { config: { clusters: null, contexts: null, 'current-context': '' } }),
      null,
      /no current context; it has no contexts at all$/,
    ],
    [
      'has a context without its cluster',
      () => fileWith({}, { config: { clusters: undefined } }),
      null,
      /no cluster "one", which its context names$/,
    ],
    [
      'is no kubeconfig',
      () => fileWith({}, { config: { contexts: 'all' } }),
      null,
      /cannot be used: contexts: [^\n]*$/,
    ],
    [
      'has no current context',
      () => fileWith({}, { config: { 'current-context': undefined } }),
      null,
      /no current context/,
    ],
    [
      'trusts any server',
      () => fileWith({}, { cluster: cluster({ 'insecure-skip-tls-verify': true }) }),
      null,
      /verify/,
    ],
    ['runs a plugin', () => fileWith({ exec: { command: 'x' } }), null, /exec plugin/],
    ['acts as another user', () => fileWith({ token: 't', as: 'reader' }), null, /acts as another one/],
    ['has a server that is no address', () => fileWith({}, { cluster: { server: 'one' } }), null, /server/],
    [
      'names a file that is not there',
      () => fileWith({}, { cluster: cluster({ 'certificate-authority': 'no' }) }),
      null,
      /there is no such file/,
    ],
    ['is not there', () => '/nonexistent/config', null, /there is no such file/],
  ])('that %s is refused with a reason', (_, file, context, message) => {
    expect(() => kubeconfigAccess(file(), context)).toThrow(message);
  });
});

test('in a pod the service account says who we are', () => {
  const directory = join(temporaryDirectory(), 'account');
  mkdirSync(directory);
  writeFileSync(join(directory, 'ca.crt'), 'ca');
  writeFileSync(join(directory, 'token'), 'one\n');
  const access = inClusterAccess(
    { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' },
    directory,
  );
  expect([access.server, access.token()]).toEqual(['https://[fd00::1]:443', 'one']);
  writeFileSync(join(directory, 'token'), 'two\n');
  expect(access.token()).toBe('two');
  expect(() => inClusterAccess({}, directory)).toThrow(/--kubeconfig/);
});
