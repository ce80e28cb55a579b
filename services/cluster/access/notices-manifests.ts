import { EVENT_NAMESPACE } from '../../../packages/kube-api/events.ts';
import type { Manifest } from './manifest.ts';

const RBAC = 'rbac.authorization.k8s.io';
const NAME = 'fleetgc-notify';

/** Who writes Events on Nodes may do nothing else, and cannot even read them. */
export const noticesManifests = (namespace: string): readonly Manifest[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAME, namespace } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { name: NAME, namespace: EVENT_NAMESPACE },
    rules: [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }],
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: NAME, namespace: EVENT_NAMESPACE },
    roleRef: { apiGroup: RBAC, kind: 'Role', name: NAME },
    subjects: [{ kind: 'ServiceAccount', name: NAME, namespace }],
  },
];
