import { inClusterAccess } from '../../packages/kube-api/access.ts';
import { type ApiConnection, apiConnection } from '../../packages/kube-api/connection.ts';
import { kubeconfigAccess } from '../../packages/kube-api/kubeconfig.ts';
import { readClusterInstance } from '../../packages/kube-api/list.ts';
import { ServerClock } from '../../packages/kube-api/server-clock.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import type { ClusterIdentity } from '../../schemas/events/identity.ts';
import { type ClusterOptions, IN_CLUSTER } from './cluster-options.ts';

/** A cluster whose API server has said which one it is. */
export interface OpenCluster extends Disposable {
  readonly identity: ClusterIdentity;
  readonly server: string;
  readonly connection: ApiConnection;
}

interface Opening {
  /** Where a pod finds the API server. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly sources: Pick<Sources, 'monotonicNow'>;
  readonly signal: AbortSignal;
}

/**
 * Asks the API server at once, so that a wrong address or account is told before anything begins. Throws `CONFIG_INVALID`,
 * `API_UNREACHABLE` or `API_REFUSED`, and `INTERRUPTED` where the signal aborted first.
 */
export async function openCluster(
  { cluster, kubeconfig, context }: ClusterOptions,
  { environment, sources, signal }: Opening,
): Promise<OpenCluster> {
  const access =
    kubeconfig === IN_CLUSTER ? inClusterAccess(environment) : kubeconfigAccess(kubeconfig, context ?? null);
  using opening = new DisposableStack();
  const connection = opening.use(
    apiConnection({
      access,
      clock: new ServerClock(),
      nowMs: sources.monotonicNow,
      userAgent: `fleetgc/${PRODUCT_VERSION}`,
    }),
  );
  const clusterInstance = await firstAnswer(connection, kubeconfig, signal);
  const open = opening.move();
  return {
    identity: { cluster, clusterInstance },
    server: access.server,
    connection,
    [Symbol.dispose]: () => open.dispose(),
  };
}

async function firstAnswer(
  connection: ApiConnection,
  kubeconfig: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await readClusterInstance(connection, signal);
  } catch (error) {
    if (signal.aborted) throw new FleetGcError('INTERRUPTED', 'stopped before the API server answered');
    if (!(error instanceof FleetGcError) || error.code !== 'API_UNREACHABLE') throw error;
    const where = kubeconfig === IN_CLUSTER ? 'that this pod may reach it' : `the address in ${kubeconfig}`;
    throw new FleetGcError(error.code, `${error.message}. Check ${where}`, { cause: error });
  }
}
