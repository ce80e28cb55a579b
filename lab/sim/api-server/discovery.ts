import { createHash } from 'node:crypto';
import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { type Answer, refusal } from './answers.ts';

const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'watch'];
const AGGREGATED = 'as=APIGroupDiscoveryList';

/** What `/api` (the core group) and `/apis` (all others) answer: aggregated discovery, and no other form. */
export function discovery(
  kinds: readonly ApiKind[],
  asked: { readonly isCore: boolean; readonly accept: string; readonly ifNoneMatch: string | null },
): Answer {
  if (!asked.accept.includes(AGGREGATED))
    return refusal('NotAcceptable', 'this simulated API server knows aggregated discovery alone');
  const own = kinds.filter(({ group }) => (group === '') === asked.isCore);
  const body = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [...Map.groupBy(own, ({ group }) => group)].map(([name, ofGroup]) => groupItem(name, ofGroup)),
  };
  const etag = `"${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 32)}"`;
  return asked.ifNoneMatch === etag ? { status: 304, body: null, etag } : { status: 200, body, etag };
}

const groupItem = (name: string, kinds: readonly ApiKind[]): object => ({
  metadata: { ...(name !== '' && { name }) },
  versions: [...Map.groupBy(kinds, ({ version }) => version)].map(([version, ofVersion]) => ({
    version,
    freshness: 'Current',
    resources: ofVersion.map(resourceItem),
  })),
});

const resourceItem = ({ group, version, kind, resource, namespaced }: ApiKind): object => ({
  resource,
  responseKind: { group, version, kind },
  scope: namespaced ? 'Namespaced' : 'Cluster',
  singularResource: kind.toLowerCase(),
  verbs: VERBS,
});
