import type { ApiAccess, Credentials } from '../../../packages/kube-api/access.ts';
import { kubeconfigAccess } from '../../../packages/kube-api/kubeconfig.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';

/** As its current context says, and without a proxy. */
export const accessBy = (kubeconfig: string): ApiAccess =>
  kubeconfigAccess(kubeconfig, null, { environment: {}, sources: systemSources });

/** For a client of another make. */
export async function knownBy(kubeconfig: string): Promise<Credentials & { readonly server: string }> {
  const { server, credentials } = accessBy(kubeconfig);
  return { server, ...(await credentials.current()) };
}

/** A server that is asked with these for ever. */
export const accessWith = (server: string, credentials: Partial<Credentials>): ApiAccess => {
  const all = { authority: null, clientCertificate: null, token: null, ...credentials };
  return {
    server,
    serverName: null,
    proxy: null,
    credentials: {
      current: async () => all,
      insteadOf: async () => all,
      [Symbol.dispose]: () => undefined,
    },
  };
};
