import type { ApiConnection } from '../../packages/kube-api/connection.ts';
import { readClusterInstance } from '../../packages/kube-api/list.ts';
import { IN_CLUSTER, openConnection } from '../../packages/kube-api/open-connection.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import type { ClusterIdentity } from '../../schemas/events/identity.ts';
import type { ApiServerOptions, ClusterOptions } from './cluster-options.ts';

/** An API server that has said whose it is. */
export interface OpenApiServer extends Disposable {
  readonly clusterInstance: string;
  readonly server: string;
  readonly connection: ApiConnection;
}

/** A cluster whose API server has said which one it is. */
export interface OpenCluster extends Omit<OpenApiServer, 'clusterInstance'> {
  readonly identity: ClusterIdentity;
}

interface Opening {
  /** Where a pod finds the API server. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
  readonly signal: AbortSignal;
}

export async function openCluster(options: ClusterOptions, opening: Opening): Promise<OpenCluster> {
  const { clusterInstance, ...open } = await openApiServer(options, opening);
  return { ...open, identity: { cluster: options.cluster, clusterInstance } };
}

/**
 * Asks the API server at once, so that a wrong address or account is told before anything begins. Throws `CONFIG_INVALID`,
 * `API_UNREACHABLE` or `API_REFUSED`, and `INTERRUPTED` where the signal aborted first.
 */
export async function openApiServer(
  { kubeconfig, context }: ApiServerOptions,
  { environment, sources, signal }: Opening,
): Promise<OpenApiServer> {
  const opened = openConnection({ kubeconfig, context }, { environment, sources });
  using opening = new DisposableStack();
  const connection = opening.use(opened.connection);
  const clusterInstance = await firstAnswer(connection, kubeconfig, signal);
  const open = opening.move();
  return { clusterInstance, server: opened.server, connection, [Symbol.dispose]: () => open.dispose() };
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
