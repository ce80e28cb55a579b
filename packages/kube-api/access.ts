import { existsSync, readFileSync } from 'node:fs';
import { FleetGcError } from '../process/errors.ts';
import { unreadableReason } from '../process/options/named-file.ts';
import type { Sources } from '../process/system-sources.ts';
import { type CredentialSource, type Credentials, FileCredentials, usable } from './credentials.ts';
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
