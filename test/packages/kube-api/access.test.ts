import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Credentials, inClusterAccess } from '../../../packages/kube-api/access.ts';
import { kubeconfigAccess } from '../../../packages/kube-api/kubeconfig.ts';
import { OTHER_PAIR, PAIR } from '../../fixtures/certificate.ts';
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

/** By a clock that stands. */
let nowMs = 0;
const surrounding = { environment: {}, sources: { now: () => nowMs, monotonicNow: () => nowMs } };
const accessOf = (file: string, context: string | null = null) =>
  kubeconfigAccess(file, context, surrounding);
const MINUTE_MS = 60_000;

const texts = ({ authority, clientCertificate, token }: Credentials) =>
  [authority, clientCertificate?.certificate, clientCertificate?.key, token].map((each) =>
    each == null ? null : String(each),
  );

function emptyFile(): string {
  const file = join(temporaryDirectory(), 'empty');
  writeFileSync(file, '');
  return file;
}

describe('a kubeconfig', () => {
  test('says where the server is and who we are', async () => {
    const { certificate, key } = PAIR;
    const file = fileWith(
      {
        token: 'secret',
        'client-certificate-data': base64(certificate),
        'client-key-data': base64(key),
      },
      {
        cluster: cluster({
          'certificate-authority-data': base64(OTHER_PAIR.certificate),
          'tls-server-name': 'api',
        }),
      },
    );
    const access = accessOf(file);
    expect(access).toMatchObject({ server: 'https://one:6443', serverName: 'api', proxy: null });
    expect(texts(await access.credentials.current())).toEqual([
      OTHER_PAIR.certificate,
      certificate,
      key,
      'secret',
    ]);
  });

  test('that is no YAML, or too large, is refused, and nothing of it is told', () => {
    const file = join(temporaryDirectory(), 'config');
    for (const text of ['users: {token: SECRET: x}\n- SECRET', 'users: *SECRET', 'a: !SECRET b\n? SECRET']) {
      writeFileSync(file, text);
      expect(() => accessOf(file)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('SECRET') }),
      );
    }
    writeFileSync(file, ' '.repeat(1_048_577));
    expect(() => accessOf(file)).toThrow('it has more than the 1048576 bytes that are read');
    writeFileSync(file, 'a:\n'.repeat(10_001));
    expect(() => accessOf(file)).toThrow('it has more than the 10000 colons');
  });

  describe('that names files beside itself', () => {
    const names = { tokenFile: 'token', 'client-certificate': 'cert.pem', 'client-key': 'key.pem' };
    function written() {
      const file = fileWith(names, { cluster: cluster({ 'certificate-authority': 'ca.pem' }) });
      const write = (name: string, text: string): void => writeFileSync(join(file, '..', name), text);
      const remove = (name: string): void => rmSync(join(file, '..', name));
      write('token', 'old\n');
      write('ca.pem', PAIR.certificate);
      write('cert.pem', PAIR.certificate);
      write('key.pem', PAIR.key);
      return { ...accessOf(file), write, remove };
    }

    test('takes up each one that is replaced: within a minute, or when it is rejected', async () => {
      const { credentials, write } = written();
      const before = await credentials.current();
      expect(texts(before)).toEqual([PAIR.certificate, PAIR.certificate, PAIR.key, 'old']);
      write('token', 'new\n');
      write('ca.pem', OTHER_PAIR.certificate);
      nowMs += MINUTE_MS - 1;
      expect(await credentials.current()).toBe(before);
      expect(texts(await credentials.insteadOf(before, 'we-are-unknown'))).toEqual([
        OTHER_PAIR.certificate,
        PAIR.certificate,
        PAIR.key,
        'new',
      ]);
      write('token', 'newer\n');
      nowMs += MINUTE_MS;
      expect((await credentials.current()).token).toBe('newer');
    });

    test.each<[string, (files: ReturnType<typeof written>) => void, RegExp]>([
      ['a token that is gone', ({ remove }) => remove('token'), /its tokenFile names cannot be read/],
      ['an empty token', ({ write }) => write('token', '\n'), /its token is empty/],
      [
        'a certificate whose key is not there yet',
        ({ write }) => write('cert.pem', OTHER_PAIR.certificate),
        /do not fit together/,
      ],
      [
        'half an authority',
        ({ write }) => write('ca.pem', PAIR.certificate.slice(0, 200)),
        /authority is no certificate in PEM, or not a whole one/,
      ],
      ['an authority that is none', ({ write }) => write('ca.pem', ''), /authority is no certificate/],
    ])('goes on as before at %s, and says so where it is rejected', async (_, damage, why) => {
      const files = written();
      const before = await files.credentials.current();
      damage(files);
      nowMs += MINUTE_MS;
      expect(await files.credentials.current()).toBe(before);
      await expect(files.credentials.insteadOf(before, 'we-are-unknown')).rejects.toMatchObject({
        code: 'API_NO_CREDENTIALS',
        message: expect.stringMatching(why),
      });
    });
  });

  test('has contexts to choose from', () => {
    expect(accessOf(fileWith({}), 'second').server).toBe('https://two:6443');
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
    [
      'has half a client certificate',
      () => fileWith({ 'client-certificate-data': base64(PAIR.certificate) }),
      null,
      /only one of client-certificate and client-key/,
    ],
    [
      'has a password',
      () => fileWith({ username: 'u', password: 'p' }),
      null,
      /an auth provider or a password/,
    ],
    [
      'has a key that belongs to another certificate',
      () =>
        fileWith({
          'client-certificate-data': base64(PAIR.certificate),
          'client-key-data': base64(OTHER_PAIR.key),
        }),
      null,
      /do not fit together/,
    ],
    [
      'has a SOCKS proxy',
      () => fileWith({}, { cluster: cluster({ 'proxy-url': 'socks5://u:p@proxy:1080' }) }),
      null,
      /^the kubeconfig \S+ names a proxy that cannot be used: [^@]*$/,
    ],
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
    expect(() => accessOf(file(), context)).toThrow(message);
  });
});

test('in a pod the service account says who we are', async () => {
  const directory = join(temporaryDirectory(), 'account');
  mkdirSync(directory);
  writeFileSync(join(directory, 'ca.crt'), PAIR.certificate);
  writeFileSync(join(directory, 'token'), 'one\n');
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  const access = inClusterAccess({ ...surrounding, environment }, directory);
  expect(access.server).toBe('https://[fd00::1]:443');
  expect(texts(await access.credentials.current())).toEqual([PAIR.certificate, null, null, 'one']);
  writeFileSync(join(directory, 'token'), 'two\n');
  nowMs += MINUTE_MS;
  expect((await access.credentials.current()).token).toBe('two');
  expect(() => inClusterAccess(surrounding, directory)).toThrow(/--kubeconfig/);
});
