import type {
  DashboardClusters,
  GraphEdge,
  GraphState,
} from '../../../schemas/reports/dashboard-clusters.ts';

/** How an object stands, in words. */
export const GRAPH_STATE_TEXT: Readonly<Record<GraphState, string>> = {
  candidate: 'reported as a candidate',
  'being-deleted': 'being deleted',
  settled: 'nothing to be done',
  removed: 'deleted by FleetGC',
  gone: 'gone',
  there: 'there',
  unknown: 'not known',
};

/** What an object says of an owner, in words. */
export const REFERENCE_TEXT: Readonly<Record<GraphEdge['state'], string>> = {
  held: 'is there',
  waiting: 'waits for its dependents',
  orphaning: 'goes without its dependents',
  gone: 'is gone',
  unseen: 'is not there',
  elsewhere: 'has the uid of another object',
  unlisted: 'is of a kind that cannot be listed',
  unresolved: 'is of a kind that is not served, or not for sure',
  scope: 'has a namespace, and the object has none',
  pending: 'is not known yet',
};

interface Named {
  readonly namespace: string | null;
  readonly name: string;
}

export const nameText = ({ namespace, name }: Named): string =>
  namespace === null || namespace === '' ? name : `${namespace}/${name}`;

/** `apps/ReplicaSet`, or `Pod`. */
export const kindText = ({ group, kind }: { readonly group: string; readonly kind: string }): string =>
  group === '' ? kind : `${group}/${kind}`;

/** What holds for a cluster, in words. */
export function policyText({ status }: Pick<DashboardClusters['clusters'][number], 'status'>): string {
  if (status === null) return 'not known';
  const { policy, pausedBecause } = status;
  if (policy === null) return 'none: everything is kept';
  const paused = pausedBecause === null ? '' : `, paused${pausedBecause === '' ? '' : `: ${pausedBecause}`}`;
  return `${policy.name} (${policy.mode})${paused}`;
}

/** What must happen until a finalizer goes, of those that Kubernetes sets itself. */
const KNOWN_FINALIZERS: Readonly<Record<string, string>> = {
  kubernetes: 'Something in the namespace is left: its conditions say what.',
  'kubernetes.io/pvc-protection': 'A Pod still uses the claim: it goes when that Pod has gone.',
  'kubernetes.io/pv-protection': 'A claim is still bound to the volume.',
  'batch.kubernetes.io/job-tracking': 'The Job controller has not counted the Pod: does it run?',
  'service.kubernetes.io/load-balancer-cleanup':
    'The cloud controller has not deleted the load balancer: does it run?',
  'customresourcecleanup.apiextensions.k8s.io': 'Objects of the kind are left, and wait themselves.',
};

/** What to do about a finalizer that does not go. Whose it is, its name says before the slash. */
export function finalizerText(finalizer: string): string {
  if (Object.hasOwn(KNOWN_FINALIZERS, finalizer)) return KNOWN_FINALIZERS[finalizer] ?? '';
  const [owner = '', ...rest] = finalizer.split('/');
  return rest.length === 0
    ? `Find out who sets ${finalizer}: that one has to take it away.`
    : `The controller of ${owner} has to take it away: does it run, and what does it log?`;
}
