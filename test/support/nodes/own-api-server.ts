import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type ApiConnection, apiConnection } from '../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { createNetwork } from '../network.ts';
import { accessBy } from './api-access.ts';
import { startApiServer } from './api-server.ts';

/** An API server of its own, with a connection to it as whoever may do everything. */
export interface OwnApiServer extends AsyncDisposable {
  readonly connection: ApiConnection;
  /** The path of a file. */
  readonly kubeconfig: string;
  /** A folder that goes with it. */
  readonly directory: string;
}

export async function openOwnApiServer(userAgent: string): Promise<OwnApiServer> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await createNetwork());
  const server = stack.use(await startApiServer(network));
  const directory = mkdtempSync(join(tmpdir(), `${userAgent}-`));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, stringify(server.localKubeconfig));
  const connection = stack.use(
    apiConnection({
      access: accessBy(kubeconfig),
      clock: new ServerClock(),
      nowMs: () => performance.now(),
      userAgent,
    }),
  );
  const owned = stack.move();
  return { connection, kubeconfig, directory, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
