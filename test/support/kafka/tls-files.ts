import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../toolchain/command.ts';

const OPENSSL_MS = 30_000;
const DAYS = '2';

/** Paths of PEM files, made for one test run. */
export interface TlsFiles {
  readonly authority: string;
  /** An authority that signed nothing here. */
  readonly otherAuthority: string;
  readonly clientCertificate: string;
  readonly clientKey: string;
  /** The server's key followed by its certificate, as Kafka wants them. */
  readonly serverKeyStore: string;
}

/** Makes an authority, and certificates of it for a server of these names and for a client. Needs `openssl`. */
export async function createTlsFiles(folder: string, serverNames: readonly string[]): Promise<TlsFiles> {
  const at = (name: string): string => join(folder, name);
  await authority(at('ca'));
  await authority(at('other-ca'));
  await signed(at('server'), at('ca'), { names: alternativeNames(serverNames), subject: '/CN=test' });
  await signed(at('client'), at('ca'), { names: 'DNS:client', subject: '/CN=test' });
  const serverKeyStore = writeServerKeyStore(folder);
  return {
    authority: at('ca.pem'),
    otherAuthority: at('other-ca.pem'),
    clientCertificate: at('client.pem'),
    clientKey: at('client.key'),
    serverKeyStore,
  };
}

/** A certificate and key of the same authority, for a client whom brokers know by this subject, such as `/CN=nodes/O=example`. */
export async function createClient(
  folder: string,
  name: string,
  subject: string,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const path = join(folder, name);
  await signed(path, join(folder, 'ca'), { names: `DNS:${name}`, subject });
  return { certificate: `${path}.pem`, key: `${path}.key` };
}

/** Replaces the client's certificate and key by others of the same authority, that end after so many seconds. */
export const renewClient = (folder: string, validSeconds: number): Promise<void> =>
  renew(folder, { name: 'client', names: 'DNS:client', validSeconds });

/** The same for the server, whose certificate ended before now where the seconds are negative. */
export async function renewServer(
  folder: string,
  serverNames: readonly string[],
  validSeconds: number,
): Promise<void> {
  await renew(folder, { name: 'server', names: alternativeNames(serverNames), validSeconds });
  writeServerKeyStore(folder);
}

/** The server keeps its key, and gets a certificate of another authority. Resolves to the path of that one. */
export async function changeAuthority(folder: string, serverNames: readonly string[]): Promise<string> {
  const at = (name: string): string => join(folder, name);
  await authority(at('next-ca'));
  const { issuer, whom } = statement(at('next-ca'), {
    names: alternativeNames(serverNames),
    subject: '/CN=test',
  });
  const files = ['-key', at('server.key'), '-out', at('server.pem')];
  await openssl(['req', '-x509', ...files, '-days', DAYS, ...issuer, ...whom]);
  writeServerKeyStore(folder);
  return at('next-ca.pem');
}

function writeServerKeyStore(folder: string): string {
  const at = (name: string): string => join(folder, name);
  const path = at('server-keystore.pem');
  writeFileSync(path, readFileSync(at('server.key'), 'utf8') + readFileSync(at('server.pem'), 'utf8'));
  chmodSync(path, 0o644);
  return path;
}

const alternativeNames = (names: readonly string[]): string =>
  names.map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',');

interface Renewal {
  readonly name: 'client' | 'server';
  readonly names: string;
  readonly validSeconds: number;
}

async function renew(folder: string, { name: renewed, names, validSeconds }: Renewal): Promise<void> {
  const at = (name: string): string => join(folder, name);
  const time = (ms: number): string => `${new Date(ms).toISOString().replace(/\.\d+|[-:T]/g, '')}`;
  const settings = `[ca]\ndefault_ca=own\n[own]\ndatabase=${at('index')}\nnew_certs_dir=${folder}\ndefault_md=sha256\npolicy=any\nrand_serial=yes\nunique_subject=no\n[any]\ncommonName=supplied\n[names]\nsubjectAltName=${names}\n`;
  writeFileSync(at('renewal.cnf'), settings);
  writeFileSync(at('index'), '');
  const request = ['-keyout', at('renewed.key'), '-out', at('renewed.csr'), '-subj', `/CN=${renewed}`];
  await openssl(['req', ...NEW_KEY, ...request]);
  const issuer = ['-cert', at('ca.pem'), '-keyfile', at('ca.key')];
  const nowMs = Date.now();
  const valid = ['-startdate', time(nowMs - 60_000), '-enddate', time(nowMs + validSeconds * 1000)];
  const files = [
    '-in',
    at('renewed.csr'),
    '-out',
    at('renewed.pem'),
    '-extensions',
    'names',
    '-notext',
    '-batch',
  ];
  await openssl(['ca', '-config', at('renewal.cnf'), ...issuer, ...valid, ...files]);
  renameSync(at('renewed.key'), at(`${renewed}.key`));
  renameSync(at('renewed.pem'), at(`${renewed}.pem`));
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

async function authority(path: string): Promise<void> {
  const subject = ['-subj', '/CN=Test authority'];
  await openssl(['req', '-x509', ...NEW_KEY, '-days', DAYS, ...subject, ...output(path)]);
}

interface Signed {
  readonly names: string;
  readonly subject: string;
}

/** What a certificate says. */
function statement(
  by: string,
  { names, subject }: Signed,
): { readonly issuer: readonly string[]; readonly whom: readonly string[] } {
  const whom = [
    '-subj',
    subject,
    '-addext',
    'basicConstraints=critical,CA:FALSE',
    '-addext',
    `subjectAltName=${names}`,
  ];
  return { issuer: ['-CA', `${by}.pem`, '-CAkey', `${by}.key`], whom };
}

async function signed(path: string, by: string, what: Signed): Promise<void> {
  const { issuer, whom } = statement(by, what);
  await openssl(['req', '-x509', ...NEW_KEY, '-days', DAYS, ...issuer, ...whom, ...output(path)]);
}

function output(path: string): readonly string[] {
  return ['-keyout', `${path}.key`, '-out', `${path}.pem`];
}

async function openssl(args: readonly string[]): Promise<void> {
  await run('openssl', args, { usualMs: OPENSSL_MS });
}
