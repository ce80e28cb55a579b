import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import { unreadableReason } from '../process/options/named-file.ts';
import type { Sources } from '../process/system-sources.ts';
import { type Environment, proxyOfEnvironment } from './proxy.ts';

/** How an API server is reached. */
export interface ApiAccess {
  /** `https://10.0.0.1:6443`, perhaps with a path in front of all others. */
  readonly server: string;
  /** The name in its certificate, where it is not the host. */
  readonly serverName: string | null;
  /** URL of the HTTP proxy on the way there, perhaps with a password in it; `null` for a direct way. */
  readonly proxy: string | null;
  readonly credentials: CredentialSource;
}

/** What access needs of the process. */
export interface Surrounding {
  readonly environment: Environment;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The namespace of the pod in which this process runs; `null` outside of one. */
export const inClusterNamespace = (directory = ACCOUNT): string | null =>
  existsSync(`${directory}/namespace`) ? readFileSync(`${directory}/namespace`, 'utf8').trim() : null;

/** The service account of the pod in which this process runs. Throws `CONFIG_INVALID` where there is none. */
export function inClusterAccess({ environment, sources }: Surrounding, directory = ACCOUNT): ApiAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (host === undefined || port === undefined || !existsSync(`${directory}/token`))
    throw new FleetGcError(
      'CONFIG_INVALID',
      'this process does not run in a pod with a service account: name a file with --kubeconfig that says how the API server is reached',
    );
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const refuse = (why: string): FleetGcError =>
    new FleetGcError('CONFIG_INVALID', `the service account in ${directory} cannot be used: ${why}`);
  const read = (): Credentials => {
    const authority = readAccountFile(`${directory}/ca.crt`);
    const token = readAccountFile(`${directory}/token`).toString('utf8').trim();
    return usable({ authority, clientCertificate: null, token }, refuse);
  };
  return {
    server,
    serverName: null,
    proxy: proxyOfEnvironment(new URL(server), environment),
    credentials: new FileCredentials(read, sources.monotonicNow),
  };
}

function readAccountFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new FleetGcError('CONFIG_INVALID', `${path} cannot be read: ${unreadableReason(cause)}`, { cause });
  }
}

export interface ClientCertificate {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** Who the API server has to be, and who we are to it. */
export interface Credentials {
  /** Of the serving certificate; `null` for those that the system trusts. */
  readonly authority: Buffer | null;
  readonly clientCertificate: ClientCertificate | null;
  /** `null` where a certificate says who we are, or nothing does. */
  readonly token: string | null;
}

/** Why others are asked for: the API server does not know us by these (401), or they do not prove who it is. */
export type Rejection = 'we-are-unknown' | 'server-is-unknown';

/** Credentials that others renew while we run. */
export interface CredentialSource extends Disposable {
  /** Those that hold now. Rejects with `API_NO_CREDENTIALS` while there are none. */
  current(): Promise<Credentials>;
  /** Those that hold in place of rejected ones, which may be the same. Rejects with `API_NO_CREDENTIALS`. */
  insteadOf(rejected: Credentials, because: Rejection): Promise<Credentials>;
}

/** So long what was read of a file holds, as with Kubernetes' own clients; what was rejected is read again at once. */
const FRESH_MS = 60_000;

/** Those that stand in files, each of which somebody may replace at any time. */
export class FileCredentials implements CredentialSource {
  readonly #read: () => Credentials;
  readonly #nowMs: () => number;
  #held: Credentials;
  #readAtMs: number;
  /** Why those that are held could not be read again; they hold on. */
  #problem: FleetGcError | null = null;

  /** `read` throws `CONFIG_INVALID`; so does this, where they cannot be read even once. */
  constructor(read: () => Credentials, nowMs: () => number) {
    this.#read = read;
    this.#nowMs = nowMs;
    this.#held = read();
    this.#readAtMs = nowMs();
  }

  async current(): Promise<Credentials> {
    if (this.#nowMs() - this.#readAtMs >= FRESH_MS) this.#readAgain();
    return this.#held;
  }

  async insteadOf(): Promise<Credentials> {
    this.#readAgain();
    if (this.#problem === null) return this.#held;
    throw new FleetGcError(
      'API_NO_CREDENTIALS',
      `what the API server was asked with does not hold any more, and there is nothing newer: ${this.#problem.message}`,
      { cause: this.#problem },
    );
  }

  [Symbol.dispose](): void {
    // Nothing is open.
  }

  /** What is half replaced is whole a moment later. */
  #readAgain(): void {
    this.#readAtMs = this.#nowMs();
    try {
      this.#held = this.#read();
      this.#problem = null;
    } catch (error) {
      this.#problem = toFleetGcError(error);
      if (this.#problem.code !== 'CONFIG_INVALID') throw error;
    }
  }
}

/** Throws what `refuse` makes of why no connection could be opened with them. */
export function usable(credentials: Credentials, refuse: (why: string) => FleetGcError): Credentials {
  const { authority, clientCertificate, token } = credentials;
  if (token !== null && !isToken(token)) throw refuse('its token is empty, or has signs that no token has');
  if (authority !== null && !areCertificates(authority))
    throw refuse('its certificate authority is no certificate in PEM, or not a whole one');
  if (clientCertificate === null) return credentials;
  const { certificate: cert, key } = clientCertificate;
  if (isPair(cert, key)) return credentials;
  throw refuse('its client certificate and key cannot be read as PEM, or do not fit together');
}

function isPair(cert: Buffer, key: Buffer): boolean {
  try {
    createSecureContext({ cert, key });
    return true;
  } catch {
    return false;
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const BEGINNING = /-----BEGIN CERTIFICATE-----/g;

function areCertificates(pem: Buffer): boolean {
  const text = pem.toString('latin1');
  const whole = text.match(CERTIFICATE) ?? [];
  return whole.length > 0 && whole.length === text.match(BEGINNING)?.length && whole.every(isCertificate);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** What a header can carry. */
const isToken = (text: string): boolean => /^[\x21-\x7e]{1,65536}$/.test(text);

/** Whether the same connection serves both. */
export const isSameTls = (one: Credentials, other: Credentials): boolean =>
  isSameBytes(one.authority, other.authority) &&
  isSameBytes(one.clientCertificate?.certificate, other.clientCertificate?.certificate) &&
  isSameBytes(one.clientCertificate?.key, other.clientCertificate?.key);

export const areSame = (one: Credentials, other: Credentials): boolean =>
  one.token === other.token && isSameTls(one, other);

const isSameBytes = (one: Buffer | null | undefined, other: Buffer | null | undefined): boolean =>
  one === other || (one != null && other != null && one.equals(other));
