import type { ApiRequest } from '../../../packages/kube-api/send.ts';
import { refusalText } from '../../../packages/kube-api/status.ts';
import { type OwnApiServer, openOwnApiServer } from '../../../test/support/nodes/own-api-server.ts';

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

/** An object that others name as their owner. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export async function createNamespace({ ask }: ApiArena, name: string): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await ask({ method: 'POST', path: '/api/v1/namespaces', body: JSON.stringify(namespace) });
}

/** A ConfigMap with the labels and annotations of what a chart makes. */
export async function createConfigMap(
  { ask }: ApiArena,
  namespace: string,
  { name, owner }: { readonly name: string; readonly owner: Owner | null },
): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      labels: { app: name, 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': namespace, 'meta.helm.sh/release-namespace': namespace },
      ownerReferences: referencesTo(owner),
    },
    data: { key: 'value' },
  };
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  await ask({ method: 'POST', path, body: JSON.stringify(body) });
}

export const referencesTo = (owner: Owner | null) => {
  if (owner === null) return [];
  const { apiVersion, kind, name, uid } = owner;
  return [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
};
