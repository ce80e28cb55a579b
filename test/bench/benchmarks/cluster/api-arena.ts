import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { refusalText } from '../../../../packages/kube-api/status.ts';
import { type OwnApiServer, openOwnApiServer } from '../../../support/nodes/own-api-server.ts';

/** An API server of its own, on which each side does the same in turn. */
export interface ApiArena extends OwnApiServer {
  /** Resolves to the body of what was answered as it should. */
  ask(request: ApiRequest): Promise<string>;
}

export async function openApiArena(): Promise<ApiArena> {
  const server = await openOwnApiServer('fleetgc-bench');
  return {
    ...server,
    ask: async (request) => {
      const answer = await server.connection.call(request);
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      throw new Error(`${request.method} ${request.path}: ${refusalText(answer)}`);
    },
  };
}
