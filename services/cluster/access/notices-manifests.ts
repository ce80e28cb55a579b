import { EVENT_NAMESPACE } from '../../../packages/kube-api/events.ts';
import type { Manifest } from './manifest.ts';
import { RBAC } from './manifests.ts';

const NOTICES = 'fleetgc-notify';

/** Who writes Events on Nodes may do nothing else, and cannot even read them. */
export const noticesManifests = (namespace: string): readonly Manifest[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NOTICES, namespace } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { name: NOTICES, namespace: EVENT_NAMESPACE },
    rules: [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }],
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: NOTICES, namespace: EVENT_NAMESPACE },
    roleRef: { apiGroup: RBAC, kind: 'Role', name: NOTICES },
    subjects: [{ kind: 'ServiceAccount', name: NOTICES, namespace }],
  },
];
