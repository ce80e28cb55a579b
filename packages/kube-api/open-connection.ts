import { PRODUCT_VERSION } from '../process/product-version.ts';
import type { Sources } from '../process/system-sources.ts';
import { inClusterAccess } from './access.ts';
import { type ApiConnection, apiConnection } from './connection.ts';
import { kubeconfigAccess } from './kubeconfig.ts';
import type { Environment } from './proxy.ts';
import { ServerClock } from './server-clock.ts';

/** In place of a file: the service account of the pod in which this process runs. */
export const IN_CLUSTER = 'in-cluster';

export interface ApiServerChoice {
  /** A file, or `in-cluster`. */
  readonly kubeconfig: string;
  /** Its current one where it is not given. */
  readonly context?: string | undefined;
}

interface Surrounding {
  readonly environment: Environment;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
}

/** A connection on which nothing was asked yet. Throws `CONFIG_INVALID`. */
export function openConnection(
  { kubeconfig, context }: ApiServerChoice,
  surrounding: Surrounding,
): { readonly connection: ApiConnection; readonly server: string } {
  const access =
    kubeconfig === IN_CLUSTER
      ? inClusterAccess(surrounding)
      : kubeconfigAccess(kubeconfig, context ?? null, surrounding);
  const connection = apiConnection({
    access,
    clock: new ServerClock(),
    nowMs: surrounding.sources.monotonicNow,
    userAgent: `fleetgc/${PRODUCT_VERSION}`,
  });
  return { connection, server: access.server };
}
