import { discover } from '../../packages/kube-api/discovery.ts';
import { collectionPath } from '../../packages/kube-api/resources.ts';
import { openOwnApiServer } from '../../test/support/nodes/own-api-server.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { DEFINED, FAILING, type PlayedKind } from './history/kinds.ts';
import { Api } from './play/api.ts';

const SERVED_MS = 30_000;

/** An API server of its own with all that histories need, and no collector yet. */
export interface Arena extends AsyncDisposable {
  readonly api: Api;
  /** The path of a file. */
  readonly kubeconfig: string;
}

export async function openArena(): Promise<Arena> {
  await using stack = new AsyncDisposableStack();
  const { connection, kubeconfig } = stack.use(await openOwnApiServer('fleetgc-compare'));
  const api = new Api(connection);
  for (const kind of DEFINED) await api.post(DEFINITIONS, definitionOf(kind));
  await api.post(SERVICES, FAILING_SERVICE);
  await waitUntil('the API server to serve all kinds of histories', SERVED_MS, () => isServed(api));
  await waitUntil('the API server to say that a group fails', SERVED_MS, async () => {
    const groups = (await discover(connection, null))?.groups ?? [];
    return groups.some(
      ({ group, versions }) => group === FAILING && versions.every(({ isStale }) => isStale),
    );
  });
  const owned = stack.move();
  return { api, kubeconfig, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';

export const definitionOf = ({ group, kind, resource, namespaced, versions }: PlayedKind) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${resource}.${group}` },
  spec: {
    group,
    names: { kind, plural: resource, singular: kind.toLowerCase(), listKind: `${kind}List` },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    versions: versions.map((name, position) => ({
      name,
      served: true,
      storage: position === 0,
      schema: { openAPIV3Schema: { type: 'object' } },
    })),
  },
});

/** A group whose server is not there, so that discovery is never whole. */
const FAILING_SERVICE = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: `v1.${FAILING}` },
  spec: {
    group: FAILING,
    version: 'v1',
    service: { namespace: 'default', name: 'nobody', port: 443 },
    insecureSkipTLSVerify: true,
    groupPriorityMinimum: 100,
    versionPriority: 100,
  },
};

async function isServed(api: Api): Promise<boolean> {
  const paths = DEFINED.flatMap((kind) =>
    kind.versions.map((version) => collectionPath({ ...kind, version }, {})),
  );
  const answers = await Promise.all(paths.map((path) => api.ask({ method: 'GET', path })));
  return answers.every(({ status }) => status === 200);
}
