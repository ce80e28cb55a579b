import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './toolchain/command.ts';

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
  const names = serverNames.map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',');
  await signed(at('server'), at('ca'), names);
  await signed(at('client'), at('ca'), 'DNS:client');
  const serverKeyStore = at('server-keystore.pem');
  writeFileSync(
    serverKeyStore,
    readFileSync(at('server.key'), 'utf8') + readFileSync(at('server.pem'), 'utf8'),
  );
  chmodSync(serverKeyStore, 0o644);
  return {
    authority: at('ca.pem'),
    otherAuthority: at('other-ca.pem'),
    clientCertificate: at('client.pem'),
    clientKey: at('client.key'),
    serverKeyStore,
  };
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

async function authority(path: string): Promise<void> {
  const subject = ['-subj', '/CN=Test authority'];
  await openssl(['req', '-x509', ...NEW_KEY, '-days', DAYS, ...subject, ...output(path)]);
}

async function signed(path: string, by: string, names: string): Promise<void> {
  const issuer = ['-CA', `${by}.pem`, '-CAkey', `${by}.key`];
  const subject = [
    '-subj',
    '/CN=test',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
    '-addext',
    `subjectAltName=${names}`,
  ];
  await openssl(['req', '-x509', ...NEW_KEY, '-days', DAYS, ...issuer, ...subject, ...output(path)]);
}

function output(path: string): readonly string[] {
  return ['-keyout', `${path}.key`, '-out', `${path}.pem`];
}

async function openssl(args: readonly string[]): Promise<void> {
  await run('openssl', args, { usualMs: OPENSSL_MS });
}
