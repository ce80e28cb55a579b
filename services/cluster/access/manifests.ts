import { EVENT_NAMESPACE } from '../../../packages/kube-api/events.ts';
import { type Manifest, patchPolicy } from './guard.ts';
import { leaseRules, type Part, rulesFor, type WantedRights } from './rights.ts';

const RBAC = 'rbac.authorization.k8s.io';

export const accountOf = (part: Part): string => `fleetgc-cluster-${part}`;

/** As the API server names a service account. */
const userOf = (namespace: string, account: string): string =>
  `system:serviceaccount:${namespace}:${account}`;

/** The account of a part with its rights; of one that writes, also what keeps its writes small. */
export function accessManifests(part: Part, namespace: string, wanted: WantedRights): readonly Manifest[] {
  const name = accountOf(part);
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name }, rules: rulesFor(part, wanted) },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
    ...(part === 'run' ? [] : leaseManifests(name, namespace)),
    ...(part === 'agent' ? [] : patchPolicy({ name, namespace, user: userOf(namespace, name) })),
  ];
}

/** The Lease has the name of the account, in its namespace. */
function leaseManifests(name: string, namespace: string): readonly Manifest[] {
  const metadata = { name, namespace };
  return [
    { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules: leaseRules(name) },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ];
}

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
