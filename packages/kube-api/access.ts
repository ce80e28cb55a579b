import { existsSync, readFileSync } from 'node:fs';
import { FleetGcError } from '../process/errors.ts';

/** How an API server is reached. Secrets that rotate are asked for anew. */
export interface ApiAccess {
  /** `https://10.0.0.1:6443`, perhaps with a path in front of all others. */
  readonly server: string;
  /** Of the serving certificate; `null` for those that the system trusts. */
  readonly authority: Buffer | null;
  /** The name in that certificate, where it is not the host. */
  readonly serverName: string | null;
  readonly clientCertificate: { readonly certificate: Buffer; readonly key: Buffer } | null;
  /** Asked for each request; `null` where a certificate says who we are. */
  readonly token: () => string | null;
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The namespace of the pod in which this process runs; `null` outside of one. */
export const inClusterNamespace = (directory = ACCOUNT): string | null =>
  existsSync(`${directory}/namespace`) ? readFileSync(`${directory}/namespace`, 'utf8').trim() : null;

/** The service account of the pod in which this process runs. Throws `CONFIG_INVALID` where there is none. */
export function inClusterAccess(
  environment: Readonly<Record<string, string | undefined>>,
  directory = ACCOUNT,
): ApiAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (host === undefined || port === undefined || !existsSync(`${directory}/token`))
    throw new FleetGcError(
      'CONFIG_INVALID',
      'this process does not run in a pod with a service account: name a file with --kubeconfig that says how the API server is reached',
    );
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    authority: readFileSync(`${directory}/ca.crt`),
    serverName: null,
    clientCertificate: null,
    token: () => readFileSync(`${directory}/token`, 'utf8').trim(),
  };
}
