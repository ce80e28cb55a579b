import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Credentials } from '../../../packages/kube-api/access.ts';
import { kubeconfigAccess } from '../../../packages/kube-api/kubeconfig.ts';
import { OTHER_PAIR, PAIR } from '../../fixtures/certificate.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const V1 = 'client.authentication.k8s.io/v1';
const SECOND_MS = 1_000;
const WALL_MS = Date.parse('2026-06-01T12:00:00Z');

/** A plugin whose script writes what lies in a file beside it, and notes each run. */
function plugin(over: { readonly exec?: object; readonly cluster?: object; readonly script?: string } = {}) {
  const directory = temporaryDirectory();
  const at = (name: string): string => join(directory, name);
  const script = over.script ?? `echo run >> ${at('runs')}; cat ${at('answer')}`;
  writeFileSync(at('plugin'), `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  writeFileSync(at('runs'), '');
  const exec = { apiVersion: V1, command: './plugin', interactiveMode: 'Never', ...over.exec };
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://one:6443', ...over.cluster } }],
    users: [{ name: 'u', user: { exec } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(at('kubeconfig'), stringify(config));
  let nowMs = 0;
  const environment = { PATH: process.env.PATH, GIVEN: 'by the process', OVER: 'the process' };
  const sources = { now: () => WALL_MS + nowMs, monotonicNow: () => nowMs };
  const { credentials } = kubeconfigAccess(at('kubeconfig'), null, { environment, sources });
  return {
    at,
    credentials,
    /** What it says from now on. */
    answer: (status: unknown, head: object = { kind: 'ExecCredential', apiVersion: V1 }) =>
      writeFileSync(at('answer'), typeof status === 'string' ? status : JSON.stringify({ ...head, status })),
    runs: () => readFileSync(at('runs'), 'utf8').split('\n').length - 1,
    pass: (ms: number) => {
      nowMs += ms;
    },
    inTime: (ms: number) => new Date(WALL_MS + nowMs + ms).toISOString(),
  };
}

const tokenOf = async (credentials: { current(): Promise<Credentials> }) =>
  (await credentials.current()).token;

describe('an exec plugin', () => {
  test('tells the token, which holds until the API server rejects it', async () => {
    const { credentials, answer, runs, pass } = plugin();
    answer({ token: 'one' });
    expect(runs()).toBe(0);
    const asked = await Promise.all([credentials.current(), credentials.current()]);
    expect([asked.map(({ token }) => token), runs()]).toEqual([['one', 'one'], 1]);
    pass(86_400 * SECOND_MS);
    const before = await credentials.current();
    expect([before.token, runs()]).toEqual(['one', 1]);
    answer({ token: 'two' });
    const newer = await Promise.all([
      credentials.insteadOf(before, 'we-are-unknown'),
      credentials.insteadOf(before, 'we-are-unknown'),
    ]);
    expect([newer.map(({ token }) => token), runs()]).toEqual([['two', 'two'], 2]);
    expect((await credentials.insteadOf(before, 'we-are-unknown')).token).toBe('two');
    expect(runs()).toBe(2);
  });

  test('tells a client certificate, with the authority of the kubeconfig beside it', async () => {
    const { credentials, answer } = plugin({
      cluster: { 'certificate-authority-data': Buffer.from(OTHER_PAIR.certificate).toString('base64') },
    });
    answer({ clientCertificateData: PAIR.certificate, clientKeyData: PAIR.key });
    const { authority, clientCertificate, token } = await credentials.current();
    expect([authority, clientCertificate?.certificate, clientCertificate?.key].map(String)).toEqual([
      OTHER_PAIR.certificate,
      PAIR.certificate,
      PAIR.key,
    ]);
    expect(token).toBeNull();
  });

  test('is run again before what it told ends', async () => {
    const { credentials, answer, runs, pass, inTime } = plugin();
    answer({ token: 'one', expirationTimestamp: inTime(900 * SECOND_MS) });
    expect(await tokenOf(credentials)).toBe('one');
    answer({ token: 'two', expirationTimestamp: inTime(1_800 * SECOND_MS) });
    pass(839 * SECOND_MS);
    expect([await tokenOf(credentials), runs()]).toEqual(['one', 1]);
    pass(SECOND_MS);
    expect([await tokenOf(credentials), runs()]).toEqual(['two', 2]);
  });

  test('that fails while what it told before still holds is asked again, and only each ten seconds', async () => {
    const { credentials, answer, runs, pass, inTime } = plugin();
    answer({ token: 'one', expirationTimestamp: inTime(100 * SECOND_MS) });
    await credentials.current();
    answer('broken');
    pass(80 * SECOND_MS);
    for (let times = 0; times < 5; times++) expect(await tokenOf(credentials)).toBe('one');
    expect(runs()).toBe(2);
    pass(20 * SECOND_MS);
    await expect(credentials.current()).rejects.toMatchObject({ code: 'API_NO_CREDENTIALS' });
    expect(runs()).toBe(3);
    for (let times = 0; times < 5; times++) await expect(credentials.current()).rejects.toThrow('is no JSON');
    expect(runs()).toBe(3);
    answer({ token: 'two' });
    pass(10 * SECOND_MS);
    expect([await tokenOf(credentials), runs()]).toEqual(['two', 4]);
  });

  test('whose token is never taken, or has ended when it comes, is not run in a storm', async () => {
    const { credentials, answer, runs, pass, inTime } = plugin();
    answer({ token: 'one', expirationTimestamp: inTime(-60 * SECOND_MS) });
    const told = await credentials.current();
    for (let times = 0; times < 100; times++) {
      await credentials.current();
      await credentials.insteadOf(told, 'we-are-unknown');
    }
    expect(runs()).toBe(1);
    pass(10 * SECOND_MS);
    await credentials.insteadOf(told, 'we-are-unknown');
    expect(runs()).toBe(2);
  });

  test('is not run because nobody vouches for the API server', async () => {
    const { credentials, answer, runs, pass } = plugin();
    answer({ token: 'one' });
    const told = await credentials.current();
    pass(60 * SECOND_MS);
    await credentials.insteadOf(told, 'server-is-unknown');
    expect(runs()).toBe(1);
  });

  test('that fails after a rejection is told of', async () => {
    const { credentials, answer, pass } = plugin();
    answer({ token: 'one' });
    const told = await credentials.current();
    answer('{');
    pass(60 * SECOND_MS);
    await expect(credentials.insteadOf(told, 'we-are-unknown')).rejects.toThrow('is no JSON');
  });
});

const ECHO = `printf '{"kind":"ExecCredential","apiVersion":"${V1}","status":{"token":"t"}}'`;

describe('what an exec plugin is given', () => {
  test('are its words as they are, and the environment of the process with its own', async () => {
    const { credentials, at } = plugin({
      exec: {
        args: ['a b', '$HOME', ''],
        env: [
          { name: 'OVER', value: 'the kubeconfig' },
          { name: 'KUBERNETES_EXEC_INFO', value: 'not this' },
        ],
      },
      script: `printf '<%s>' "$@" "$GIVEN" "$OVER" > "$(dirname "$0")/given"; cat >> "$(dirname "$0")/given"; printf '%s' "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info"; ${ECHO}`,
    });
    await credentials.current();
    expect(readFileSync(at('given'), 'utf8')).toBe('<a b><$HOME><><by the process><the kubeconfig>');
    expect(JSON.parse(readFileSync(at('info'), 'utf8'))).toEqual({
      kind: 'ExecCredential',
      apiVersion: V1,
      spec: { interactive: false },
    });
  });

  test('is the cluster, where it asks for that', async () => {
    const authority = Buffer.from(PAIR.certificate).toString('base64');
    const name = 'client.authentication.k8s.io/exec';
    const { credentials, at } = plugin({
      exec: { provideClusterInfo: true },
      cluster: {
        'certificate-authority-data': authority,
        'tls-server-name': 'api',
        'proxy-url': 'http://proxy:3128',
        extensions: [
          { name: 'other', extension: 1 },
          { name, extension: { audience: 'a' } },
        ],
      },
      script: `printf '%s' "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info"; ${ECHO}`,
    });
    await credentials.current();
    expect(JSON.parse(readFileSync(at('info'), 'utf8')).spec).toEqual({
      cluster: {
        server: 'https://one:6443',
        'tls-server-name': 'api',
        'certificate-authority-data': authority,
        'proxy-url': 'http://proxy:3128',
        config: { audience: 'a' },
      },
      interactive: false,
    });
  });

  test('its name is looked for on the path, and what has a folder in it beside the kubeconfig', async () => {
    const elsewhere = plugin({ script: ECHO });
    const folder = dirname(elsewhere.at('plugin'));
    const byPath = plugin({
      exec: { command: 'plugin', env: [{ name: 'PATH', value: `${folder}:/bin:/usr/bin` }] },
    });
    expect(await tokenOf(byPath.credentials)).toBe('t');
    const beside = plugin({ exec: { command: `../${basename(folder)}/plugin` } });
    expect(await tokenOf(beside.credentials)).toBe('t');
  });
});

describe('an exec plugin is refused', () => {
  test.each<[string, object, RegExp]>([
    [
      'that has to talk to a person',
      { interactiveMode: 'Always' },
      /has to talk to a person .*make an account of its own/,
    ],
    ['of v1 that does not say whether it has to', { interactiveMode: undefined }, /says no interactiveMode/],
    [
      'of an older version',
      { apiVersion: 'client.authentication.k8s.io/v1alpha1' },
      /exec\.apiVersion: must be client/,
    ],
    ['without a command', { command: '' }, /exec\.command/],
  ])('%s', (_, exec, why) => {
    expect(() => plugin({ exec })).toThrow(why);
  });

  test('beside a token', () => {
    const { at } = plugin();
    const text = readFileSync(at('kubeconfig'), 'utf8').replace(
      'user:\n      exec',
      'user:\n      token: t\n      exec',
    );
    expect(text).toContain('token: t');
    writeFileSync(at('kubeconfig'), text);
    const surrounding = { environment: {}, sources: { now: () => 0, monotonicNow: () => 0 } };
    expect(() => kubeconfigAccess(at('kubeconfig'), null, surrounding)).toThrow(
      /an exec plugin and token beside it/,
    );
  });
});

test('v1beta1 needs no interactiveMode, and answers in its own version', async () => {
  const apiVersion = 'client.authentication.k8s.io/v1beta1';
  const { credentials, answer } = plugin({ exec: { apiVersion, interactiveMode: undefined } });
  answer({ token: 't' }, { kind: 'ExecCredential', apiVersion });
  expect(await tokenOf(credentials)).toBe('t');
});

const HEAD = { kind: 'ExecCredential', apiVersion: V1 };

describe('what an exec plugin tells is not believed', () => {
  test.each<[string, string, RegExp]>([
    ['no JSON', 'token: t', /is no JSON$/],
    ['nothing', '', /is no JSON$/],
    ['something else', JSON.stringify({ kind: 'Secret', apiVersion: 'v1' }), /look at kind, status$/],
    ['without a status', JSON.stringify(HEAD), /look at status$/],
    [
      'a token that is none',
      JSON.stringify({ ...HEAD, status: { token: { a: 1 } } }),
      /look at status\.token$/,
    ],
    [
      'a token with a line feed',
      JSON.stringify({ ...HEAD, status: { token: 'a\nb' } }),
      /token is empty, or has signs/,
    ],
    [
      'a token that is too long',
      JSON.stringify({ ...HEAD, status: { token: 'a'.repeat(70_000) } }),
      /has signs/,
    ],
    [
      'neither token nor certificate',
      JSON.stringify({ ...HEAD, status: { token: '' } }),
      /gave no status\.token/,
    ],
    [
      'a certificate alone',
      JSON.stringify({ ...HEAD, status: { clientCertificateData: PAIR.certificate } }),
      /only one of/,
    ],
    [
      'a key of another certificate',
      JSON.stringify({
        ...HEAD,
        status: { clientCertificateData: PAIR.certificate, clientKeyData: OTHER_PAIR.key },
      }),
      /do not fit together/,
    ],
    [
      'a time that is none',
      JSON.stringify({ ...HEAD, status: { token: 't', expirationTimestamp: 'soon' } }),
      /expirationTimestamp$/,
    ],
    [
      'another version',
      JSON.stringify({ ...HEAD, apiVersion: 'x/v9', status: { token: 't' } }),
      /in another version than client/,
    ],
    ['more than is read', 'x'.repeat(300_000), /it wrote more than 262144 bytes to stdout/],
  ])('%s', async (_, text, why) => {
    const { credentials, answer } = plugin();
    answer(text);
    await expect(credentials.current()).rejects.toMatchObject({
      code: 'API_NO_CREDENTIALS',
      message: expect.stringMatching(why),
    });
  });
});

describe('an exec plugin that gives nothing says why', () => {
  test('where it is not there, with what the kubeconfig says about that', async () => {
    const { credentials } = plugin({
      exec: { command: 'no-such-plugin', installHint: 'Get it\n\u001b[31mthere' },
    });
    await expect(credentials.current()).rejects.toThrow(
      /^the command no-such-plugin, which \S+ names to log in, gives no credentials: there is no such program. The kubeconfig says how to install it: Get it \[31mthere$/,
    );
    const plain = plugin({ exec: { command: './none' } });
    await expect(plain.credentials.current()).rejects.toThrow('Install it where FleetGC runs');
  });

  test('where it fails, with its own words, without what it was told and what it wrote', async () => {
    const { credentials } = plugin({
      exec: { args: ['get-token', '--client-secret=pass-word'], env: [{ name: 'A', value: 'deep-secret' }] },
      script: `echo 'token-on-stdout'; echo "log in first; $2 $A token-on-stdout $(printf 'x%.0s' $(seq 80))" >&2; exit 3`,
    });
    const error: unknown = await credentials.current().catch((thrown) => thrown);
    expect(String(error)).toMatch(
      /it ended with exit code 3\. It wrote to stderr: log in first; --client-secret=… … … …$/,
    );
  });

  test('where it fails, however deep what it wrote is', async () => {
    const signs = (sign: string): string => `head -c 100000 /dev/zero | tr '\\0' '${sign}'`;
    const { credentials } = plugin({ script: `${signs('[')}; ${signs(']')}; echo oops >&2; exit 3` });
    await expect(credentials.current()).rejects.toThrow(/exit code 3\. It wrote to stderr: oops$/);
  });

  test('a key on stderr is not shown at all', async () => {
    const { credentials } = plugin({ script: "echo '-----BEGIN PRIVATE KEY----- abc' >&2; exit 1" });
    await expect(credentials.current()).rejects.toThrow(/may hold a key, and is not shown: run it yourself$/);
  });
});

test('an exec plugin that does not end is ended with who asked', async () => {
  const { credentials } = plugin({ script: 'sleep 1000' });
  const asked = credentials.current();
  credentials[Symbol.dispose]();
  await expect(asked).rejects.toThrow('this process is told to stop');
});
