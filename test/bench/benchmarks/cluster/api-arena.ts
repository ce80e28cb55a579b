import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  type ApiConnection,
  type ApiRequest,
  apiConnection,
} from '../../../../packages/kube-api/connection.ts';
import { kubeconfigAccess } from '../../../../packages/kube-api/kubeconfig.ts';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';
import { refusalText } from '../../../../packages/kube-api/status.ts';
import { createNetwork } from '../../../support/network.ts';
import { startApiServer } from '../../../support/nodes/api-server.ts';

/** An API server of its own, on which each side does the same in turn. */
export interface ApiArena extends AsyncDisposable {
  readonly connection: ApiConnection;
  /** The path of a file. */
  readonly kubeconfig: string;
  /** A folder that goes with it. */
  readonly directory: string;
  /** Resolves to the body of what was answered as it should. */
  ask(request: ApiRequest): Promise<string>;
}

export async function openApiArena(): Promise<ApiArena> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await createNetwork());
  const server = stack.use(await startApiServer(network));
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-bench-'));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, stringify(server.localKubeconfig));
  const connection = stack.use(
    apiConnection({
      access: kubeconfigAccess(kubeconfig, null),
      clock: new ServerClock(),
      nowMs: () => performance.now(),
      userAgent: 'fleetgc-bench',
    }),
  );
  const owned = stack.move();
  return {
    connection,
    kubeconfig,
    directory,
    ask: async (request) => {
      const answer = await connection.call(request);
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      throw new Error(`${request.method} ${request.path}: ${refusalText(answer)}`);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
